/**
 * What runs the programs of call and worker agents. It starts processes, speaks JSON with them, and
 * ends them; it decides nothing: every ending of an attempt comes back as an `Outcome`, and whether
 * another attempt follows is for the engine.
 *
 * The id of a run is recorded before it is started and carried by every process of it
 * (`REEVE_RUN_ID`), so what a daemon left behind when it died can be found and ended by the next.
 */

import type { ActionRequest, Outcome } from "../core/outcome.js";
import type { UsageReading } from "../core/usage.js";
import type { ProcessIdentity, ResourceLimits, RunExit, StartFailure } from "./backend.js";

/** An agent's program with nothing left to look up. */
export interface Program {
	/** `project:name`. */
	readonly agentId: string;
	/** The program and its arguments. No shell reads them. */
	readonly argv: readonly [string, ...string[]];
	readonly cwd: string;
	/** The whole environment, to the letter. Never shown, logged or put into an argv. */
	readonly env: Readonly<Record<string, string>>;
	readonly limits: ResourceLimits;
	/** Whether an agent may print something before its answer. */
	readonly extraOutput: "tolerate" | "refuse";
}

/** How one agent CLI is spoken to when it is not an agent of our own protocol. Pure. */
export interface CallAdapter {
	readonly name: string;
	/** The command line, environment and input for a request, or why it is refused without a process. */
	prepare(program: Program, request: ActionRequest): CallCommand | CallRefusal;
	/**
	 * What the finished process meant: an `ActionResponse`, an `Unusable`, a `Limited`, or anything else
	 * when it is none of them.
	 */
	parse(request: ActionRequest, ended: EndedCall): unknown;
	/** What it says it has used, also when it was ended halfway; null for nothing. */
	used?(stdout: string): UsageReading | null;
}

export interface CallCommand {
	readonly argv: readonly [string, ...string[]];
	readonly env: Readonly<Record<string, string>>;
	readonly stdin: string;
	/** Whether it gets a folder of its own for temporary files, gone when the attempt is over. */
	readonly ownTmpdir?: boolean;
}

/** An answer that needs no process: the request is wrong, or the CLI has no such action. */
export interface CallRefusal {
	readonly code: 400 | 501;
	readonly message: string;
}

export interface EndedCall {
	readonly code: number | null;
	readonly signal: string | null;
	readonly stdout: string;
	readonly stderr: string;
	/** When it ended, in wall time. */
	readonly atMs: number;
}

export interface CallAttempt {
	readonly runId: string;
	readonly program: Program;
	/** Null for an agent that speaks the protocol itself. */
	readonly adapter: CallAdapter | null;
	readonly request: ActionRequest;
	/** Covers spawning, writing, waiting and reading. */
	readonly timeoutMs: number;
}

export interface AttemptEnd {
	/** Null when the attempt was called off before it had an outcome. */
	readonly outcome: Outcome | null;
	/** The end of what the attempt wrote to stderr. */
	readonly log: string;
	/** What it has used, where that is known. */
	readonly used?: UsageReading;
	/**
	 * Set when the worker may still be working on the request because others use it too. Resolves when it
	 * has answered or is gone: no other attempt may start before that (T6).
	 */
	readonly over?: Promise<void>;
	/** Set when the worker ended before it was given the request: nothing was tried. */
	readonly notGiven?: true;
}

export interface WorkerStart {
	readonly runId: string;
	readonly program: Program;
	/** Where what it writes to stderr is kept, within bounds. */
	readonly logDir: string;
}

/** Why a worker ended: by itself, because it was stopped, or because of what it did to a request. */
export type WorkerEndCause =
	| "exited"
	| "stopped"
	/** It did not answer a request within the agent's own `timeout`. */
	| "timed_out"
	/** A request that it held was cancelled, or its caller's own deadline passed. */
	| "called_off"
	/** It printed what it must not, or stopped reading or writing. */
	| "sick";

export interface WorkerEnd extends RunExit {
	readonly cause: WorkerEndCause;
	/** In words. */
	readonly reason: string;
}

/** One process that serves many requests, one JSON text per line both ways. */
export interface Worker {
	readonly runId: string;
	readonly process: ProcessIdentity;
	/** Wall time. */
	readonly startedAtMs: number;
	/** Whether it takes requests: it neither ends nor has ended, nor was it told to stop. */
	readonly isOpen: boolean;
	/** Requests that it has not answered yet. */
	readonly pending: number;
	/**
	 * Sends it a request. `lateMs` is how much longer than `timeoutMs` the agent's own `timeout` is, 0 by
	 * default. A request that is not answered after both, or is called off, ends the whole process, since
	 * nothing else could end what the agent does for it (T6); the other requests that it holds end as
	 * `displaced`.
	 *
	 * A caller's own shorter `timeoutMs` ends the process only if it serves no other request. Otherwise the
	 * request is over for its caller, the process goes on serving the others, and it is ended when they have
	 * their answers.
	 */
	ask(
		request: ActionRequest,
		timeoutMs: number,
		signal: AbortSignal,
		lateMs?: number,
	): Promise<AttemptEnd>;
	/** Resolves when the process tree is gone and every request has ended. */
	readonly ended: Promise<WorkerEnd>;
	/** Takes no more; lets it answer what it holds for this long, closes its stdin, then ends the tree. */
	stop(graceMs: number): Promise<"graceful" | "timed_out_killed">;
}

export type WorkerStarted =
	| { readonly ok: true; readonly worker: Worker }
	| { readonly ok: false; readonly failure: StartFailure };

export interface LeftAlive {
	readonly runId: string;
	readonly reason: string;
}

export interface Executor {
	/**
	 * One process for one request. Resolves when the whole tree of the attempt is gone and reaped,
	 * whatever became of it; never rejects. Aborting it ends the tree.
	 */
	call(attempt: CallAttempt, signal: AbortSignal): Promise<AttemptEnd>;
	startWorker(start: WorkerStart): Promise<WorkerStarted>;
	/**
	 * Ends everything that carries the marks of these runs, left by a daemon that died (T6). Returns
	 * what could not be ended, or not be proven to be.
	 */
	endLeft(runIds: readonly string[]): Promise<readonly LeftAlive[]>;
	/** Ends every process that it holds. */
	close(): Promise<void>;
}

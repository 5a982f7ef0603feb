/**
 * Runs the programs of call and worker agents. It starts processes, exchanges JSON with them, and kills
 * them; it decides nothing. Every attempt returns an `Outcome`, and the engine decides about retries.
 *
 * The id of a run is recorded before the start and carried by every process of it (`REEVE_RUN_ID`), so
 * the next daemon can find and kill the processes that a dead daemon left behind.
 */

import type { ResetReader } from "../core/headless.js";
import type { ActionRequest, Outcome } from "../core/outcome.js";
import type { UsageReading } from "../core/usage.js";
import type {
	ProcessIdentity,
	ResourceLimits,
	RunExit,
	RunProcess,
	StartFailure,
} from "./backend.js";

/** An agent's program, fully resolved. */
export interface Program {
	/** `project:name`. */
	readonly agentId: string;
	/** The program and its arguments, without a shell. */
	readonly argv: readonly [string, ...string[]];
	readonly cwd: string;
	/** The complete environment. Never shown, logged or put into an argv. */
	readonly env: Readonly<Record<string, string>>;
	readonly limits: ResourceLimits;
	/** Whether an agent may print other output before its response. */
	readonly extraOutput: "tolerate" | "refuse";
}

/** How to call an agent CLI that does not speak Reeve's protocol. Pure. */
export interface CallAdapter {
	readonly name: string;
	/** The command line, environment and input for a request, or why it is refused without a process. */
	prepare(program: Program, request: ActionRequest): CallCommand | CallRefusal;
	/**
	 * The meaning of the finished process: an `ActionResponse`, an `Unusable`, a `Limited`, or any other
	 * value if the output is none of these.
	 */
	parse(request: ActionRequest, ended: EndedCall): unknown;
	/** The reported usage, also of an interrupted attempt; null for none. */
	used?(stdout: string): UsageReading | null;
}

export interface CallCommand {
	readonly argv: readonly [string, ...string[]];
	readonly env: Readonly<Record<string, string>>;
	readonly stdin: string;
	/** Whether it gets its own directory for temporary files, removed after the attempt. */
	readonly ownTmpdir?: boolean;
}

/** A response without a process: the request is invalid, or the CLI has no such action. */
export interface CallRefusal {
	readonly code: 400 | 501;
	readonly message: string;
}

export interface EndedCall {
	readonly code: number | null;
	readonly signal: string | null;
	readonly stdout: string;
	readonly stderr: string;
	/** When it exited, in wall time. */
	readonly atMs: number;
	/** The `TZ` of its environment; null for the zone of the host. */
	readonly zone: string | null;
}

/** The output of an agent CLI, with a reader for the times in it. */
export type PrintedCall = EndedCall & ResetReader;

/** How to call an agent CLI, apart from the reading of times. */
export interface HeadlessAdapter extends Omit<CallAdapter, "parse"> {
	parse(request: ActionRequest, printed: PrintedCall): unknown;
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
	/** Null if the attempt was cancelled before it had an outcome. */
	readonly outcome: Outcome | null;
	/** The end of its stderr output. */
	readonly log: string;
	/** Its usage, if known. */
	readonly used?: UsageReading;
	/**
	 * Set if the worker may still be processing the request because other requests use it too. Resolves
	 * when it has responded or is gone: no other attempt may start before that (T6).
	 */
	readonly over?: Promise<void>;
	/** Set if the worker exited before it received the request: nothing was attempted. */
	readonly notGiven?: true;
}

export interface WorkerStart {
	readonly runId: string;
	readonly program: Program;
	/** The directory for its stderr output, within bounds. */
	readonly logDir: string;
}

/** Why a worker ended: by itself, because it was stopped, or because of a request. */
export type WorkerEndCause =
	| "exited"
	| "stopped"
	/** It did not respond to a request within the agent's own `timeout`. */
	| "timed_out"
	/** One of its requests was cancelled, or the caller's own deadline passed. */
	| "called_off"
	/** It printed invalid output, or stopped reading or writing. */
	| "sick";

export interface WorkerEnd extends RunExit {
	readonly cause: WorkerEndCause;
	/** As text. */
	readonly reason: string;
}

/** How the stop of a worker went. */
export interface WorkerStop {
	/** `graceful` only if nothing had to be killed (S19). */
	readonly outcome: "graceful" | "timed_out_killed" | "not_proven";
	/** Why its processes cannot be proven gone, for `not_proven`. */
	readonly reason: string | null;
	readonly killed: readonly RunProcess[];
}

/** One process that serves many requests, with one JSON text per line in both directions. */
export interface Worker {
	readonly runId: string;
	readonly process: ProcessIdentity;
	/** Wall time. */
	readonly startedAtMs: number;
	/** Where its output begins in the log of its agent. */
	readonly outputFrom: number;
	/** Whether it accepts requests: it is running and was not asked to stop. */
	readonly isOpen: boolean;
	/** Requests without a response. */
	readonly pending: number;
	/**
	 * Sends it a request. `lateMs` is how much longer than `timeoutMs` the agent's own `timeout` is, 0 by default. A
	 * request without a response after both, or a cancelled one, kills the whole process, since nothing else could stop
	 * its work (T6); its other requests end as `displaced`.
	 *
	 * A caller's own shorter `timeoutMs` kills the process only if it serves no other request. Otherwise the request is
	 * finished for its caller, the process continues to serve the others, and is killed when they have their responses.
	 */
	ask(
		request: ActionRequest,
		timeoutMs: number,
		signal: AbortSignal,
		lateMs?: number,
	): Promise<AttemptEnd>;
	/** Resolves when the process tree is gone and every request has finished. */
	readonly ended: Promise<WorkerEnd>;
	/**
	 * Accepts no more requests, gives pending ones time to finish, closes its stdin, sends SIGTERM, and kills the tree when
	 * this time is up.
	 */
	stop(graceMs: number): Promise<WorkerStop>;
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
	 * One process for one request. Resolves when the whole process tree of the attempt is gone and
	 * reaped; never rejects. Aborting it kills the tree.
	 */
	call(attempt: CallAttempt, signal: AbortSignal): Promise<AttemptEnd>;
	startWorker(start: WorkerStart): Promise<WorkerStarted>;
	/**
	 * Kills all processes that carry the marks of these runs, left behind by a dead daemon (T6). Returns
	 * those that could not be killed or proven gone.
	 */
	endLeft(runIds: readonly string[]): Promise<readonly LeftAlive[]>;
	/** Kills every process that it started. */
	close(): Promise<void>;
}

/** The state of an agent in the engine, and its external view. */

import type { AgentSpec } from "../../config/spec.js";
import type { KnownActivity } from "../../core/activity.js";
import type { Asker, ExitReport } from "../../core/exit.js";
import type { ProcessState } from "../../core/states.js";
import type { Backend, RunHandle } from "../../ports/backend.js";
import type { RunConversation, StoredAgent, StoredExit, StoredRun } from "../../ports/store.js";
import { createSignal, type Signal } from "../waiting.js";

/** A stored agent with a validated spec and the values of its environment. */
export interface Agent extends Omit<StoredAgent, "spec"> {
	readonly spec: AgentSpec;
}

export type ProcessEnd = Pick<ExitReport, "code" | "signal">;

/** The current run. */
export interface LiveRun {
	readonly runId: string;
	/** Its backend; the next run may use another one. */
	readonly backend: Backend;
	readonly withContinue: boolean;
	readonly intendedAtMs: number;
	/** Null until the start is confirmed. */
	handle: RunHandle | null;
	/** Null if this daemon did not see it start. */
	startedSteadyMs: number | null;
	askedBy: Asker | null;
	/** Null for an agent without one, and until the start is prepared. */
	conversation: RunConversation | null;
	ready: boolean;
	/** Why its start timed out; null if it did not. */
	startTimedOut: string | null;
	/** The backend could not determine whether it runs. Nothing is started until that is known. */
	isUnknown: boolean;
	/** This daemon saw its own process exit. */
	exitSeen: boolean;
	/** The backend has proven that no process of its tree is left. */
	treeGone: boolean;
	/** Its exit is recorded, but processes of its tree are not proven gone. */
	exitRecorded: boolean;
	/** The exit of its process, as soon as it is known; it is recorded later. */
	gone: ProcessEnd | null;
	/** Resolves once its exit is recorded. */
	readonly ended: Signal<void>;
}

/** An agent as shown by the API. */
export interface AgentSnapshot {
	readonly agent: Agent;
	readonly process: ProcessState;
	readonly run: Readonly<Pick<LiveRun, "runId" | "handle">> | null;
	/** How many processes serve it now. */
	readonly processes: number;
	readonly ready: boolean;
	/** Its process is gone, but its exit is not recorded yet. */
	readonly gone: ProcessEnd | null;
	/** Its activity; null if the session is not attended. */
	readonly known: KnownActivity | null;
	readonly lastExit: StoredExit | null;
	/** Wall time of the next start, if one is planned. */
	readonly nextStartAtMs: number | null;
}

/** The spec as it is stored: with the names of its variables, without their values (A5). */
export function withoutSecrets(spec: AgentSpec): AgentSpec {
	const names = Object.keys(spec.env).map((name) => [name, null]);
	return { ...spec, env: Object.fromEntries(names) };
}

interface RunFacts {
	readonly wantsToStart: boolean;
	/** Processes of the last run are being killed. */
	readonly isEnding: boolean;
}

/** The run in a snapshot: a process that is gone is neither ready nor active. */
export function snapshotOfRun(
	run: LiveRun | null,
	facts: RunFacts,
	ready: boolean,
	watch: { readonly known: () => KnownActivity | null } | null,
): Pick<AgentSnapshot, "process" | "run" | "processes" | "ready" | "gone" | "known"> {
	const gone = run?.gone ?? null;
	return {
		...{ process: processStateOf(run, facts), run, gone },
		processes: run?.handle && gone === null ? 1 : 0,
		ready: ready && gone === null,
		known: run === null || gone !== null ? null : (watch?.known() ?? null),
	};
}

function processStateOf(run: LiveRun | null, facts: RunFacts): ProcessState {
	if (run?.isUnknown) return "unknown";
	if (run === null && facts.isEnding) return "stopping";
	if (run === null) return facts.wantsToStart ? "starting" : "stopped";
	if (run.gone !== null) return facts.isEnding ? "stopping" : "stopped";
	if (run.askedBy !== null) return "stopping";
	return run.handle === null ? "starting" : "running";
}

/** A run that is intended but not started. */
export function newRun(
	runId: string,
	backend: Backend,
	withContinue: boolean,
	intendedAtMs: number,
): LiveRun {
	return {
		runId,
		backend,
		withContinue,
		intendedAtMs,
		handle: null,
		startedSteadyMs: null,
		askedBy: null,
		conversation: null,
		ready: false,
		startTimedOut: null,
		isUnknown: false,
		exitSeen: false,
		treeGone: false,
		exitRecorded: false,
		gone: null,
		ended: createSignal(),
	};
}

/** A run that an earlier daemon left open. */
export function recoveredRun(stored: StoredRun, backend: Backend): LiveRun {
	const { runId, withContinue, intendedAtMs, handle, askedBy } = stored;
	const { conversation = null, ready = false, exitRecorded = false } = stored;
	const run = newRun(runId, backend, withContinue, intendedAtMs);
	return { ...run, handle, askedBy, conversation, ready, exitRecorded };
}

/** Whether a run continues the last one. Without a conversation, the request decides. */
export function continuesConversation(
	{ conversation, withContinue }: LiveRun,
	lastExit: StoredExit | null,
): boolean {
	if (conversation) return conversation.mode === "resume";
	return withContinue && lastExit !== null;
}

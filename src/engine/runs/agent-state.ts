/** What a runner knows of its agent, and how that looks from outside. */

import type { AgentSpec } from "../../config/spec.js";
import type { KnownActivity } from "../../core/activity.js";
import type { Asker, ExitReport } from "../../core/exit.js";
import type { ProcessState } from "../../core/states.js";
import type { Backend, RunHandle } from "../../ports/backend.js";
import type { RunConversation, StoredAgent, StoredExit, StoredRun } from "../../ports/store.js";
import { createSignal, type Signal } from "../waiting.js";

/** A stored agent whose spec is known to be one, with the values of its environment. */
export interface Agent extends Omit<StoredAgent, "spec"> {
	readonly spec: AgentSpec;
}

export type ProcessEnd = Pick<ExitReport, "code" | "signal">;

/** The run that is under way. */
export interface LiveRun {
	readonly runId: string;
	/** What holds it; another one may be chosen for the next run. */
	readonly backend: Backend;
	readonly withContinue: boolean;
	readonly intendedAtMs: number;
	/** Null until the start is confirmed. */
	handle: RunHandle | null;
	/** Null when this daemon did not see it start. */
	startedSteadyMs: number | null;
	askedBy: Asker | null;
	/** Null for an agent without one, and until the start is prepared. */
	conversation: RunConversation | null;
	ready: boolean;
	/** Why Reeve gave up its start; null while it has not. */
	startTimedOut: string | null;
	/** The backend could not say whether it runs. Nothing is started until that is known. */
	isUnknown: boolean;
	/** This daemon saw its own process exit. */
	exitSeen: boolean;
	/** The backend has proven that nothing of its process tree is left. */
	treeGone: boolean;
	/** Its exit is recorded, but processes of its tree are not proven gone. */
	exitRecorded: boolean;
	/** How its process ended, from the moment that is known; it is recorded later. */
	gone: ProcessEnd | null;
	/** Resolves once its exit is recorded. */
	readonly ended: Signal<void>;
}

/** An agent as the surfaces show it. */
export interface AgentSnapshot {
	readonly agent: Agent;
	readonly process: ProcessState;
	readonly run: Readonly<Pick<LiveRun, "runId" | "handle">> | null;
	/** How many processes serve it now. */
	readonly processes: number;
	readonly ready: boolean;
	/** Its process is gone, which is not recorded yet. */
	readonly gone: ProcessEnd | null;
	/** What it does; null where nobody looks after it. */
	readonly known: KnownActivity | null;
	readonly lastExit: StoredExit | null;
	/** Wall time of the next start, where one is planned. */
	readonly nextStartAtMs: number | null;
}

/** The spec as it may be stored: with the names of its variables, without their values (A5). */
export function withoutSecrets(spec: AgentSpec): AgentSpec {
	const names = Object.keys(spec.env).map((name) => [name, null]);
	return { ...spec, env: Object.fromEntries(names) };
}

interface RunFacts {
	readonly wantsToStart: boolean;
	/** Processes of the last run are being ended. */
	readonly isEnding: boolean;
}

/** What a snapshot shows of the run: a process that is gone is neither ready nor doing anything. */
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

/** A run that is intended and has not begun. */
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

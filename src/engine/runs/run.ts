/** One run of an agent, from the intended start to the recorded exit, as the engine knows it. */

import type { Asker, ExitReport } from "../../core/exit.js";
import type { Backend, RunHandle } from "../../ports/backend.js";
import type {
	RunConversation,
	RunFailure,
	StoredAgent,
	StoredExit,
	StoredRun,
} from "../../ports/store.js";
import { createSignal, type Signal } from "../waiting.js";

/** The stored backend name of the runs that the daemon holds itself. */
export const HELD_BY_DAEMON = "worker";

export interface Run {
	readonly runId: string;
	/** Its backend; the next run may use another one. Null for a worker, which the daemon itself holds. */
	readonly backend: Backend | null;
	readonly withContinue: boolean;
	/** The revision of the agent's settings that it was started with; null if an older version started it. */
	readonly revision: number | null;
	readonly intendedAtMs: number;
	/** Null until the start is confirmed. */
	handle: RunHandle | null;
	/** Null if this daemon did not see it start. */
	startedSteadyMs: number | null;
	askedBy: Asker | null;
	/** Why it was asked to exit, as text; null if the asker gave no reason. */
	askedWhy: string | null;
	/** Null for an agent without one, and until the start is prepared. */
	conversation: RunConversation | null;
	ready: boolean;
	/** Its exit is recorded, but processes of its tree are not proven gone. */
	exitRecorded: boolean;
	/** The exit of its process, as soon as it is known; it is recorded later. */
	gone: Pick<ExitReport, "code" | "signal"> | null;
	/** Why Reeve ends it, which counts as a failure; null if it does not. */
	failing: RunFailure | null;
	/** Resolves once its exit is recorded. */
	readonly ended: Signal<void>;
}

/** A run that a backend holds, so that it outlives the daemon. */
export interface SessionRun extends Run {
	readonly backend: Backend;
	/** The backend could not determine whether it runs. Nothing is started until that is known. */
	isUnknown: boolean;
	/** This daemon saw its own process exit. */
	exitSeen: boolean;
	/** This daemon has begun to stop it. */
	isAsked: boolean;
	/** The backend has proven that no process of its tree is left. */
	treeGone: boolean;
}

/** A run that is intended but not started. */
export function newRun(
	runId: string,
	revision: Run["revision"],
	intendedAtMs: number,
): Run & { readonly backend: null } {
	return {
		runId,
		backend: null,
		withContinue: false,
		revision,
		intendedAtMs,
		handle: null,
		startedSteadyMs: null,
		askedBy: null,
		askedWhy: null,
		conversation: null,
		ready: false,
		exitRecorded: false,
		gone: null,
		failing: null,
		ended: createSignal(),
	};
}

export function newSessionRun(
	runId: string,
	backend: Backend,
	withContinue: boolean,
	revision: Run["revision"],
	intendedAtMs: number,
): SessionRun {
	const seen = { isUnknown: false, exitSeen: false, isAsked: false, treeGone: false };
	return { ...newRun(runId, revision, intendedAtMs), backend, withContinue, ...seen };
}

/** A run that an earlier daemon left open. */
export function recoveredRun(stored: StoredRun, backend: Backend): SessionRun {
	const { runId, withContinue, intendedAtMs, handle, askedBy, revision = null } = stored;
	const { conversation = null, ready = false, exitRecorded = false, failing = null } = stored;
	const run = newSessionRun(runId, backend, withContinue, revision, intendedAtMs);
	const { askedWhy = null } = stored;
	return { ...run, handle, askedBy, askedWhy, conversation, ready, exitRecorded, failing };
}

export function toStoredRun(agentId: string, run: Run, state: StoredRun["state"]): StoredRun {
	const { runId, handle, intendedAtMs, askedBy, withContinue, conversation, ready } = run;
	const { exitRecorded, failing, askedWhy, revision } = run;
	return {
		runId,
		agentId,
		backend: run.backend?.name ?? HELD_BY_DAEMON,
		state,
		...(revision === null ? {} : { revision }),
		handle,
		intendedAtMs,
		askedBy,
		withContinue,
		conversation,
		ready,
		...(exitRecorded ? { exitRecorded } : {}),
		...(failing === null ? {} : { failing }),
		...(askedWhy === null ? {} : { askedWhy }),
	};
}

/** Whether a run has other settings than its agent. One that an older version started has the agent's. */
export function isOutdated({ revision }: Run, agent: Pick<StoredAgent, "revision">): boolean {
	return revision !== null && revision !== (agent.revision ?? 0);
}

/** Whether a run continues the last one. Without a conversation, the request decides. */
export function continuesConversation(
	{ conversation, withContinue }: Run,
	lastExit: StoredExit | null,
): boolean {
	if (conversation) return conversation.mode === "resume";
	return withContinue && lastExit !== null;
}

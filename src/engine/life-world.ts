/** What an agent's life needs of the rest of the engine, and how its starts and stops come out. */

import type { AgentSpec } from "../config/spec.js";
import type { DrainOutcome } from "../core/events.js";
import type { Asker } from "../core/exit.js";
import type { Backend, StartRequest } from "../ports/backend.js";
import type { Clock } from "../ports/clock.js";
import type { Store } from "../ports/store.js";

export type StartOutcome =
	| "started"
	| "already_running"
	| "failed"
	| "halted"
	| "stopped"
	| "waiting";

export interface StopReport {
	readonly outcome: DrainOutcome;
	readonly durationMs: number;
	/** Why it cannot be proven gone, for `not_proven`. */
	readonly reason: string | null;
}

export type Prepared =
	| { readonly ok: true; readonly request: Omit<StartRequest, "runId"> }
	| { readonly ok: false; readonly detail: string };

/** What a life needs of the rest of the engine. */
export interface LifeWorld {
	/** The backend for a new run. */
	readonly chooseBackend: (spec: AgentSpec) => Backend;
	/** The backend that holds a run of an earlier daemon. */
	readonly backendNamed: (name: string) => Backend;
	readonly store: Store;
	readonly clock: Clock;
	readonly random: () => number;
	readonly newRunId: () => string;
	/** All that the backend needs to start this agent now, or why it cannot be started. */
	readonly prepare: (spec: AgentSpec, withContinue: boolean) => Promise<Prepared>;
	/** The agent wants to start; `launch` is to be called when it may. */
	readonly wantsToStart: (agentId: string) => void;
	/** Calls back when a run that has begun is ready. The answer stops watching. */
	readonly watchReady: (spec: AgentSpec, onReady: () => void) => () => void;
	/** A stop or restart that an earlier daemon had begun is to be carried through. */
	readonly finishStop: (agentId: string, by: Asker) => void;
	/** The agent became ready, or its run ended. */
	readonly changed: () => void;
	/** Something failed that nobody waits for. */
	readonly onError: (agentId: string, error: unknown) => void;
}

/** The interfaces of an agent's lifecycle to the rest of the engine, and the results of starts and stops. */

import type { AgentSpec } from "../../config/spec.js";
import type { DrainOutcome } from "../../core/events.js";
import type { Backend, RunExit, RunProcess } from "../../ports/backend.js";
import type { Clock } from "../../ports/clock.js";
import type { Leases } from "../../ports/leases.js";
import type { Store } from "../../ports/store.js";
import type { Drafts } from "../attending/drafts.js";
import type { Inbox } from "../attending/inbox.js";
import type { People } from "../attending/report-to-people.js";
import type { Viewers } from "../attending/viewers.js";
import type { Accounts } from "../limits/accounts.js";
import type { UsageBook } from "../limits/usage-book.js";
import type { StartGate } from "../start-gate.js";
import type { HealthProbe } from "./health-watch.js";
import type { SessionWorld } from "./session-world.js";

export type StartOutcome =
	| "started"
	| "already_running"
	| "failed"
	| "halted"
	| "stopped"
	| "over_budget"
	/** It starts again when it is needed. */
	| "hibernated"
	/** Processes of its last run cannot be proven gone, so no other run may start (S18). */
	| "not_gone"
	| "waiting";

export interface StopReport {
	readonly outcome: DrainOutcome;
	readonly durationMs: number;
	/** Why it cannot be proven gone, for `not_proven`. */
	readonly reason: string | null;
	/** The processes that had to be killed. */
	readonly killed: readonly RunProcess[];
}

export const NOTHING_STOPPED = { outcome: "already_stopped", reason: null, killed: [] } as const;

/** The result of a start. */
export interface StartReport {
	readonly outcome: StartOutcome;
	/** The reason, if it differs from the agent's own. */
	readonly reason: string | null;
}

/** The backends of this host. */
export interface RunBackends {
	/** The backend for a new run of this agent, or why there is none. */
	choose(spec: AgentSpec): { readonly name: string; readonly refused: string | null };
	/** By name, including one that is no longer selected: it may still have runs. */
	get(name: string): Backend;
}

export interface ExitReceiver {
	readonly id: string;
	/** The backend reports the exit of a run of this agent. */
	exited(exit: RunExit): Promise<void>;
}

/** A run that has begun, perhaps under an earlier daemon. */
export interface RunStart {
	/** Where its output begins in the log of its agent. */
	readonly outputFrom: number;
	/** How long it has been running. */
	readonly upMs: number;
}

/** The interface of a lifecycle to the rest of the engine. */
export interface LifeWorld {
	readonly backends: RunBackends;
	readonly store: Store;
	readonly clock: Clock;
	readonly random: () => number;
	readonly newRunId: () => string;
	readonly sessions: SessionWorld;
	readonly inbox: Inbox;
	readonly drafts: Drafts;
	readonly viewers: Viewers;
	/** Whether an agent waits for a person's answer. */
	readonly hasQuestion: (agentId: string, runId: string) => boolean;
	readonly people: People;
	readonly accounts: Accounts;
	readonly usage: UsageBook;
	readonly leases: Leases;
	/** Calls `start` of an agent that wants to start, when it may. */
	readonly gate: StartGate;
	/** The lives of the current runs, by run id: exits arrive with nothing else. */
	readonly ownersOfRuns: Map<string, ExitReceiver>;
	/** Calls back when a run that has begun is ready. The returned function stops watching. */
	readonly watchReady: (spec: AgentSpec, run: RunStart, onReady: () => void) => () => void;
	readonly checkHealth: HealthProbe;
	/** A failure without a waiting caller. */
	readonly onError: (agentId: string, error: unknown) => void;
}

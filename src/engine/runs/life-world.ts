/**
 * The interfaces of an agent's lifecycle to the rest of the engine, and the results of starts and
 * stops.
 */

import type { AgentSpec } from "../../config/spec.js";
import type { DrainOutcome } from "../../core/events.js";
import type { Backend, RunProcess } from "../../ports/backend.js";
import type { Clock } from "../../ports/clock.js";
import type { Store } from "../../ports/store.js";
import type { Drafts } from "../attending/drafts.js";
import type { Inbox } from "../attending/inbox.js";
import type { People } from "../attending/report-to-people.js";
import type { Accounts } from "../limits/accounts.js";
import type { UsageBook } from "../limits/usage-book.js";
import type { StartGate } from "../start-gate.js";
import type { Prepared, SessionWorld, StartIntent } from "./session-world.js";

export type StartOutcome =
	| "started"
	| "already_running"
	| "failed"
	| "halted"
	| "stopped"
	| "over_budget"
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

/** The interface of a lifecycle to the rest of the engine. */
export interface LifeWorld {
	/** The backend for a new run. */
	readonly chooseBackend: (spec: AgentSpec) => Backend;
	/** The backend of a run of an earlier daemon. */
	readonly backendNamed: (name: string) => Backend;
	readonly store: Store;
	readonly clock: Clock;
	readonly random: () => number;
	readonly newRunId: () => string;
	/** Everything needed to start this agent now, or why it cannot be started. */
	readonly prepare: (spec: AgentSpec, intent: StartIntent) => Promise<Prepared>;
	readonly sessions: SessionWorld;
	readonly inbox: Inbox;
	readonly drafts: Drafts;
	readonly people: People;
	readonly accounts: Accounts;
	readonly usage: UsageBook;
	/** Calls `start` of an agent that wants to start, when it may. */
	readonly gate: StartGate;
	/** Calls back when a run that has begun is ready. The answer stops watching. */
	readonly watchReady: (spec: AgentSpec, onReady: () => void) => () => void;
	/** A failure without a waiting caller. */
	readonly onError: (agentId: string, error: unknown) => void;
}

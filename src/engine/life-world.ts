/** What an agent's life needs of the rest of the engine, and how its starts and stops come out. */

import type { AgentSpec } from "../config/spec.js";
import type { ConversationStart } from "../core/conversation.js";
import type { DrainOutcome } from "../core/events.js";
import type { Asker } from "../core/exit.js";
import type { AgentSign } from "../core/sign.js";
import type { Connection, ToolWork } from "../core/stall.js";
import type { TimedReading, UsageCursor } from "../core/usage.js";
import type { AgentAdapter, ConversationLeases } from "../ports/adapter.js";
import type { Backend, ProcessIdentity, RunProcess, StartRequest } from "../ports/backend.js";
import type { Clock } from "../ports/clock.js";
import type { Store } from "../ports/store.js";
import type { Accounts } from "./accounts.js";
import type { Drafts } from "./drafts.js";
import type { Inbox } from "./inbox.js";

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

/** How a start went. */
export interface StartReport {
	readonly outcome: StartOutcome;
	/** Why, where the agent's own reason does not say it. */
	readonly reason: string | null;
}

export type Prepared =
	| {
			readonly ok: true;
			readonly request: Omit<StartRequest, "runId">;
			/** The conversation that the start takes up or begins; null for an agent without any. */
			readonly conversation?: ConversationStart | null;
	  }
	/** It cannot be started as things are, and a retry cannot succeed. */
	| { readonly ok: false; readonly detail: string };

/** How a session is to begin. */
export interface StartIntent {
	/** Whether it is to go on where it stopped. */
	readonly withContinue: boolean;
	/** The conversation that it had. */
	readonly conversation: string | null;
}

/** What a start of something without a conversation is prepared with. */
export const NO_CONVERSATION: StartIntent = { withContinue: false, conversation: null };

/** What was added to a record of usage, and how far it was read. */
export interface NewUsage extends Pick<UsageCursor, "path" | "offset"> {
	/** The file beside it that this is from; null for the record itself. */
	readonly beside: string | null;
	readonly readings: readonly TimedReading[];
}

/** What is known of agent CLIs, and what they leave behind. */
export interface SessionWorld {
	readonly adapterOf: (spec: AgentSpec) => AgentAdapter;
	readonly leases: ConversationLeases;
	/** The end of what an agent printed, as plain text. */
	readonly lastWords: (spec: AgentSpec) => Promise<string>;
	/** What the agent's CLI has let be known since a moment, oldest first. */
	readonly signs: (
		spec: AgentSpec,
		conversation: string | null,
		sinceMs: number,
	) => Promise<readonly AgentSign[]>;
	/** What the agent's CLI has written of its usage since the last time; null for nothing. */
	readonly usage: (
		spec: AgentSpec,
		conversation: string | null,
		from: UsageCursor | null,
	) => Promise<NewUsage | null>;
	/** Whether there is a record of a conversation; null where that cannot be told. */
	readonly isRecorded: (spec: AgentSpec, conversation: string) => Promise<boolean | null>;
	/** The conversation whose record the run's process holds open; null where none can be told for sure. */
	readonly heldConversation: (
		spec: AgentSpec,
		runId: string,
		process: ProcessIdentity,
	) => Promise<string | null>;
	/** What the tools of a run do. */
	readonly toolWork: (runId: string, process: ProcessIdentity) => Promise<ToolWork>;
	/** The network connections of a run's CLI, without those of its tools; empty where the system does not report them. */
	readonly connections: (runId: string, process: ProcessIdentity) => Promise<readonly Connection[]>;
	/** The wall time at which a limit lifts, from a text that was printed at `atMs`. */
	readonly readReset: (text: string, atMs: number) => number | null;
}

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
	/** All that is needed to start this agent now, or why it cannot be started. */
	readonly prepare: (spec: AgentSpec, intent: StartIntent) => Promise<Prepared>;
	readonly sessions: SessionWorld;
	readonly inbox: Inbox;
	readonly drafts: Drafts;
	readonly accounts: Accounts;
	/** Why the agent may do nothing more today; null when it may. */
	readonly overBudget: (spec: AgentSpec) => string | null;
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

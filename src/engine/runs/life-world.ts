/** What an agent's lifecycle needs from the rest of the engine, and the results of starts and stops. */

import type { AgentSpec } from "../../config/spec.js";
import type { ConversationStart } from "../../core/conversation.js";
import type { DrainOutcome } from "../../core/events.js";
import type { Asker } from "../../core/exit.js";
import type { AgentSign } from "../../core/sign.js";
import type { Connection, ToolWork } from "../../core/stall.js";
import type { TimedReading, UsageCursor } from "../../core/usage.js";
import type { AgentAdapter, ConversationLeases } from "../../ports/adapter.js";
import type { Backend, ProcessIdentity, RunProcess, StartRequest } from "../../ports/backend.js";
import type { Clock } from "../../ports/clock.js";
import type { Store } from "../../ports/store.js";
import type { Drafts } from "../attending/drafts.js";
import type { Inbox } from "../attending/inbox.js";
import type { Accounts } from "../limits/accounts.js";

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

/** The result of a start. */
export interface StartReport {
	readonly outcome: StartOutcome;
	/** The reason, if it differs from the agent's own. */
	readonly reason: string | null;
}

export type Prepared =
	| {
			readonly ok: true;
			readonly request: Omit<StartRequest, "runId">;
			/** The conversation that the start resumes or creates; null for an agent without one. */
			readonly conversation?: ConversationStart | null;
	  }
	/** It cannot be started now, and a retry cannot succeed. */
	| { readonly ok: false; readonly detail: string };

/** How a session should start. */
export interface StartIntent {
	/** Whether it should continue its conversation. */
	readonly withContinue: boolean;
	/** Its previous conversation. */
	readonly conversation: string | null;
}

/** The intent for an agent without conversations. */
export const NO_CONVERSATION: StartIntent = { withContinue: false, conversation: null };

/** New lines of a usage record, and how far it was read. */
export interface NewUsage extends Pick<UsageCursor, "path" | "offset"> {
	/** The additional file that they are from; null for the record itself. */
	readonly beside: string | null;
	readonly readings: readonly TimedReading[];
}

/** Knowledge about agent CLIs, and their files. */
export interface SessionWorld {
	readonly adapterOf: (spec: AgentSpec) => AgentAdapter;
	readonly leases: ConversationLeases;
	/** The end of an agent's output, as plain text. */
	readonly lastWords: (spec: AgentSpec) => Promise<string>;
	/** The reports of the agent's CLI since a time, oldest first. */
	readonly signs: (
		spec: AgentSpec,
		conversation: string | null,
		sinceMs: number,
	) => Promise<readonly AgentSign[]>;
	/** The usage that the agent's CLI has recorded since the last read; null for none. */
	readonly usage: (
		spec: AgentSpec,
		conversation: string | null,
		from: UsageCursor | null,
	) => Promise<NewUsage | null>;
	/** Whether a transcript of a conversation exists; null if that is unknown. */
	readonly isRecorded: (spec: AgentSpec, conversation: string) => Promise<boolean | null>;
	/**
	 * The conversation whose transcript the run's process has open; null if that is ambiguous or unknown.
	 */
	readonly heldConversation: (
		spec: AgentSpec,
		runId: string,
		process: ProcessIdentity,
	) => Promise<string | null>;
	/** The activity of a run's tools. */
	readonly toolWork: (runId: string, process: ProcessIdentity) => Promise<ToolWork>;
	/** The network connections of a run's CLI, without those of its tools; empty where the system does not report them. */
	readonly connections: (runId: string, process: ProcessIdentity) => Promise<readonly Connection[]>;
	/** The wall time at which a limit lifts, from a text that was printed at `atMs`. */
	readonly readReset: (text: string, atMs: number) => number | null;
}

/** What a lifecycle needs from the rest of the engine. */
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
	readonly accounts: Accounts;
	/** Why the agent may not continue today; null if it may. */
	readonly overBudget: (spec: AgentSpec) => string | null;
	/** The agent requests a start; `launch` is called when it is granted. */
	readonly wantsToStart: (agentId: string) => void;
	/**
	 * Admits a start that is recorded together with the exit before it; null when it has to ask like any other. The result
	 * is to be called when the start is over.
	 */
	readonly admitNow: (spec: AgentSpec) => (() => void) | null;
	/** Calls back when a run that has begun is ready. The answer stops watching. */
	readonly watchReady: (spec: AgentSpec, onReady: () => void) => () => void;
	/** Completes a stop or restart that an earlier daemon had begun. */
	readonly finishStop: (agentId: string, by: Asker) => void;
	/** The agent became ready, or its run ended. */
	readonly changed: () => void;
	/** A failure without a waiting caller. */
	readonly onError: (agentId: string, error: unknown) => void;
}

/** The engine's interface to agent CLIs and their files on this host. */

import type { AgentSpec } from "../../config/spec.js";
import type { ConversationStart } from "../../core/conversation.js";
import type { AgentSign } from "../../core/sign.js";
import type { Connection, ToolWork } from "../../core/stall.js";
import type { TimedReading, UsageCursor } from "../../core/usage.js";
import type { AgentAdapter, ConversationLeases } from "../../ports/adapter.js";
import type { ProcessIdentity, StartRequest } from "../../ports/backend.js";

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
	/** Everything needed to start this agent now, or why it cannot be started. */
	readonly prepare: (spec: AgentSpec, intent: StartIntent) => Promise<Prepared>;
	/**
	 * Why the agent cannot be started now (program, directory, permission); null if nothing prevents it. Changes nothing.
	 */
	readonly checkStart: (spec: AgentSpec) => Promise<string | null>;
	readonly adapterOf: (spec: AgentSpec) => AgentAdapter;
	readonly leases: ConversationLeases;
	/** The end of an agent's output since an offset of its log, as plain text. */
	readonly lastOutput: (spec: AgentSpec, outputFrom: number) => Promise<string>;
	/**
	 * The reports of the agent's CLI since the start of its run, oldest first. Of a run that is over they are complete: its
	 * transcript may be newer than the last check for one.
	 */
	readonly signs: (
		spec: AgentSpec,
		conversation: string | null,
		startedAtMs: number,
		isOver?: boolean,
	) => Promise<readonly AgentSign[]>;
	/** The usage that the agent's CLI has recorded since the last read; null for none. */
	readonly usage: (
		spec: AgentSpec,
		conversation: string | null,
		from: UsageCursor | null,
	) => Promise<NewUsage | null>;
	/** The files of a conversation's transcript. */
	readonly transcripts: (
		spec: AgentSpec,
		conversation: string | null,
	) => Promise<readonly string[]>;
	/** Whether a transcript of a conversation exists; null if that is unknown. */
	readonly isRecorded: (spec: AgentSpec, conversation: string) => Promise<boolean | null>;
	/** The conversation whose transcript the run's process has open; null if that is ambiguous or unknown. */
	readonly heldConversation: (
		spec: AgentSpec,
		runId: string,
		process: ProcessIdentity,
	) => Promise<string | null>;
	/** The activity of a run's tools. */
	readonly toolWork: (runId: string, process: ProcessIdentity) => Promise<ToolWork>;
	/** The memory of a run's processes, in bytes; null if unknown. */
	readonly memory: (runId: string, process: ProcessIdentity) => Promise<number | null>;
	/**
	 * The network connections of a run's CLI, without those of its tools; empty where the system does not report them.
	 */
	readonly connections: (runId: string, process: ProcessIdentity) => Promise<readonly Connection[]>;
	/** The wall time at which a limit lifts, from a text that the agent's CLI printed at `atMs`. */
	readonly readReset: (spec: AgentSpec, text: string, atMs: number) => number | null;
}

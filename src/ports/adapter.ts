/**
 * What the engine knows of an agent CLI, and what it asks of the host so that two processes never
 * hold one conversation.
 */

import type { AdapterProfile } from "../core/adapter.js";
import type { SignMeaning } from "../core/sign.js";
import type { UsageReading } from "../core/usage.js";
import type { ProcessIdentity } from "./backend.js";

/** All that is known of one agent CLI. */
export interface AgentAdapter {
	readonly name: string;
	readonly profile: AdapterProfile;
	/** What a record means that one of the CLI's hooks has left; null for nothing. */
	readonly readRecord?: (event: string, data: JsonRecord, read: SignReader) => SignMeaning | null;
	/** What a line of the conversation's record means; null for nothing. */
	readonly readTranscript?: (line: JsonRecord, read: SignReader) => SignMeaning | null;
	/** The meaning of a record of its log, with its time where the record has one; null for none. */
	readonly readLog?: (record: JsonRecord, read: SignReader) => LogMeaning | null;
	/** How its usage is known; without it, it is not. */
	readonly usage?: UsageSource;
}

export type LogMeaning = SignMeaning & {
	/** Wall time. */
	readonly atMs?: number;
};

export interface UsageSource {
	/** Where it is written, the first that can be filled in. The conversation's record, unless given. */
	readonly files?: readonly string[];
	/** A folder whose files tell more of it, each line in the same way: of what works beside the agent. */
	readonly beside?: (path: string) => string;
	/** What a line tells of it; null for nothing. */
	readonly read: (line: JsonRecord) => UsageReading | null;
}

export type JsonRecord = Readonly<Record<string, unknown>>;

/** What an adapter needs to read one record of its CLI. */
export interface SignReader {
	/** The wall time at which a limit lifts, from a text that was printed when the record was written. */
	readonly resetAtMs: (text: string) => number | null;
}

/** A reader for a record that was written at this wall time. */
export type SignReaderAt = (atMs: number) => SignReader;

/** The right to hold a conversation. Plain data: it is stored with the run that has it. */
export interface ConversationLease {
	readonly conversation: string;
	/** Grows with every holder, so that a late one is known as such. */
	readonly token: number;
}

export type LeaseResult =
	| { readonly ok: true; readonly lease: ConversationLease }
	/** Who holds it, in words. */
	| { readonly ok: false; readonly detail: string };

/**
 * One holder per conversation among all daemons of this user on this host. A lease is held by this
 * daemon until it is bound, then by the agent's process for as long as that lives.
 */
export interface ConversationLeases {
	take(
		conversation: string,
		holder: { readonly agentId: string; readonly runId: string },
	): Promise<LeaseResult>;
	/** From now on the process holds it. False when somebody else has it by now. */
	bind(lease: ConversationLease, process: ProcessIdentity): Promise<boolean>;
	release(lease: ConversationLease): Promise<void>;
}

/** The engine's view of an agent CLI, and the leases that keep two processes from using one conversation. */

import type { AdapterProfile } from "../core/adapter.js";
import type { SignMeaning } from "../core/sign.js";
import type { UsageReading } from "../core/usage.js";
import type { ProcessIdentity } from "./backend.js";

/** Everything known about one agent CLI. */
export interface AgentAdapter {
	readonly name: string;
	readonly profile: AdapterProfile;
	/** Plugins of Reeve that the CLI loads. They are copied into the agent's folder before each start. */
	readonly programs?: readonly AdapterProgram[];
	/** The meaning of a record written by one of the CLI's hooks; null for none. */
	readonly readRecord?: (event: string, data: JsonRecord, read: SignReader) => SignMeaning | null;
	/** The meaning of a line of the transcript; null for none. */
	readonly readTranscript?: (line: JsonRecord, read: SignReader) => SignMeaning | null;
	/** The meaning of a record of its log, with its time if the record has one; null for none. */
	readonly readLog?: (record: JsonRecord, read: SignReader) => LogMeaning | null;
	/** Where its usage is recorded; omitted if it is not. */
	readonly usage?: UsageSource;
}

export interface AdapterProgram {
	/** Its name in the agent's folder. */
	readonly name: string;
	/** The file in this package. */
	readonly source: URL;
}

export type LogMeaning = SignMeaning & {
	/** Wall time. */
	readonly atMs?: number;
};

export interface UsageSource {
	/** Where it is written, the first path whose placeholders all have a value. The transcript by default. */
	readonly files?: readonly string[];
	/** A directory with more files of the same format, for example of subagents. */
	readonly beside?: (path: string) => string;
	/** The usage in a line; null for none. */
	readonly read: (line: JsonRecord) => UsageReading | null;
}

export type JsonRecord = Readonly<Record<string, unknown>>;

/** The context in which an adapter reads one record of its CLI. */
export interface SignReader {
	/** The wall time at which a limit lifts, from a text that was printed when the record was written. */
	readonly resetAtMs: (text: string) => number | null;
}

/** A reader for a record that was written at this wall time. */
export type SignReaderAt = (atMs: number) => SignReader;

/** The exclusive right to use a conversation. Plain data, stored with its run. */
export interface ConversationLease {
	readonly conversation: string;
	/** Grows with every holder, so that an outdated holder can be detected. */
	readonly token: number;
}

export type LeaseResult =
	| { readonly ok: true; readonly lease: ConversationLease }
	/** The current holder, as text. */
	| { readonly ok: false; readonly detail: string };

/**
 * One holder per conversation among all daemons of this user on this host. A lease belongs to this
 * daemon until it is bound, then to the agent's process as long as that is alive.
 */
export interface ConversationLeases {
	take(
		conversation: string,
		holder: { readonly agentId: string; readonly runId: string },
	): Promise<LeaseResult>;
	/** Passes the lease to the process. False if another holder has it by now. */
	bind(lease: ConversationLease, process: ProcessIdentity): Promise<boolean>;
	release(lease: ConversationLease): Promise<void>;
}

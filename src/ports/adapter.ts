/**
 * What the engine knows of an agent CLI, and what it asks of the host so that two processes never
 * hold one conversation.
 */

import type { AdapterProfile } from "../core/adapter.js";
import type { ProcessIdentity } from "./backend.js";

/** All that is known of one agent CLI. */
export interface AgentAdapter {
	readonly name: string;
	readonly profile: AdapterProfile;
}

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

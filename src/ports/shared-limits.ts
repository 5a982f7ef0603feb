/** The usage limits of accounts that the hosts of a cluster share: for the engine, and in the shared database. */

import type { AccountState } from "../core/account.js";
import type { Member } from "../core/cluster.js";
import type { LimitRow, SharedLimit } from "../core/shared-limit.js";

/** The accounts of this host's agents. */
export interface LocalLimits {
	/** Accounts of agents of this host that agents of other hosts may use too. */
	shared(): readonly string[];
	/** Its state, the agents of this host that use it, and when it was last released. */
	read(account: string): {
		readonly state: AccountState | null;
		readonly freedAtMs: number;
		readonly members: readonly string[];
	};
	/** Wall time. */
	nowMs(): number;
	/** Replaces the state with one that another host has caused. */
	adopt(account: string, state: AccountState | null): void;
	/** The cluster lets this agent check whether the limit has lifted. */
	grantProbe(account: string, agent: string): void;
}

export interface SharedLimits {
	attach(limits: LocalLimits): void;
	/** The limit of an account has changed here. */
	changed(): void;
	/** Whether this host decides alone, because there is no cluster or it has not answered for a while. */
	isAlone(): boolean;
	/** An agent is to check whether the limit of its account has lifted; one in the cluster may. */
	requestProbe(account: string, agent: string): void;
}

/** The limits in the database. */
export interface LimitTable {
	/** Of these accounts; those that never had a limit are left out. Its clock converts the times. */
	read(accounts: readonly string[], nowMs: number): Promise<readonly LimitRow[]>;
	/** Returns the new version; null if it has another version than this (0: no row) by now. */
	write(
		member: Member,
		account: string,
		version: number,
		limit: SharedLimit,
		nowMs: number,
	): Promise<number | null>;
}

/** A host that belongs to no cluster. */
export const NO_SHARED_LIMITS: SharedLimits = {
	attach() {},
	changed() {},
	isAlone: () => true,
	requestProbe() {},
};

/**
 * The usage limit of an account, as the hosts of a cluster share it. Each host keeps its own state of the account, and
 * decides with it while the database is away; the later change wins when both have changed. Times are those of this
 * host's clock: between hosts they travel as ages.
 */

import {
	type AccountState,
	DEFAULT_USAGE_LIMIT,
	releasing,
	type UsageLimitSettings,
} from "./account.js";

/** `free` also while agents continue one after another: every host does that for itself. */
export type SharedPhase = "limited" | "probing" | "free";

export interface SharedLimit {
	readonly phase: SharedPhase;
	/** When this phase began. */
	readonly sinceMs: number;
	readonly firstAtMs: number;
	readonly hits: number;
	readonly endKnown: boolean;
	readonly untilMs: number | null;
	readonly reason: string;
	/** The agent that checks whether the limit has lifted; null for none. */
	readonly probe: string | null;
	readonly settings: UsageLimitSettings;
}

/** The limit in the database. */
export interface LimitRow extends SharedLimit {
	readonly account: string;
	/** Changes with every write. */
	readonly version: number;
	/** The host that wrote it last, and its home. */
	readonly host: string;
	readonly home: string;
	/** Whether that host is alive. */
	readonly isHostAlive: boolean;
}

/** The limit on which this host and the database last agreed. */
export interface AgreedLimit {
	readonly version: number;
	readonly limit: SharedLimit;
}

/** The part of an account's state that concerns other hosts. `freedAtMs`: when it was last released. */
export function shareLimit(state: AccountState | null, freedAtMs: number): SharedLimit {
	const settings = state?.settings ?? DEFAULT_USAGE_LIMIT;
	const { firstAtMs = 0, hits = 0, sinceMs = freedAtMs } = state ?? {};
	const base = { sinceMs, firstAtMs, hits, settings, endKnown: false, untilMs: null };
	switch (state?.phase) {
		case "limited": {
			const { endKnown, untilMs, reason } = state;
			return { ...base, phase: "limited", endKnown, untilMs, reason, probe: null };
		}
		case "probing":
			return { ...base, phase: "probing", reason: "", probe: state.probe };
		default:
			return { ...base, phase: "free", reason: "", probe: null };
	}
}

/** Ages are measured twice on their way, and hosts read one limit at different moments. */
const SAME_MS = 2_000;

function isSame(one: SharedLimit, other: SharedLimit): boolean {
	if (one.phase !== other.phase || one.probe !== other.probe) return false;
	if (one.phase === "free") return true;
	return isNear(one.untilMs, other.untilMs) && isNear(one.sinceMs, other.sinceMs);
}

function isNear(one: number | null, other: number | null): boolean {
	if (one === null || other === null) return one === other;
	return Math.abs(one - other) <= SAME_MS;
}

/** The wait was over. Every host sees that by itself. */
function isPast(now: SharedLimit, before: SharedLimit): boolean {
	return before.phase === "limited" && now.phase === "probing" && now.probe === null;
}

export type LimitStep = "keep" | "adopt" | "push";

export function decideLimitStep(
	local: SharedLimit,
	agreed: AgreedLimit | null,
	row: LimitRow | null,
): LimitStep {
	if (row === null) return local.phase === "free" ? "keep" : "push";
	const before = agreed?.limit ?? row;
	const changedHere = !isSame(local, before) && !isPast(local, before);
	const changedThere = agreed === null ? changedHere : row.version !== agreed.version;
	if (!changedHere) return changedThere || isProbeLost(local, row) ? "adopt" : "keep";
	if (!changedThere) return "push";
	if (local.phase === "limited" && row.phase === "limited") {
		return isLonger(local, row) ? "push" : "adopt";
	}
	return local.sinceMs > row.sinceMs ? "push" : "adopt";
}

/** As `decideLimit`: a reported end takes precedence over a guess, and a later end over an earlier one. */
function isLonger(local: SharedLimit, row: SharedLimit): boolean {
	if (local.untilMs === null || row.untilMs === null) return row.untilMs !== null;
	if (local.endKnown !== row.endKnown) return local.endKnown;
	return local.untilMs > row.untilMs + SAME_MS;
}

/** The host of the probe no longer answers. */
function isProbeLost(local: SharedLimit, row: LimitRow): boolean {
	return local.probe !== null && row.phase === "probing" && !row.isHostAlive;
}

/** The state of an account after this host has read the limit of another one. */
export function adoptLimit(
	before: AccountState | null,
	row: LimitRow,
	me: { readonly home: string; readonly members: readonly string[]; readonly nowMs: number },
): AccountState | null {
	const { sinceMs, firstAtMs, hits, settings, endKnown, untilMs, reason, probe } = row;
	const common = { sinceMs, firstAtMs, hits, settings };
	const host = row.home === me.home ? {} : { host: row.host };
	switch (row.phase) {
		case "limited":
			return { ...common, phase: "limited", endKnown, untilMs, reason, ...host };
		case "probing": {
			const isLost = probe === null || !row.isHostAlive;
			const state = { ...common, phase: "probing", readyAtMs: null } as const;
			return isLost ? { ...state, probe: null } : { ...state, probe, ...host };
		}
		case "free":
			if (before === null || before.phase === "releasing") return before;
			return releasing(before, null, me.members, me.nowMs);
	}
}

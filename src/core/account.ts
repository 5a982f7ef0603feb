/**
 * A usage limit holds for an account, not for an agent. Whoever meets it first parks all agents of the
 * account; when it should have lifted, one of them goes ahead as a probe, and the others follow one
 * after the other once the probe has shown that it did. Pure: an account without a state is free.
 */

import type { KnownActivity } from "./activity.js";
import { limitDelayMs } from "./own-cause.js";
import type { AgentSign } from "./sign.js";
import { renderDuration } from "./units.js";

export interface UsageLimitSettings {
	/** Whether agents go on by themselves once the limit lifts. */
	readonly autoResume: boolean;
	/** From and to, in minutes of the day: nobody goes on then. Over midnight where `from` is later. */
	readonly quietHours: { readonly fromMinute: number; readonly toMinute: number } | null;
	/** Who would have to wait longer than this waits for the operator instead. */
	readonly maxWaitMs: number;
}

/** Weekly limits are the longest common ones. */
export const DEFAULT_USAGE_LIMIT: UsageLimitSettings = Object.freeze({
	autoResume: true,
	quietHours: null,
	maxWaitMs: 8 * 86_400_000,
});

interface Common {
	/** Since when it is in this phase, in wall time. */
	readonly sinceMs: number;
	/** When the limit was first met since all was well. */
	readonly firstAtMs: number;
	/** How often it was met since then, each time by whoever had gone ahead. */
	readonly hits: number;
	/** Of the agent that met the limit. */
	readonly settings: UsageLimitSettings;
}

export interface LimitedAccount extends Common {
	readonly phase: "limited";
	/** Whether the service has told when the limit lifts. */
	readonly told: boolean;
	/** When a probe may go; null when only the operator lets one. */
	readonly untilMs: number | null;
	readonly reason: string;
}

export interface ProbingAccount extends Common {
	readonly phase: "probing";
	/** Null until somebody has something to do. */
	readonly probe: string | null;
	/** Since when the probe is ready. */
	readonly readyAtMs: number | null;
}

export interface ReleasingAccount extends Common {
	readonly phase: "releasing";
	/** When each of the others may go. */
	readonly goAtMs: Readonly<Record<string, number>>;
}

/** Plain data: it is stored as JSON. */
export type AccountState = LimitedAccount | ProbingAccount | ReleasingAccount;

/** A probe that has been ready for this long without meeting the limit has shown that it is gone. */
export const PROVEN_AFTER_MS = 60_000;
/** The others follow at this distance. */
export const STAGGER_MS = 5_000;
/** Ends that are no further apart than this are one: "in 3 hours" is read at different moments. */
const SAME_END_MS = 2_000;
/** Spreads waits of unknown length, so that accounts that were limited together part. */
const JITTER = 0.1;

/** How an agent's last turn went. */
export interface Turn {
	readonly atMs: number;
	/** The limit that it met; null when it went well. */
	readonly limit: { readonly resetAtMs: number | null } | null;
}

/**
 * The last turn of which it is known whether it met a limit: what the CLI has told first, what its
 * screen shows last.
 */
export function lastTurn(
	signs: readonly AgentSign[],
	known: KnownActivity,
	readShownReset: () => number | null,
): Turn | null {
	const sign = signs.findLast(({ failure }) => failure !== undefined);
	const { failure } = sign ?? {};
	if (sign !== undefined && failure?.cause === "usage_limit") {
		return { atMs: sign.atMs, limit: { resetAtMs: failure.resetAtMs } };
	}
	const good = sign !== undefined && failure === null ? { atMs: sign.atMs, limit: null } : null;
	const shown = known.activity === "rate_limited" && known.source === "screen";
	// The words of a limit may stay on the screen long after it.
	if (!shown || (good !== null && good.atMs > known.atMs)) return good;
	return { atMs: known.atMs, limit: { resetAtMs: readShownReset() } };
}

export interface LimitHit {
	/** An exit is always news; a turn may be read again by a later daemon. */
	readonly by: "exit" | "turn";
	readonly atMs: number;
	readonly resetAtMs: number | null;
}

export interface LimitContext {
	readonly settings: UsageLimitSettings;
	readonly nowMs: number;
	readonly minuteOfDay: (wallMs: number) => number;
	readonly random: number;
}

/** What an account is after one of its agents has met a limit; the same when that is no news. */
export function decideLimit(
	before: AccountState | null,
	hit: LimitHit,
	context: LimitContext,
): AccountState | null {
	const { nowMs } = context;
	if (hit.by === "turn" && isOld(before, hit, nowMs)) return before;
	const told = hit.resetAtMs !== null && hit.resetAtMs > hit.atMs;
	if (before?.phase === "limited") {
		// Several agents meet one limit: what is told counts more than a guess, and the later end more.
		if (!told || before.untilMs === null) return before;
		if (before.told && (hit.resetAtMs ?? 0) <= before.untilMs + SAME_END_MS) return before;
		return limited(hit, told, before, context);
	}
	const { firstAtMs = nowMs, hits = 0 } = before ?? {};
	return limited(hit, told, { firstAtMs, hits: hits + 1 }, context);
}

function isOld(before: AccountState | null, { atMs, resetAtMs }: LimitHit, nowMs: number): boolean {
	if (before !== null) return atMs <= before.sinceMs;
	return nowMs >= (resetAtMs ?? atMs + limitDelayMs(null, 1, 0, 0));
}

function limited(
	hit: LimitHit,
	told: boolean,
	{ firstAtMs, hits }: Pick<Common, "firstAtMs" | "hits">,
	{ settings, nowMs, minuteOfDay, random }: LimitContext,
): LimitedAccount {
	const resetInMs = told ? Math.max(1, (hit.resetAtMs ?? 0) - nowMs) : null;
	const liftsAtMs = nowMs + limitDelayMs(resetInMs, hits, JITTER, random);
	const goAtMs = afterQuiet(liftsAtMs, settings, minuteOfDay);
	const tooLong = goAtMs - firstAtMs > settings.maxWaitMs;
	return {
		...{ phase: "limited", sinceMs: nowMs, firstAtMs, hits, settings, told },
		untilMs: settings.autoResume && !tooLong ? goAtMs : null,
		reason: reasonOf({ told, tooLong, quiet: goAtMs > liftsAtMs }, settings),
	};
}

function reasonOf(
	{ told, tooLong, quiet }: { told: boolean; tooLong: boolean; quiet: boolean },
	{ autoResume, maxWaitMs }: UsageLimitSettings,
): string {
	if (!autoResume) return "usage limit: only `reeve resume` goes on (auto_resume is off)";
	if (tooLong) {
		const bound = `max_wait (${renderDuration(maxWaitMs)})`;
		return `usage limit that lasts longer than ${bound}: only \`reeve resume\` goes on`;
	}
	const end = told
		? "parked until it lifts"
		: "its end is not told: parked until it is tried again";
	return `usage limit, ${end}${quiet ? " and the quiet hours are over" : ""}`;
}

/** This moment, or the end of the quiet hours that it falls into. */
function afterQuiet(
	atMs: number,
	{ quietHours }: UsageLimitSettings,
	minuteOfDay: (wallMs: number) => number,
): number {
	if (quietHours === null) return atMs;
	const minute = minuteOfDay(atMs);
	const { fromMinute, toMinute } = quietHours;
	const sinceBegin = (minute - fromMinute + DAY_MINUTES) % DAY_MINUTES;
	const length = (toMinute - fromMinute + DAY_MINUTES) % DAY_MINUTES;
	if (sinceBegin >= length) return atMs;
	return atMs - (atMs % MINUTE_MS) + (length - sinceBegin) * MINUTE_MS;
}

const DAY_MINUTES = 1_440;
const MINUTE_MS = 60_000;

/** Whether this agent may neither start nor be given anything to do. */
export function isHeld(state: AccountState | null, agent: string, nowMs: number): boolean {
	switch (state?.phase) {
		case undefined:
			return false;
		case "limited":
			return true;
		case "probing":
			return state.probe !== null && state.probe !== agent;
		case "releasing":
			return nowMs < (state.goAtMs[agent] ?? 0);
	}
}

/** The first that has something to do goes ahead. */
export function decideProbe(state: AccountState | null, agent: string): AccountState | null {
	if (state?.phase !== "probing" || state.probe !== null) return state;
	return { ...state, probe: agent };
}

/** The operator's word that this agent may go: it is the probe, or goes before its turn. */
export function decideAccountResume(
	state: AccountState | null,
	agent: string,
	nowMs: number,
): AccountState | null {
	if (state === null) return null;
	if (state.phase !== "releasing") return { ...probing(state, nowMs), probe: agent };
	return { ...state, goAtMs: { ...state.goAtMs, [agent]: nowMs } };
}

/** A turn that went well proves that the limit is gone. */
export function decideGoodTurn(
	state: AccountState | null,
	agent: string,
	turn: Turn,
	{ members, nowMs }: Pick<AdvanceFacts, "members" | "nowMs">,
): AccountState | null {
	if (state?.phase !== "probing" || state.probe !== agent) return state;
	return turn.limit === null && turn.atMs > state.sinceMs
		? releasing(state, members, nowMs)
		: state;
}

export interface AdvanceFacts {
	readonly nowMs: number;
	readonly minuteOfDay: (wallMs: number) => number;
	/** All agents of the account, in the order in which they are to follow. */
	readonly members: readonly string[];
	/** Whether an agent is ready; `gone` when it does not start by itself. */
	readonly lookAt: (agent: string) => "ready" | "not_ready" | "gone";
}

/** What time does to an account. Null when it is free. */
export function decideAdvance(state: AccountState, facts: AdvanceFacts): AccountState | null {
	const { nowMs, members } = facts;
	if (members.length === 0) return null;
	switch (state.phase) {
		case "limited": {
			if (state.untilMs === null || nowMs < state.untilMs) return state;
			const untilMs = afterQuiet(nowMs, state.settings, facts.minuteOfDay);
			return untilMs > nowMs ? { ...state, untilMs } : probing(state, nowMs);
		}
		case "probing": {
			if (state.probe === null) return state;
			const seen = members.includes(state.probe) ? facts.lookAt(state.probe) : "gone";
			if (seen === "gone") return { ...state, probe: null, readyAtMs: null };
			if (seen === "not_ready")
				return state.readyAtMs === null ? state : { ...state, readyAtMs: null };
			if (state.readyAtMs === null) return { ...state, readyAtMs: nowMs };
			return nowMs - state.readyAtMs < PROVEN_AFTER_MS ? state : releasing(state, members, nowMs);
		}
		case "releasing":
			return nowMs < Math.max(...Object.values(state.goAtMs), 0) ? state : null;
	}
}

function probing({ firstAtMs, hits, settings }: Common, nowMs: number): ProbingAccount {
	const common = { sinceMs: nowMs, firstAtMs, hits, settings };
	return { ...common, phase: "probing", probe: null, readyAtMs: null };
}

function releasing(
	{ firstAtMs, hits, settings, probe }: ProbingAccount,
	members: readonly string[],
	nowMs: number,
): ReleasingAccount {
	const others = members.filter((id) => id !== probe);
	const goAtMs = Object.fromEntries(others.map((id, n) => [id, nowMs + (n + 1) * STAGGER_MS]));
	return { phase: "releasing", sinceMs: nowMs, firstAtMs, hits, settings, goAtMs };
}

/** Why an agent of this account is held, and until when as far as that is known. */
export function renderHold(
	state: AccountState,
	agent: string,
): { readonly reason: string; readonly untilMs: number | null } {
	switch (state.phase) {
		case "limited":
			return { reason: state.reason, untilMs: state.untilMs };
		case "probing":
			return { reason: `usage limit: ${state.probe} tries whether it has lifted`, untilMs: null };
		case "releasing":
			return {
				reason: "usage limit has lifted: its turn comes",
				untilMs: state.goAtMs[agent] ?? null,
			};
	}
}

/**
 * A usage limit holds for an account, not for an agent. Whoever meets it first parks all agents of the
 * account; when it should have lifted, one of them goes ahead as a probe, and the others follow one
 * after the other once the probe has shown that it did. Pure: an account without a state is free.
 */

import type { KnownActivity } from "./activity.js";
import { backoffDelayMs } from "./backoff.js";
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
/** The other agents follow at this distance, or closer when there are many of them. */
export const STAGGER_MS = 5_000;
/** All other agents have followed after this long. */
const RELEASE_MS_MAX = 20_000;
/** Ends that are no further apart than this are one: "in 3 hours" is read at different moments. */
const SAME_END_MS = 2_000;
/** Spreads waits of unknown length, so that accounts that were limited together part. */
const JITTER = 0.1;

/** How an agent's last turn went. */
export interface Turn {
	readonly atMs: number;
	/**
	 * When its last request to the service can have begun at the earliest; null when that is unknown. An
	 * answer to a request that was accepted before the limit was hit says nothing about the limit.
	 */
	readonly beganAtMs: number | null;
	/** Whether the turn before it hit the limit, so that this one must have begun after that. */
	readonly afterLimit: boolean;
	/** The limit that it hit; null when it went well. */
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
	const index = signs.findLastIndex(({ failure }) => failure !== undefined);
	const sign = signs[index];
	const { failure } = sign ?? {};
	const begin = { beganAtMs: null, afterLimit: false };
	if (sign !== undefined && failure?.cause === "usage_limit") {
		return { ...begin, atMs: sign.atMs, limit: { resetAtMs: latestReset(signs, sign.atMs) } };
	}
	const good =
		sign !== undefined && failure === null ? goodTurn(signs.slice(0, index), sign) : null;
	const shown = known.activity === "rate_limited" && known.source === "screen";
	// The words of a limit may stay on the screen long after it.
	if (!shown || (good !== null && good.atMs > known.atMs)) return good;
	return { ...begin, atMs: known.atMs, limit: { resetAtMs: readShownReset() } };
}

/** Hook and record report one failed turn within this time. */
const ONE_TURN_MS = 5_000;

/** One report may have the exact end of a limit, and another the same end cut to the minute. */
function latestReset(signs: readonly AgentSign[], atMs: number): number | null {
	const ends = signs
		.filter((each) => each.failure?.cause === "usage_limit" && atMs - each.atMs < ONE_TURN_MS)
		.flatMap(({ failure }) => failure?.resetAtMs ?? []);
	return ends.length === 0 ? null : Math.max(...ends);
}

/** A request follows a prompt or the end of a tool. */
function goodTurn(before: readonly AgentSign[], { atMs }: AgentSign): Turn {
	const begin = before.findLast(({ prompt, inTool }) => prompt !== undefined || inTool === false);
	const outcome = before.findLast(({ failure }) => failure !== undefined);
	const afterLimit = outcome?.failure?.cause === "usage_limit";
	return { atMs, beganAtMs: begin?.atMs ?? null, afterLimit, limit: null };
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
	const told = isAhead(hit);
	if (before?.phase === "limited") {
		// Several agents meet one limit: what is told counts more than a guess, and the later end more.
		if (!told || before.untilMs === null) return before;
		if (before.told && (hit.resetAtMs ?? 0) <= before.untilMs + SAME_END_MS) return before;
		return limited(hit, told, before, context);
	}
	const { firstAtMs = nowMs, hits = 0 } = before ?? {};
	return limited(hit, told, { firstAtMs, hits: hits + 1 }, context);
}

function isOld(before: AccountState | null, hit: LimitHit, nowMs: number): boolean {
	if (before !== null) return hit.atMs <= before.sinceMs;
	const untilMs = isAhead(hit) ? hit.resetAtMs : hit.atMs + waitMs(hit, 1, 0, 0);
	return nowMs >= (untilMs ?? 0);
}

function isAhead({ atMs, resetAtMs }: LimitHit): boolean {
	return resetAtMs !== null && resetAtMs > atMs;
}

/**
 * A limit that should have lifted already is tried again after this long, doubling up to the cap. One probe, and the
 * others after it, so that all have continued within a minute of the moment at which the limit lifts.
 */
const OVERDUE = { initialMs: 5_000, capMs: 30_000 };

/** How long to wait for a limit whose end is not ahead: it has just passed, or it is unknown. */
function waitMs({ resetAtMs }: LimitHit, hits: number, jitter: number, random: number): number {
	if (resetAtMs === null) return limitDelayMs(null, hits, jitter, random);
	return backoffDelayMs({ ...OVERDUE, jitter }, Math.max(1, hits - 1), random);
}

function limited(
	hit: LimitHit,
	told: boolean,
	{ firstAtMs, hits }: Pick<Common, "firstAtMs" | "hits">,
	{ settings, nowMs, minuteOfDay, random }: LimitContext,
): LimitedAccount {
	const resetInMs = Math.max(1, (hit.resetAtMs ?? 0) - nowMs);
	const liftsInMs = told ? limitDelayMs(resetInMs, 0, 0, 0) : waitMs(hit, hits, JITTER, random);
	const liftsAtMs = nowMs + liftsInMs;
	const goAtMs = afterQuiet(liftsAtMs, settings, minuteOfDay);
	const tooLong = goAtMs - firstAtMs > settings.maxWaitMs;
	return {
		phase: "limited",
		sinceMs: nowMs,
		firstAtMs,
		hits,
		settings,
		told,
		untilMs: settings.autoResume && !tooLong ? goAtMs : null,
		reason: reasonOf(hit, { told, tooLong, quiet: goAtMs > liftsAtMs }, settings),
	};
}

function reasonOf(
	{ resetAtMs }: LimitHit,
	{ told, tooLong, quiet }: { told: boolean; tooLong: boolean; quiet: boolean },
	{ autoResume, maxWaitMs }: UsageLimitSettings,
): string {
	if (!autoResume) return "usage limit: run `reeve resume` to continue (auto_resume is off)";
	if (tooLong) {
		const bound = `max_wait (${renderDuration(maxWaitMs)})`;
		return `the usage limit lasts longer than ${bound}: run \`reeve resume\` to continue`;
	}
	return `usage limit, ${endOf(told, resetAtMs)}${quiet ? " and the quiet hours are over" : ""}`;
}

function endOf(told: boolean, resetAtMs: number | null): string {
	if (told) return "parked until it lifts";
	if (resetAtMs === null) return "reset time unknown: parked until the next attempt";
	return "its reset time has passed: parked until the next attempt";
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

/** A turn of any agent of the account that began after the limit was hit and went well proves that the limit is gone. */
export function decideGoodTurn(
	state: AccountState | null,
	agent: string,
	turn: Turn,
	{ members, nowMs }: Pick<AdvanceFacts, "members" | "nowMs">,
): AccountState | null {
	if (state === null || state.phase === "releasing") return state;
	const { atMs, beganAtMs, afterLimit, limit } = turn;
	if (limit !== null || atMs <= state.sinceMs) return state;
	const isProbe = state.phase === "probing" && state.probe === agent;
	const isNew = afterLimit || (beganAtMs !== null && beganAtMs > state.sinceMs);
	return isProbe || isNew ? releasing(state, agent, members, nowMs) : state;
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
			return nowMs - state.readyAtMs < PROVEN_AFTER_MS
				? state
				: releasing(state, state.probe, members, nowMs);
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
	{ firstAtMs, hits, settings }: Common,
	first: string,
	members: readonly string[],
	nowMs: number,
): ReleasingAccount {
	const others = members.filter((id) => id !== first);
	const gapMs = Math.min(STAGGER_MS, RELEASE_MS_MAX / Math.max(1, others.length));
	const goAtMs = Object.fromEntries(
		others.map((id, n) => [id, nowMs + Math.round((n + 1) * gapMs)]),
	);
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
			return {
				reason: `usage limit: ${state.probe} is checking whether it has lifted`,
				untilMs: null,
			};
		case "releasing":
			return {
				reason: "the usage limit has lifted: the agents of the account start one after the other",
				untilMs: state.goAtMs[agent] ?? null,
			};
	}
}

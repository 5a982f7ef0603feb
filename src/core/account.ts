/**
 * A usage limit applies to an account, not to an agent. The first agent that hits it parks all agents
 * of the account. When the limit should have lifted, one agent probes it, and the others follow one by
 * one once the probe has succeeded. Pure: an account without a state is not limited.
 */

import { backoffDelayMs } from "./backoff.js";
import type { Turn } from "./last-turn.js";
import { limitDelayMs } from "./own-cause.js";
import { renderDuration } from "./units.js";

export interface UsageLimitSettings {
	/** Whether agents continue automatically once the limit lifts. */
	readonly autoResume: boolean;
	/**
	 * From and to, in minutes of the day: no agent continues in this time. Spans midnight if `from` is
	 * later.
	 */
	readonly quietHours: { readonly fromMinute: number; readonly toMinute: number } | null;
	/** An agent whose wait would be longer waits for the operator instead. */
	readonly maxWaitMs: number;
}

/** Weekly limits are the longest common ones. */
export const DEFAULT_USAGE_LIMIT: UsageLimitSettings = Object.freeze({
	autoResume: true,
	quietHours: null,
	maxWaitMs: 8 * 86_400_000,
});

interface Common {
	/** Start of this phase, in wall time. */
	readonly sinceMs: number;
	/** When the limit was first hit since the account was last unlimited. */
	readonly firstAtMs: number;
	/** How often it was hit since then, each time by the probing agent. */
	readonly hits: number;
	/** Of the agent that hit the limit. */
	readonly settings: UsageLimitSettings;
}

export interface LimitedAccount extends Common {
	readonly phase: "limited";
	/** Whether the service has reported when the limit lifts. */
	readonly endKnown: boolean;
	/** When a probe may start; null if only the operator can start one. */
	readonly untilMs: number | null;
	readonly reason: string;
	/** The host whose agent hit it; omitted if it is this one. */
	readonly host?: string;
}

export interface ProbingAccount extends Common {
	readonly phase: "probing";
	/** Null until an agent of the account has work to do. */
	readonly probe: string | null;
	/** When the probe became ready. */
	readonly readyAtMs: number | null;
	/** The host of the probe; omitted if it is this one. */
	readonly host?: string;
}

export interface ReleasingAccount extends Common {
	readonly phase: "releasing";
	/** When each of the other agents may continue. */
	readonly goAtMs: Readonly<Record<string, number>>;
}

/** Plain data, stored as JSON. */
export type AccountState = LimitedAccount | ProbingAccount | ReleasingAccount;

/** The state as it was stored: earlier versions have `told` instead of `endKnown`. */
export function readAccountState(stored: AccountState): AccountState {
	if (stored.phase !== "limited" || !("told" in stored)) return stored;
	const { told, ...state } = stored;
	return { ...state, endKnown: told === true };
}

/** A probe that has been ready for this long without hitting the limit proves that it has lifted. */
export const PROVEN_AFTER_MS = 60_000;
/** Delay between the other agents, shorter if there are many. */
export const STAGGER_MS = 5_000;
/** All other agents have continued after this time. */
const RELEASE_MS_MAX = 20_000;
/** Reset times within this distance are the same: "in 3 hours" is read at different moments. */
const SAME_END_MS = 2_000;
/**
 * Spreads waits of unknown length, so that accounts that were limited together do not retry together.
 */
const JITTER = 0.1;

export interface LimitHit {
	/** An exit is always new; a turn may be read again by a later daemon. */
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

/**
 * The state of an account after one of its agents has hit a limit; unchanged if that is already known.
 */
export function decideLimit(
	before: AccountState | null,
	hit: LimitHit,
	context: LimitContext,
): AccountState | null {
	const { nowMs } = context;
	if (hit.by === "turn" && isOld(before, hit, nowMs)) return before;
	const endKnown = isAhead(hit);
	if (before?.phase === "limited") {
		// Several agents report one limit: a reported end takes precedence over a guess, and a later end
		// over an earlier one.
		if (!endKnown || before.untilMs === null) return before;
		if (before.endKnown && (hit.resetAtMs ?? 0) <= before.untilMs + SAME_END_MS) return before;
		return limited(hit, endKnown, before, context);
	}
	const { firstAtMs = nowMs, hits = 0 } = before ?? {};
	return limited(hit, endKnown, { firstAtMs, hits: hits + 1 }, context);
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

/** How long to wait for a limit whose end has just passed or is unknown. */
function waitMs({ resetAtMs }: LimitHit, hits: number, jitter: number, random: number): number {
	if (resetAtMs === null) return limitDelayMs(null, hits, jitter, random);
	return backoffDelayMs({ ...OVERDUE, jitter }, Math.max(1, hits - 1), random);
}

function limited(
	hit: LimitHit,
	endKnown: boolean,
	{ firstAtMs, hits }: Pick<Common, "firstAtMs" | "hits">,
	{ settings, nowMs, minuteOfDay, random }: LimitContext,
): LimitedAccount {
	const resetInMs = Math.max(1, (hit.resetAtMs ?? 0) - nowMs);
	const liftsInMs = endKnown ? limitDelayMs(resetInMs, 0, 0, 0) : waitMs(hit, hits, JITTER, random);
	const liftsAtMs = nowMs + liftsInMs;
	const goAtMs = afterQuiet(liftsAtMs, settings, minuteOfDay);
	const tooLong = goAtMs - firstAtMs > settings.maxWaitMs;
	return {
		phase: "limited",
		sinceMs: nowMs,
		firstAtMs,
		hits,
		settings,
		endKnown,
		untilMs: settings.autoResume && !tooLong ? goAtMs : null,
		reason: reasonOf(hit, { endKnown, tooLong, quiet: goAtMs > liftsAtMs }, settings),
	};
}

function reasonOf(
	{ resetAtMs }: LimitHit,
	{ endKnown, tooLong, quiet }: { endKnown: boolean; tooLong: boolean; quiet: boolean },
	{ autoResume, maxWaitMs }: UsageLimitSettings,
): string {
	if (!autoResume) return "usage limit: run `reeve resume` to continue (auto_resume is off)";
	if (tooLong) {
		const bound = `max_wait (${renderDuration(maxWaitMs)})`;
		return `the usage limit lasts longer than ${bound}: run \`reeve resume\` to continue`;
	}
	return `usage limit, ${endOf(endKnown, resetAtMs)}${quiet ? " and the quiet hours are over" : ""}`;
}

function endOf(endKnown: boolean, resetAtMs: number | null): string {
	if (endKnown) return "parked until it lifts";
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

/** Whether this agent may neither start nor receive messages. */
export function isHeld(state: AccountState | null, agent: string, nowMs: number): boolean {
	switch (state?.phase) {
		case undefined:
			return false;
		case "limited":
			return true;
		case "probing":
			return state.probe !== null && (state.probe !== agent || state.host !== undefined);
		case "releasing":
			return nowMs < (state.goAtMs[agent] ?? 0);
	}
}

/** The first agent with work to do becomes the probe. */
export function decideProbe(state: AccountState | null, agent: string): AccountState | null {
	if (state?.phase !== "probing" || state.probe !== null) return state;
	return { ...state, probe: agent };
}

/** The probe on another host is given up. */
export function withoutProbe({ host: _, ...state }: ProbingAccount): ProbingAccount {
	return { ...state, probe: null, readyAtMs: null };
}

/** The operator resumed this agent: it becomes the probe, or continues before its turn. */
export function decideAccountResume(
	state: AccountState | null,
	agent: string,
	nowMs: number,
): AccountState | null {
	if (state === null) return null;
	if (state.phase !== "releasing") return { ...probing(state, nowMs), probe: agent };
	return { ...state, goAtMs: { ...state.goAtMs, [agent]: nowMs } };
}

/**
 * A successful turn of any agent of the account that started after the limit was hit proves that the
 * limit has lifted.
 */
export function decideGoodTurn(
	state: AccountState | null,
	agent: string,
	turn: Turn,
	{ members, nowMs }: Pick<AdvanceFacts, "members" | "nowMs">,
): AccountState | null {
	if (state === null || state.phase === "releasing") return state;
	const { atMs, beganAtMs, afterLimit, limit } = turn;
	if (limit !== null || atMs <= state.sinceMs) return state;
	const isProbe = state.phase === "probing" && state.probe === agent && state.host === undefined;
	const isNew = afterLimit || (beganAtMs !== null && beganAtMs > state.sinceMs);
	return isProbe || isNew ? releasing(state, agent, members, nowMs) : state;
}

export interface AdvanceFacts {
	readonly nowMs: number;
	readonly minuteOfDay: (wallMs: number) => number;
	/** All agents of the account, in the order in which they continue. */
	readonly members: readonly string[];
	/** Whether an agent is ready; `gone` if it does not start by itself. */
	readonly lookAt: (agent: string) => "ready" | "not_ready" | "gone";
}

/** The state of an account after time has passed; null if it is not limited. */
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
			// The host of the probe decides.
			if (state.probe === null || state.host !== undefined) return state;
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

/** The agents continue one after another; `first` has done so already. */
export function releasing(
	{ firstAtMs, hits, settings }: Common,
	first: string | null,
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

export function limitReason({ reason, host }: LimitedAccount): string {
	return host === undefined ? reason : `${reason} (hit on host ${host})`;
}

/** Why an agent of this account is held, and until when if known. */
export function renderHold(
	state: AccountState,
	agent: string,
): { readonly reason: string; readonly untilMs: number | null } {
	switch (state.phase) {
		case "limited":
			return { reason: limitReason(state), untilMs: state.untilMs };
		case "probing":
			return {
				reason: `usage limit: ${state.probe}${onHost(state.host)} is checking whether it has lifted`,
				untilMs: null,
			};
		case "releasing":
			return {
				reason: "the usage limit has lifted: the agents of the account start one after the other",
				untilMs: state.goAtMs[agent] ?? null,
			};
	}
}

const onHost = (host: string | undefined) => (host === undefined ? "" : ` on ${host}`);

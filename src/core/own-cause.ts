/**
 * Exits with their own cause. None of them counts as a crash, but none may loop unnoticed: causes that
 * a retry cannot fix halt the agent immediately (S14), temporary ones are retried with growing delays,
 * and out-of-memory kills have their own counter (S16).
 */

import { backoffDelayMs, type Random } from "./backoff.js";
import {
	type CrashAction,
	type CrashContext,
	type CrashState,
	isBudgetUsed,
	lastOf,
} from "./crash-state.js";
import { type ExitReport, renderExit } from "./exit.js";
import { failureDelayMs, longestDelayMs, restartAfter } from "./restart-delay.js";
import { renderDuration, renderElapsed } from "./units.js";

/** The maximum delay for external problems (overload, an exhausted host). */
const TROUBLE_DELAY_MS_MAX = 300_000;
/** Prevents a hot loop if the fleet file configures no delay. */
const TROUBLE_DELAY_MS_MIN = 1_000;
/** The minimum delay before a limit is tried again; the longest known limit is the maximum. */
const LIMIT_DELAY_MS_MIN = 1_000;
const LIMIT_RESET_MS_MAX = 31 * 86_400_000;
/** A usage limit with an unknown end is tried again after this time, doubling up to the cap. */
const LIMIT_DELAY_MS = 300_000;
const LIMIT_DELAY_MS_MAX = 3_600_000;

export interface OwnCauseVerdict {
	readonly state: CrashState;
	readonly action: CrashAction;
	readonly reason: string;
}

/** Parks the agent until the limit lifts. */
export function decideUsageLimit(
	state: CrashState,
	report: ExitReport,
	{ settings, random }: CrashContext,
): OwnCauseVerdict {
	// A reset time in the past is ignored: the limit was hit after it.
	if (report.resetInMs !== null && report.resetInMs > 0) {
		const afterMs = limitDelayMs(report.resetInMs, 0, settings.jitter, random);
		const reason = `usage limit, resets in ${renderElapsed(afterMs)}: parked, not counted`;
		return { state, action: { type: "park", afterMs }, reason };
	}
	const limit = state.waits.limit + 1;
	const afterMs = limitDelayMs(null, limit, settings.jitter, random);
	const reason = "usage limit, reset time unknown: parked, not counted";
	const waits = { ...state.waits, limit };
	return { state: { ...state, waits }, action: { type: "park", afterMs }, reason };
}

/** How long to wait for a limit: until its end if known, otherwise longer with every attempt. */
export function limitDelayMs(
	resetInMs: number | null,
	tries: number,
	jitter: number,
	random: Random,
): number {
	if (resetInMs !== null) {
		return Math.max(LIMIT_DELAY_MS_MIN, Math.min(resetInMs, LIMIT_RESET_MS_MAX));
	}
	const growth = { initialMs: LIMIT_DELAY_MS, capMs: LIMIT_DELAY_MS_MAX, jitter };
	return backoffDelayMs(growth, tries, random);
}

/** Waits for an external problem to pass. */
export function decideTrouble(why: string) {
	return (
		state: CrashState,
		report: ExitReport,
		{ settings, random }: CrashContext,
	): OwnCauseVerdict => {
		const initialMs = Math.max(settings.transientDelayMs, TROUBLE_DELAY_MS_MIN);
		const capMs = Math.max(initialMs, TROUBLE_DELAY_MS_MAX);
		const trouble = state.waits.trouble + 1;
		const afterMs = backoffDelayMs({ initialMs, capMs, jitter: settings.jitter }, trouble, random);
		return {
			state: { ...state, waits: { ...state.waits, trouble } },
			action: { type: "restart", afterMs, withContinue: true },
			reason: withDetail(`${why}: backing off, not counted`, report),
		};
	};
}

/** Halts the agent after `haltThreshold` out-of-memory kills within the budget's time span. */
export function decideOutOfMemory(
	state: CrashState,
	report: ExitReport,
	{ settings, random }: CrashContext,
): OwnCauseVerdict {
	const { haltThreshold, budget } = settings;
	const outOfMemoryAt = lastOf([...state.outOfMemoryAt, state.runningMs], haltThreshold);
	const failures = (state.failures ?? 0) + 1;
	const span = `within ${renderDuration(budget.withinMs)} of running time`;
	const isLoop = isBudgetUsed(outOfMemoryAt, { exits: haltThreshold, withinMs: budget.withinMs });
	if (isLoop && settings.halt !== "never") {
		return {
			state: { ...state, outOfMemoryAt, failures, policy: "halted" },
			action: { type: "halt" },
			reason: `out of memory ${haltThreshold} times ${span}: raise limits.memory or reduce the agent's memory use`,
		};
	}
	const recent = outOfMemoryAt.filter((atMs) => state.runningMs - atMs <= budget.withinMs).length;
	const delayMs = isLoop ? longestDelayMs(settings) : failureDelayMs(settings, failures, true);
	return {
		state: { ...state, outOfMemoryAt, failures, policy: "degraded" },
		action: restartAfter(delayMs, settings.jitter, random),
		reason: withDetail(`out of memory, ${recent} of ${haltThreshold} ${span}`, report),
	};
}

/** Halts the agent immediately: only the operator can fix the cause. */
export function decideIncurable(why: string) {
	return (state: CrashState, report: ExitReport): OwnCauseVerdict => {
		const known = report.code !== null || report.signal !== null;
		return {
			state: { ...state, policy: "halted" },
			action: { type: "halt" },
			reason: withDetail(known ? `${renderExit(report)}: ${why}` : why, report),
		};
	};
}

function withDetail(reason: string, report: ExitReport): string {
	return report.detail === null ? reason : `${reason}: ${report.detail}`;
}

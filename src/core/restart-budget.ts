/** Shared arithmetic of restart decisions: bounded lists, budgets, delays. */

import { type Random, spreadMs } from "./backoff.js";
import type { CrashAction, CrashPolicySettings } from "./crash-state.js";

/** The newest `size` entries; unlike a bare `slice(-size)`, none if the size is 0. */
export function lastOf<T>(entries: readonly T[], size: number): readonly T[] {
	return entries.slice(Math.max(0, entries.length - size));
}

/** Whether the newest `exits` times, oldest first, are all within one span. */
export function isBudgetUsed(
	momentsMs: readonly number[],
	budget: { readonly exits: number; readonly withinMs: number },
): boolean {
	const newestMs = momentsMs.at(-1);
	const oldestMs = momentsMs.at(-budget.exits);
	if (newestMs === undefined || oldestMs === undefined) return false;
	return newestMs - oldestMs <= budget.withinMs;
}

/** The delay before the restart after this many failures in a row, the last of them flapping or not. */
export function failureDelayMs(
	{ delay, transientDelayMs, flappingDelayMs }: CrashPolicySettings,
	failures: number,
	flapping: boolean,
): number {
	if (delay === null) return flapping ? flappingDelayMs : transientDelayMs;
	const { initialMs, factor, maxMs } = delay;
	// 0 · ∞ would be NaN: an initial delay of 0 stays 0 however often it is multiplied.
	if (initialMs === 0) return 0;
	return Math.min(maxMs, initialMs * factor ** (Math.max(failures, 1) - 1));
}

/** The longest delay between restarts, used where `halt: never` retries what would otherwise halt. */
export function longestDelayMs({ delay, flappingDelayMs }: CrashPolicySettings): number {
	return delay?.maxMs ?? flappingDelayMs;
}

/** A restart after this delay, extended by the jitter (S5). */
export function restartAfter(delayMs: number, jitter: number, random: Random): CrashAction {
	const capMs = delayMs * (1 + jitter);
	const afterMs = spreadMs(delayMs, { floorMs: delayMs, capMs, jitter, random });
	return { type: "restart", afterMs, withContinue: true };
}

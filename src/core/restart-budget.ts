/** Shared arithmetic of restart decisions: bounded lists, budgets, delays. */

import { type Random, spreadMs } from "./backoff.js";
import type { CrashAction } from "./crash-state.js";

/** The newest `size` entries; unlike a bare `slice(-size)`, none if the size is 0. */
export function lastOf<T>(entries: readonly T[], size: number): readonly T[] {
	return entries.slice(Math.max(0, entries.length - size));
}

/** Whether the newest `exits` times, oldest first, are all within one span. */
export function isSpent(
	momentsMs: readonly number[],
	budget: { readonly exits: number; readonly withinMs: number },
): boolean {
	const newestMs = momentsMs.at(-1);
	const oldestMs = momentsMs.at(-budget.exits);
	if (newestMs === undefined || oldestMs === undefined) return false;
	return newestMs - oldestMs <= budget.withinMs;
}

/** A restart after this delay, extended by the jitter (S5). */
export function restartAfter(delayMs: number, jitter: number, random: Random): CrashAction {
	const capMs = delayMs * (1 + jitter);
	const afterMs = spreadMs(delayMs, { floorMs: delayMs, capMs, jitter, random });
	return { type: "restart", afterMs, withContinue: true };
}

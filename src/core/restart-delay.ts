/**
 * The back-off of restarts after a crash: how long an agent waits, by its `crash_policy` and the number
 * of its failures. Retries and other waits use `backoff`.
 */

import { type Random, spreadMs } from "./backoff.js";
import type { CrashAction, CrashPolicySettings } from "./crash-state.js";

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

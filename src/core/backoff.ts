/**
 * Delays before a retry. They double from a base to a cap; jitter spreads them, so that a hundred agents that died
 * together do not restart together. The random number is an argument, so the same facts always give the same delay.
 *
 * Keeps S5: base ≤ delay ≤ cap, with and without jitter.
 */

/** How delays grow: from `initialMs`, doubled each time, up to `capMs`. */
export interface BackoffSettings {
	readonly initialMs: number;
	readonly capMs: number;
	/** Random variation as a fraction of the delay: 0 turns it off, 0.2 varies by 20 %. */
	readonly jitter: number;
}

/** A number in [0, 1), drawn by the caller. */
export type Random = number;

/** The delay before attempt `attempt + 1`, after `attempt` (1 or more) attempts have failed. */
export function backoffDelayMs(settings: BackoffSettings, attempt: number, random: Random): number {
	const { capMs, jitter } = settings;
	const floorMs = Math.min(settings.initialMs, capMs);
	// After 60 doublings every delay has reached its cap; without the bound 0 · ∞ would be NaN.
	const doublings = Math.min(Math.max(attempt, 1) - 1, 60);
	const exactMs = Math.min(capMs, floorMs * 2 ** doublings);
	return spreadMs(exactMs, { floorMs, capMs, jitter, random });
}

/**
 * One delay with jitter: upwards, and downwards if the cap leaves no room above, because capped delays
 * need the spread most.
 */
export function spreadMs(
	delayMs: number,
	bounds: { floorMs: number; capMs: number; jitter: number; random: Random },
): number {
	const highestMs = Math.min(bounds.capMs, delayMs * (1 + bounds.jitter));
	const lowestMs = Math.max(bounds.floorMs, Math.min(delayMs, highestMs / (1 + bounds.jitter)));
	return Math.round(lowestMs + (highestMs - lowestMs) * bounds.random);
}

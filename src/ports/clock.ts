/** The engine's sources of time. The real clock is in the daemon, a manual one in `reeve/testing`. */

import type { Instant } from "../core/time.js";

/** A source of time and timers. */
export interface Clock {
	now(): Instant;
	/** Runs `task` once after this much steady time. Call the returned function to cancel. */
	schedule(afterMs: number, task: () => void): () => void;
}

/** A day in the host's calendar. */
export interface Day {
	/** `2031-04-05`. */
	readonly day: string;
	readonly endsAtMs: number;
}

/** Wall times in the host's calendar. */
export interface Calendar {
	readonly dayOf: (wallMs: number) => Day;
	/** For quiet hours. */
	readonly minuteOfDay: (wallMs: number) => number;
}

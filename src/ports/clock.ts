/** The engine's source of time. The real clock is in the daemon, a manual one in `reeve/testing`. */

import type { Instant } from "../core/time.js";

/** A source of time and timers. */
export interface Clock {
	now(): Instant;
	/** Runs `task` once after this much steady time. Call the returned function to cancel. */
	schedule(afterMs: number, task: () => void): () => void;
}

/** What the engine asks of time. The real clock lives in the daemon, a manual one in `reeve/testing`. */

import type { Instant } from "../core/time.js";

/** A source of time and timers. */
export interface Clock {
	now(): Instant;
	/** Runs `task` once, when this much steady time has passed. Call the returned function to cancel. */
	schedule(afterMs: number, task: () => void): () => void;
}

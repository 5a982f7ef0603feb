/**
 * Two kinds of time that are never mixed. Decisions use steady time, which no one can set and which
 * only moves forwards; wall time is what people read, and may jump by a day either way (B7).
 */

/** A point in time, in steady time for decisions and in wall time for display. */
export interface Instant {
	/** Milliseconds on a clock that never jumps. Only differences within one boot are meaningful. */
	readonly steadyMs: number;
	/** Milliseconds since 1970, for display. */
	readonly wallMs: number;
}

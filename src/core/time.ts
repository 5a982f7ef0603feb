/**
 * Two kinds of time that are never mixed. Decisions use steady time, which cannot be set and only moves
 * forward; wall time is for display, and may jump in either direction (B7).
 */

/** A point in time, in steady time for decisions and in wall time for display. */
export interface Instant {
	/** Milliseconds on a clock that never jumps. Only differences within one boot are meaningful. */
	readonly steadyMs: number;
	/** Milliseconds since 1970, for display. */
	readonly wallMs: number;
}

/**
 * Two kinds of time that are never mixed. Decisions use steady time, which no one can set and which
 * only moves forwards; wall time is what people read, and may jump by a day either way (B7).
 */
export interface Instant {
	/** Milliseconds on a clock that never steps. Only differences mean anything, and only within one boot. */
	readonly steadyMs: number;
	/** Milliseconds since 1970, for showing to people. */
	readonly wallMs: number;
}

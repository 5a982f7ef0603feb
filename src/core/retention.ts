/**
 * How much of what is over is kept. History is for people and readers that resume; no decision rests on
 * it (the crash policy has a memory of its own), so it may be cut at any time.
 *
 * Age is counted by the wall clock, which may be set: so the newest are kept however old they seem.
 */

export interface Retention {
	/** Older than this is not kept, beyond the newest. */
	readonly ageMsMax: number;
	readonly eventsMax: number;
	/** Kept whatever their age. */
	readonly eventsMin: number;
	/** Of each agent. */
	readonly exitsMax: number;
	readonly exitsMin: number;
	/** Tasks that have ended, with all that is known of them, and plans. Dead letters wait for somebody. */
	readonly tasksMax: number;
	readonly tasksMin: number;
}

export const DEFAULT_RETENTION: Retention = Object.freeze({
	ageMsMax: 30 * 86_400_000,
	eventsMax: 50_000,
	eventsMin: 1_000,
	exitsMax: 200,
	exitsMin: 20,
	tasksMax: 50_000,
	tasksMin: 1_000,
});

/**
 * The number of the newest event that is not kept, 0 when all are. `youngSeq` is the oldest event that is
 * young enough, null when none is. The newest event always stays: numbers go on from it (A3).
 */
export function decideEventCut(
	{ lastSeq, youngSeq }: { readonly lastSeq: number; readonly youngSeq: number | null },
	{ eventsMax, eventsMin }: Retention,
): number {
	const tooMany = lastSeq - Math.max(1, eventsMax);
	const tooOld = Math.min((youngSeq ?? lastSeq + 1) - 1, lastSeq - Math.max(1, eventsMin));
	return Math.max(0, tooMany, tooOld);
}

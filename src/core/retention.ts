/**
 * How much history is kept. History is for users and clients that resume; no decision depends on it (the crash policy
 * has its own state), so it may be removed at any time.
 *
 * Age is measured by the wall clock, which may be set, so the newest entries are kept regardless of their age.
 */

export interface Retention {
	/** Older entries are removed, except the newest. */
	readonly ageMsMax: number;
	readonly eventsMax: number;
	/** Kept regardless of their age. */
	readonly eventsMin: number;
	/** Per agent. */
	readonly exitsMax: number;
	readonly exitsMin: number;
	/** Finished tasks, with all their data, and plans. Dead letters are kept for the operator. */
	readonly tasksMax: number;
	readonly tasksMin: number;
	/** Decided slots, per schedule. */
	readonly slotsMax: number;
	readonly slotsMin: number;
}

export const DEFAULT_RETENTION: Retention = Object.freeze({
	ageMsMax: 30 * 86_400_000,
	eventsMax: 50_000,
	eventsMin: 1_000,
	exitsMax: 200,
	exitsMin: 20,
	tasksMax: 50_000,
	tasksMin: 1_000,
	slotsMax: 1_000,
	slotsMin: 50,
});

/**
 * The number of the newest event to remove, 0 for none. `youngSeq` is the oldest event that is young
 * enough, null if there is none. The newest event always stays, because numbers continue from it (A3).
 */
export function decideEventCut(
	{ lastSeq, youngSeq }: { readonly lastSeq: number; readonly youngSeq: number | null },
	{ eventsMax, eventsMin }: Retention,
): number {
	const tooMany = lastSeq - Math.max(1, eventsMax);
	const tooOld = Math.min((youngSeq ?? lastSeq + 1) - 1, lastSeq - Math.max(1, eventsMin));
	return Math.max(0, tooMany, tooOld);
}

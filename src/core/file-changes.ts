/**
 * When changes of watched files restart an agent. A burst of changes, such as a checkout, is one restart: it waits until
 * nothing has changed for a moment. An agent that changes its own watched files would restart forever, so the number of
 * restarts within a minute is limited.
 */

/** Nothing has changed for this long. */
const CHANGES_QUIET_MS = 1_000;
/** Changes that never stop are not waited for longer than this. */
const CHANGES_WAIT_MS_MAX = 60_000;

export const WATCH_RESTARTS_MAX = 5;
export const WATCH_RESTARTS_WITHIN_MS = 60_000;

/** Changed files whose names are kept; more are only counted. */
const NAMES_MAX = 5;

/** The changes since the last restart. Times are steady. */
export interface FileChanges {
	readonly firstMs: number;
	readonly lastMs: number;
	/** The first ones, without repeats. */
	readonly files: readonly string[];
	/** Whether other files have changed too. */
	readonly more: boolean;
}

export function noteChange(before: FileChanges | null, file: string, nowMs: number): FileChanges {
	if (before === null) return { firstMs: nowMs, lastMs: nowMs, files: [file], more: false };
	const isKnown = before.files.includes(file);
	const isFull = before.files.length >= NAMES_MAX;
	return {
		firstMs: before.firstMs,
		lastMs: nowMs,
		files: isKnown || isFull ? before.files : [...before.files, file],
		more: before.more || (isFull && !isKnown),
	};
}

export type WatchDecision =
	| { readonly restart: true }
	/** `tooMany`: the limit of restarts is reached, which is to be reported. */
	| { readonly restart: false; readonly afterMs: number; readonly tooMany: boolean };

/** `restartsAtMs`: the restarts because of changes, oldest first. */
export function decideWatchRestart(
	changes: FileChanges,
	restartsAtMs: readonly number[],
	nowMs: number,
): WatchDecision {
	const quietAtMs = changes.lastMs + CHANGES_QUIET_MS;
	const dueAtMs = Math.min(quietAtMs, changes.firstMs + CHANGES_WAIT_MS_MAX);
	if (nowMs < dueAtMs) return { restart: false, afterMs: dueAtMs - nowMs, tooMany: false };
	const oldest = restartsAtMs.at(-WATCH_RESTARTS_MAX);
	const freeAtMs = oldest === undefined ? nowMs : oldest + WATCH_RESTARTS_WITHIN_MS;
	if (nowMs < freeAtMs) return { restart: false, afterMs: freeAtMs - nowMs, tooMany: true };
	return { restart: true };
}

/** `src/a.js changed`, `src/a.js, src/b.js and others changed`. */
export function renderChanges({ files, more }: Pick<FileChanges, "files" | "more">): string {
	const last = more ? "others" : files.at(-1);
	const first = more ? files : files.slice(0, -1);
	const named = first.length === 0 ? last : `${first.join(", ")} and ${last}`;
	return `${named} changed`;
}

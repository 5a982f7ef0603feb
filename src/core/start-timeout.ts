/** When a start that never becomes ready has failed. */

import type { ScreenProfile } from "./adapter.js";
import { plainLine } from "./safe-text.js";
import type { Activity } from "./states.js";

const DEFAULT_START_TIMEOUT_MS = 180_000;
/** Of the screen, in the event. */
const LINES_MAX = 8;
const LINE_LENGTH_MAX = 200;

/**
 * How long a start may take; null for no limit. A program counts as ready immediately unless its adapter or `ready`
 * defines when it is, so only an adapter that knows the ready screen of its CLI has a default.
 */
export function startTimeoutMs(
	setMs: number | null | undefined,
	screen: Pick<ScreenProfile, "ready"> | null,
): number | null {
	const knowsReady = screen !== null && screen.ready.length > 0;
	const timeoutMs = setMs ?? (knowsReady ? DEFAULT_START_TIMEOUT_MS : 0);
	return timeoutMs > 0 ? timeoutMs : null;
}

export interface StartFacts {
	/** Null if unknown. */
	readonly activity: Activity | null;
	/** Whether its account waits for a usage limit. */
	readonly isHeld: boolean;
	/** Whether a person has typed into it, which can hide the screen that shows that it is ready. */
	readonly hasDraft: boolean;
	readonly nowMs: number;
}

/**
 * When the timeout of the start begins. A question for a person, or a limit, does not count and is
 * reported separately; neither does text that a person has typed, which would be lost.
 */
export function startSinceMs(
	sinceMs: number,
	{ activity, isHeld, hasDraft, nowMs }: StartFacts,
): number {
	const waits = isHeld || hasDraft || activity === "waiting_input" || activity === "rate_limited";
	return waits ? nowMs : sinceMs;
}

/** The last non-empty lines of a screen, safe to store and to show. */
export function lastLines(screen: string): readonly string[] {
	return screen
		.split("\n")
		.map((line) => plainLine(line).replaceAll(/\s+/g, " ").trim())
		.filter((line) => /[\p{L}\p{N}]/u.test(line))
		.slice(-LINES_MAX)
		.map((line) => line.slice(0, LINE_LENGTH_MAX));
}

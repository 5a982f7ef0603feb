/**
 * Whether an agent that says it works has come to a standstill. Only a deadline on progress finds
 * that: the process lives, the screen moves, no hook fires. A tool may be silent for hours, so an agent
 * that is known to run one is left alone.
 */

import type { Activity } from "./states.js";

export const STALL_STEPS = ["interrupt", "restart"] as const;
export type StallStep = (typeof STALL_STEPS)[number];

export interface StallSettings {
	/** No progress for this long while busy is a standstill. */
	readonly afterMs: number;
	/** What is done about it, one after the other, each after as long again. */
	readonly steps: readonly StallStep[];
}

export interface StallState {
	/** Steady time of the last progress, or of the last step that was taken. */
	readonly sinceMs: number;
	/** How often it was found at a standstill since it last made progress. */
	readonly found: number;
}

export interface StallFacts {
	readonly activity: Activity;
	readonly progress: boolean;
	readonly inTool: boolean;
	readonly nowMs: number;
}

export interface StallDecision {
	readonly state: StallState;
	/** `notice` the first time, whatever else is done. */
	readonly step: StallStep | "notice" | null;
}

export function decideStall(
	state: StallState,
	{ activity, progress, inTool, nowMs }: StallFacts,
	{ afterMs, steps }: StallSettings,
): StallDecision {
	if (progress || inTool || activity !== "busy") {
		return { state: { sinceMs: nowMs, found: 0 }, step: null };
	}
	if (nowMs - state.sinceMs < afterMs || state.found > steps.length) return { state, step: null };
	const next = { sinceMs: nowMs, found: state.found + 1 };
	if (state.found === 0) return { state: next, step: steps[0] ?? "notice" };
	return { state: next, step: steps[state.found] ?? null };
}

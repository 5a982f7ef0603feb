/**
 * Whether an agent that says it works has come to a standstill. Only a deadline on progress finds
 * that: the process lives, the screen moves, no hook fires. A tool may be silent for hours, so an agent
 * that is known to run one is left alone, and so is one whose tools are seen to work.
 */

import type { Activity } from "./states.js";

export const STALL_STEPS = ["nudge", "interrupt", "restart"] as const;
export type StallStep = (typeof STALL_STEPS)[number];

export const DEFAULT_NUDGE = "Continue with what you were doing.";

export interface StallSettings {
	/** No progress for this long while busy is a standstill. */
	readonly afterMs: number;
	/** What is done about it, one after the other, each after as long again. */
	readonly steps: readonly StallStep[];
	/** What it is told by a nudge, and after an interrupt or restart that a nudge is among the steps of. */
	readonly nudge: string;
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
	{ afterMs, steps }: Pick<StallSettings, "afterMs" | "steps">,
): StallDecision {
	if (progress || inTool || activity !== "busy") {
		return { state: { sinceMs: nowMs, found: 0 }, step: null };
	}
	if (nowMs - state.sinceMs < afterMs || state.found > steps.length) return { state, step: null };
	const next = { sinceMs: nowMs, found: state.found + 1 };
	if (state.found === 0) return { state: next, step: steps[0] ?? "notice" };
	return { state: next, step: steps[state.found] ?? null };
}

/** The processes that an agent's tools are, and the CPU time that they have used. */
export interface ToolWork {
	/** Equal for the same processes. */
	readonly processes: string;
	readonly cpuMs: number;
}

/** Of one CPU. A server that waits for requests uses less, a compiler more. */
const WORKING_SHARE = 0.01;

/** Whether tools have worked between two looks: some came or went, or they used the CPU. */
export function haveWorked(before: ToolWork, now: ToolWork, elapsedMs: number): boolean {
	if (before.processes !== now.processes) return true;
	return now.cpuMs - before.cpuMs >= elapsedMs * WORKING_SHARE;
}

/**
 * Whether an agent that says it works has come to a standstill. Only a deadline on progress finds
 * that: the process lives, the screen moves, no hook fires. A tool may be silent for hours, so an agent
 * that is known to run one is left alone, and so is one whose tools are seen to work. Most CLIs show an
 * answer line by line, so one that receives data is left alone too.
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

/** A network connection of an agent's CLI, and how much it has carried so far. */
export interface Connection {
	/** Equal for the same connection. */
	readonly id: string;
	readonly sentBytes: number;
	readonly receivedBytes: number;
	/** The packets with data that have arrived. */
	readonly segments: number;
}

/** A request is longer. An HTTP/2 client sends less meanwhile, to acknowledge data. */
const SENT_BYTES_MAX = 100;
/** An event with a piece of an answer is longer, because it names itself. */
const KEEPALIVE_BYTES_MAX = 100;

/**
 * Whether an answer has arrived on one of the connections between two looks. The response to a new request is none: the requests of a
 * CLI that retries, or that reports its usage, are all answered. Nor are signs of life without content, which are short and all alike.
 */
export function haveStreamed(before: readonly Connection[], now: readonly Connection[]): boolean {
	return now.some((connection) => {
		const earlier = before.find(({ id }) => id === connection.id);
		if (earlier === undefined) return false;
		const bytes = connection.receivedBytes - earlier.receivedBytes;
		const segments = Math.max(1, connection.segments - earlier.segments);
		if (bytes <= 0 || connection.sentBytes - earlier.sentBytes > SENT_BYTES_MAX) return false;
		return bytes % segments !== 0 || bytes / segments > KEEPALIVE_BYTES_MAX;
	});
}

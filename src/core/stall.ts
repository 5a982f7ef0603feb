/**
 * Whether an agent that reports work is stalled. Only a deadline on progress can detect that: the process is alive, the
 * screen changes, no hook fires. A tool may be silent for hours, so an agent that is known to run one is not considered
 * stalled, nor is one whose tools are active or that receives data: most CLIs show an answer line by line.
 */

import type { Activity } from "./states.js";

export const STALL_STEPS = ["nudge", "interrupt", "restart"] as const;
export type StallStep = (typeof STALL_STEPS)[number];

export const DEFAULT_NUDGE = "Continue with what you were doing.";

export interface StallSettings {
	/** An agent that is busy without progress for this long is stalled. */
	readonly afterMs: number;
	/** The steps to take, in order, each after another `afterMs`. */
	readonly steps: readonly StallStep[];
	/** The message of a nudge. If `nudge` is one of the steps, it is also sent after an interrupt or restart. */
	readonly nudge: string;
}

export interface StallState {
	/** Steady time of the last progress or step. */
	readonly sinceMs: number;
	/** How often it was found stalled since its last progress. */
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
	/** `notice` the first time, in addition to any step. */
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

/** The processes of an agent's tools, and their CPU time. */
export interface ToolWork {
	/** Equal for the same processes. */
	readonly processes: string;
	readonly cpuMs: number;
}

/** Of one CPU. An idle server uses less, a compiler more. */
const WORKING_SHARE = 0.01;

/** Whether tools were active between two checks: processes started or exited, or they used the CPU. */
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
 * Whether an answer has arrived on one of the connections between two looks. The response to a new request is none: the
 * requests of a CLI that retries, or that reports its usage, are all answered. Nor is keep-alive data without content,
 * which is short and all alike.
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

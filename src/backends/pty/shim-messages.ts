/** Messages between the daemon and the shim of a run. */

import { constants } from "node:os";
import type { TerminalSize } from "../../ports/backend.js";
import { PayloadReader } from "./payload.js";

export const STATUS = 32;
export const INPUT = 34;
const DONE = 35;
export const NOT_DONE = 36;
export const RESIZE = 37;
export const SIGNAL = 38;
export const TREE = 40;
export const KILL = 42;
export const FOLLOW = 44;
export const OUTPUT = 46;
export const BEHIND = 48;
export const QUERY = 49;
export const EXIT = 50;
export const TREE_EMPTY = 51;
export const RESIZED = 53;
export const REDRAWN = 54;
export const DEADLINE = 55;
/** Answers that are known by the id that they repeat. */
export const ANSWERS: ReadonlySet<number> = new Set([33, DONE, NOT_DONE, 39, 41, 43, 45]);

/** `SIGNAL` to the agent's process group and the foreground group of its terminal. */
export const TO_WORKERS = 1;
/** Flags of `INPUT`: the markers of a bracketed paste, if the program has enabled them. */
export const PASTE_BEGINS = 1;
export const PASTE_ENDS = 2;

export interface ShimExit {
	readonly code: number | null;
	readonly signal: string | null;
	readonly atMs: number;
	readonly treeEmpty: boolean;
	/** The kernel had killed something of the run's unit because it used too much memory. */
	readonly outOfMemory?: boolean;
	/** The shim ended it at its deadline. Only known from the record. */
	readonly atDeadline?: boolean;
}

export interface ShimStatus {
	readonly runId: string;
	readonly shimPid: number;
	readonly shimStart: string;
	readonly agentPid: number;
	readonly agentStart: string;
	readonly terminal: boolean;
	readonly size: TerminalSize;
	readonly startedAtMs: number;
	/** Absolute offset in the log where the output of this run begins. */
	readonly firstOffset: number;
	/** The offset of the oldest unanswered query. */
	readonly queryOffset: number | null;
	/** Of an agent that has exited while processes of its tree are left. */
	readonly exit: ShimExit | null;
}

const EXITED_WITH_PROCESSES_LEFT = 2;

export function readStatus(payload: PayloadReader): ShimStatus {
	const runId = payload.text();
	const [shimPid, shimStart] = [payload.u32(), payload.u64Text()];
	const [agentPid, agentStart] = [payload.u32(), payload.u64Text()];
	const state = payload.u8();
	const terminal = payload.u8() === 1;
	const size = { columns: payload.u16(), rows: payload.u16() };
	payload.u8();
	const startedAtMs = payload.u64();
	payload.u64();
	const firstOffset = payload.u64();
	const queryOffset = payload.u64OrNone();
	const exit = state === EXITED_WITH_PROCESSES_LEFT ? readExit(payload) : null;
	return {
		...{ runId, shimPid, shimStart, agentPid, agentStart },
		...{ terminal, size, startedAtMs, firstOffset, queryOffset, exit },
	};
}

export function readExit(payload: PayloadReader): ShimExit {
	const status = payload.u32();
	const atMs = payload.u64();
	return { ...explainWaitStatus(status), atMs, treeEmpty: payload.u8() === 1 };
}

const SIGNAL_NAMES = new Map(
	Object.entries(constants.signals).map(([name, number]) => [number, name]),
);

/** The status of `waitpid` on Linux and macOS. */
export function explainWaitStatus(status: number): {
	readonly code: number | null;
	readonly signal: string | null;
} {
	const signal = status & 0x7f;
	if (signal === 0) return { code: (status >> 8) & 0xff, signal: null };
	return { code: null, signal: SIGNAL_NAMES.get(signal) ?? `SIG${signal}` };
}

export interface Following {
	/** Everything before it is in the log. */
	readonly offset: number;
	/** Where the output of this run starts. */
	readonly firstOffset: number;
	/** The sizes of the terminal, oldest first, each with the offset from which it applied. */
	readonly sizes: readonly { readonly offset: number; readonly size: TerminalSize }[];
	/** Output of this run that the log lacks; null if there is none, or the shim does not report it. */
	readonly lost: LostOutput | null;
}

export interface LostOutput {
	/** How much was lost so far. */
	readonly bytes: number;
	/** Everything printed from this offset on is in the log. */
	readonly wholeFrom: number;
	/** Whether the program has drawn its screen again since. */
	readonly isRedrawn: boolean;
	/** Sequences that restore the terminal's modes at `wholeFrom`. */
	readonly modes: Buffer;
}

export function readFollowing(payload: PayloadReader): Following {
	const [offset, firstOffset] = [payload.u64(), payload.u64()];
	const sizes = Array.from({ length: payload.u16() }, () => ({
		offset: payload.u64(),
		size: { columns: payload.u16(), rows: payload.u16() },
	}));
	const more = payload.rest();
	return { offset, firstOffset, sizes, lost: more.length === 0 ? null : readLost(more) };
}

function readLost(payload: Buffer): LostOutput | null {
	const reader = new PayloadReader(payload);
	const [bytes, wholeFrom] = [reader.u64(), reader.u64()];
	if (bytes === 0) return null;
	return { bytes, wholeFrom, isRedrawn: reader.u8() === 1, modes: reader.rest() };
}

export function readOutput(payload: Buffer): { readonly offset: number; readonly bytes: Buffer } {
	const reader = new PayloadReader(payload);
	return { offset: reader.u64(), bytes: reader.rest() };
}

/** The size that the terminal has from here on. */
export function readResized(payload: Buffer): TerminalSize {
	const reader = new PayloadReader(payload);
	reader.u64();
	return { columns: reader.u16(), rows: reader.u16() };
}

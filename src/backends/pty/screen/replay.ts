/**
 * Where a replay of a run's output starts: at its first byte if that is close, otherwise at a file
 * whose modes are known.
 */

import type { LogFile } from "../../../home/log-bytes.js";
import type { TerminalSize } from "../../../ports/backend.js";
import type { Following } from "../shim-messages.js";

export interface Replay {
	readonly from: number;
	/** Sequences that restore the terminal's modes at that position. */
	readonly modes: Buffer;
	/** Whether it starts with the run's first byte. */
	readonly isWhole: boolean;
}

/** Below this, everything is replayed. */
const WHOLE_BYTES_MAX = 1024 * 1024;
/** Enough for many screens. */
const PART_BYTES_MIN = 256 * 1024;

/**
 * `table` has the newest file first. After lost output, everything on the screen from before it may be out of date, so
 * the replay starts after it.
 */
export function chooseReplay(following: Following, table: readonly LogFile[]): Replay {
	const chosen = chooseFrom(following, table);
	const { lost } = following;
	if (lost === null || lost.wholeFrom < chosen.from) return chosen;
	return { from: lost.wholeFrom, modes: lost.modes, isWhole: false };
}

function chooseFrom(following: Following, table: readonly LogFile[]): Replay {
	const { firstOffset, offset } = following;
	const oldest = table.at(-1)?.offset ?? offset;
	const hasWhole = firstOffset >= oldest;
	const whole = { from: firstOffset, modes: Buffer.alloc(0), isWhole: true };
	if (hasWhole && offset - firstOffset <= WHOLE_BYTES_MAX) return whole;
	const file =
		table.find((each) => each.offset <= offset - PART_BYTES_MIN) ??
		table.findLast((each) => each.offset <= offset);
	if (file === undefined) return { from: offset, modes: Buffer.alloc(0), isWhole: false };
	if (hasWhole && file.offset <= firstOffset) return whole;
	return { from: file.offset, modes: file.modes, isWhole: false };
}

export interface Segment {
	readonly from: number;
	readonly to: number;
	/** The size of the terminal when these bytes were printed. */
	readonly size: TerminalSize;
}

/** Parts of the output between changes of the terminal's size, and other points where it must be interrupted. */
export function cutSegments(
	{ sizes, offset }: Following,
	from: number,
	otherwise: TerminalSize,
	at: number | null,
): Segment[] {
	const cuts = [...sizes.map((each) => each.offset), ...(at === null ? [] : [at])];
	const inside = [...new Set(cuts)].filter((cut) => cut > from && cut < offset);
	const bounds = [from, ...inside.sort((a, b) => a - b), offset];
	const sizeAt = (place: number) =>
		(sizes.findLast((each) => each.offset <= place) ?? sizes[0])?.size ?? otherwise;
	return bounds.slice(0, -1).map((start, number) => ({
		from: start,
		to: bounds[number + 1] as number,
		size: sizeAt(start),
	}));
}

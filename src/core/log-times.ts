/**
 * When the bytes of a log arrived. The shim, and for workers the daemon, notes the time of output in a
 * file `times` beside each file of the log (`src/native/PROTOCOL.md`). A time that was not noted is
 * reported as an interval, never as a guess.
 */

export const TIME_RECORD_BYTES = 16;
const VERSION = 1n;
/** Output within this time after a record shares its time. */
export const TIME_PRECISION_MS = 10;
/** The file has at most an eighth of the size of its log, and this much. */
const ROOM_BYTES = 65_536;
/** A log that was changed this much later than its last record got output without a record. */
const UNKNOWN_AFTER_MS = 1_000;
/** The highest bit of a time: output before it has no time of its own. */
const SKIPPED = 2 ** 31;

/** The records of one file of a log, by increasing offset. */
export interface LogTimes {
	readonly offsets: number[];
	readonly atMs: number[];
	/** Whether output before this record has no time of its own. */
	readonly skipped: boolean[];
}

/** When a byte arrived: at a time, or between two. */
export interface Arrival {
	readonly atMs: number;
	/** The latest possible time; null if the time is exact. */
	readonly untilMs: number | null;
}

/** The times that limit a file of a log without records. */
export interface FileSpan {
	readonly bornMs: number;
	readonly changedMs: number;
}

export function noTimes(): LogTimes {
	return { offsets: [], atMs: [], skipped: [] };
}

/** Whether the file may get another record while its log has this size. */
export function hasRoom(timesBytes: number, logBytes: number): boolean {
	return timesBytes < ROOM_BYTES + logBytes / 8;
}

/** The first record: it names the log file, because files are renamed. */
export function encodeTimesHeader(inode: bigint): Uint8Array {
	return encode(inode, VERSION);
}

export function encodeTime(offset: number, atMs: number, skipped: boolean): Uint8Array {
	return encode(BigInt(offset), BigInt(atMs) | (skipped ? 1n << 63n : 0n));
}

function encode(first: bigint, second: bigint): Uint8Array {
	const view = new DataView(new ArrayBuffer(TIME_RECORD_BYTES));
	view.setBigUint64(0, first, true);
	view.setBigUint64(8, second, true);
	return new Uint8Array(view.buffer);
}

/** Whether a file that starts with this record has the times of the log file with this inode. */
export function isTimesOf(header: Uint8Array, inode: bigint): boolean {
	if (header.length < TIME_RECORD_BYTES) return false;
	const view = viewOf(header);
	return view.getBigUint64(0, true) === inode && view.getBigUint64(8, true) === VERSION;
}

/** Adds further records, without the header. An incomplete one at the end is left out. */
export function addTimes({ offsets, atMs, skipped }: LogTimes, bytes: Uint8Array): void {
	const view = viewOf(bytes);
	for (let at = 0; at + TIME_RECORD_BYTES <= bytes.length; at += TIME_RECORD_BYTES) {
		const offset = view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
		const high = view.getUint32(at + 12, true);
		// A log that was truncated by hand continues at an earlier offset.
		while ((offsets.at(-1) ?? -1) >= offset)
			for (const each of [offsets, atMs, skipped]) each.pop();
		offsets.push(offset);
		atMs.push(view.getUint32(at + 8, true) + (high % SKIPPED) * 2 ** 32);
		skipped.push(high >= SKIPPED);
	}
}

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array) =>
	new DataView(buffer, byteOffset, byteLength);

/** When the byte at this offset of the file arrived. */
export function arrivalAt(
	{ offsets, atMs, skipped }: LogTimes,
	offset: number,
	{ bornMs, changedMs }: FileSpan,
): Arrival {
	const next = firstAfter(offsets, offset);
	const before = atMs[next - 1] ?? null;
	const after = atMs[next] ?? null;
	if (before === null) return between(bornMs, after ?? changedMs);
	if (offsets[next - 1] === offset) return { atMs: before, untilMs: null };
	if (after !== null) return skipped[next] ? between(before, after) : exact(before);
	return changedMs > before + UNKNOWN_AFTER_MS ? between(before, changedMs) : exact(before);
}

/** An offset before all output that may have arrived at or after this time. */
export function offsetSince({ offsets, atMs }: LogTimes, sinceMs: number): number {
	// Clocks may be set back: the first record that is late enough counts.
	const first = atMs.findIndex((each) => each >= sinceMs);
	const last = first === -1 ? offsets.length - 1 : first - 1;
	return last < 0 ? 0 : (offsets[last] ?? 0);
}

const exact = (atMs: number): Arrival => ({ atMs, untilMs: null });

function between(atMs: number, untilMs: number): Arrival {
	return { atMs, untilMs: Math.max(atMs, untilMs) };
}

/** The index of the first offset after this one. */
function firstAfter(offsets: readonly number[], offset: number): number {
	let [low, high] = [0, offsets.length];
	while (low < high) {
		const middle = (low + high) >> 1;
		if ((offsets[middle] ?? 0) <= offset) low = middle + 1;
		else high = middle;
	}
	return low;
}

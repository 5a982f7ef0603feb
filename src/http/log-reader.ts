/**
 * Reads one agent's log forwards as complete lines with their times, across rotations, and continues
 * with new output. Nothing is skipped unless its file was removed, which is reported. It keeps one
 * chunk and one incomplete line in memory (A6).
 */

import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import {
	type Arrival,
	addTimes,
	arrivalAt,
	type FileSpan,
	isTimesOf,
	type LogTimes,
	noTimes,
	offsetSince,
	TIME_RECORD_BYTES,
} from "../core/log-times.js";
import { logFileName, OLDER_FILES, openIfExists, openRotatedFiles } from "./log-files.js";

const CHUNK_BYTES = 65_536;
/** A longer line is returned in pieces. */
const LINE_BYTES_MAX = 65_536;
/** An incomplete line is returned when nothing was added to it for this long. */
const OPEN_LINE_MS = 1_000;
const NEWLINE = 0x0a;
/** The position before there is a log. */
const NO_FILE = "start";

export interface ReadLine {
	readonly bytes: Buffer;
	/** Of its first byte: `FILE:OFFSET`. */
	readonly position: string;
	/** Where the next line starts. */
	readonly next: string;
	readonly arrival: Arrival;
}

/** `removed`: older output was removed before it was read. */
export type ReadItem = ReadLine | { readonly removed: true; readonly next: string };

interface Held {
	readonly file: FileHandle;
	readonly name: string;
	readonly times: FileTimes;
	offset: number;
}

/** An incomplete line. */
interface Rest {
	bytes: Buffer;
	readonly position: string;
	readonly arrival: Arrival;
	readonly sinceMs: number;
}

export class LogReader {
	readonly #folder: string;
	#held: Held | null = null;
	#rest: Rest | null = null;
	/** Everything that will be stored is new, and is read from its start. */
	#waits = false;

	constructor(folder: string) {
		this.#folder = folder;
	}

	/** Where the next line starts. */
	get position(): string {
		if (this.#rest !== null) return this.#rest.position;
		return this.#held === null ? `${NO_FILE}:0` : positionOf(this.#held);
	}

	/** Starts at a position. Returns whether output after it was removed. */
	async openAt(position: string): Promise<boolean> {
		const [name = "", text = "0"] = position.split(":");
		const kept = await this.#kept();
		let index = kept.findIndex((each) => each.name === name);
		const isRemoved = index === -1 && name !== NO_FILE;
		let left = index === -1 ? 0 : Number(text);
		index = Math.max(0, index);
		// An offset beyond the end of a file continues in the next one, unless the file was truncated.
		for (; index < kept.length - 1; index++) {
			const { size } = await (kept[index] as Held).file.stat();
			if (left <= size) break;
			left -= size;
		}
		const size = (await kept[index]?.file.stat())?.size ?? 0;
		await this.#hold(kept, index, left > size ? 0 : left);
		return isRemoved;
	}

	/** Starts with the first output that may have arrived at this time or later. */
	async openSince(sinceMs: number): Promise<void> {
		const kept = await this.#kept();
		for (const [index, { file, times }] of kept.entries()) {
			const { mtimeMs } = await file.stat();
			if (mtimeMs < sinceMs && index < kept.length - 1) continue;
			await times.read();
			return this.#hold(kept, index, await lineStart(file, offsetSince(times.known, sinceMs)));
		}
		await this.#hold(kept, 0, 0);
	}

	/** Starts with output that does not exist yet. */
	async openAtEnd(): Promise<void> {
		const kept = await this.#kept();
		const size = (await kept.at(-1)?.file.stat())?.size ?? 0;
		await this.#hold(kept, kept.length - 1, size);
	}

	/** The next lines; empty at the end of what is stored. `isLast`: also a line without an end. */
	async read({ isLast }: { readonly isLast: boolean }): Promise<readonly ReadItem[]> {
		for (;;) {
			const items = await this.#readChunk();
			if (items === null || items.length > 0) return items ?? this.#flushOpenLine(isLast);
		}
	}

	async close(): Promise<void> {
		await this.#held?.file.close().catch(() => {});
		this.#held = null;
	}

	/** Null at the end of what is stored. */
	async #readChunk(): Promise<readonly ReadItem[] | null> {
		const held = this.#held ?? (await this.#openFirst());
		if (held === null) return null;
		const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
		const { bytesRead } = await held.file.read(chunk, 0, CHUNK_BYTES, held.offset);
		if (bytesRead === 0) return this.#openNext(held);
		// Written before the output that they belong to, so they are read after it.
		await held.times.read();
		return this.#split(held, chunk.subarray(0, bytesRead));
	}

	/** At the end of the held file: continues in the next one. Null if there is none. */
	async #openNext(held: Held): Promise<readonly ReadItem[] | null> {
		const current = await openIfExists(join(this.#folder, "current.log"));
		if (current === null) return null;
		const name = await logFileName(current).finally(() => current.close());
		const { size } = await held.file.stat();
		if (name === held.name) {
			if (size >= held.offset) return null;
			// The log was truncated in place.
			held.offset = 0;
			this.#rest = null;
			return [];
		}
		// Written between the last read and the rotation.
		if (size > held.offset) return [];
		const kept = await this.#kept();
		const at = kept.findIndex((each) => each.name === held.name);
		const isNext = at !== -1 && at + 1 < kept.length;
		if (at !== -1 && !isNext) {
			for (const { file } of kept) await file.close();
			return null;
		}
		await held.file.close();
		await this.#hold(kept, at + 1, 0);
		if (isNext) return [];
		const open = this.#flushOpenLine(true);
		return [...open, { removed: true, next: this.position }];
	}

	async #openFirst(): Promise<Held | null> {
		if (!this.#waits) return null;
		await this.#hold(await this.#kept(), 0, 0);
		return this.#held;
	}

	#split(held: Held, chunk: Buffer): readonly ReadItem[] {
		const items: ReadItem[] = [];
		for (let from = 0; from < chunk.length; ) {
			const newline = chunk.indexOf(NEWLINE, from);
			const isOpen = newline === -1;
			const piece = chunk.subarray(from, isOpen ? chunk.length : newline);
			const rest = this.#rest ?? {
				bytes: Buffer.alloc(0),
				position: positionOf(held),
				sinceMs: performance.now(),
				arrival: held.times.arrivalAt(held.offset),
			};
			held.offset += piece.length + (isOpen ? 0 : 1);
			from += piece.length + (isOpen ? 0 : 1);
			const bytes = rest.bytes.length === 0 ? piece : Buffer.concat([rest.bytes, piece]);
			if (isOpen && bytes.length < LINE_BYTES_MAX) {
				this.#rest = { ...rest, bytes: Buffer.from(bytes), sinceMs: performance.now() };
				continue;
			}
			this.#rest = null;
			const back = isOpen ? cutCharacter(bytes) : 0;
			held.offset -= back;
			from -= back;
			const { position, arrival } = rest;
			const whole = bytes.subarray(0, bytes.length - back);
			items.push({ bytes: whole, position, arrival, next: positionOf(held) });
			// The rest of a character is read again with what follows.
			if (back > 0) break;
		}
		return items;
	}

	#flushOpenLine(isLast: boolean): readonly ReadLine[] {
		const rest = this.#rest;
		if (rest === null || this.#held === null) return [];
		if (!isLast && performance.now() - rest.sinceMs < OPEN_LINE_MS) return [];
		this.#rest = null;
		const { bytes, position, arrival } = rest;
		return [{ bytes, position, arrival, next: positionOf(this.#held) }];
	}

	async #kept(): Promise<Held[]> {
		const files = await openRotatedFiles(join(this.#folder, "current.log"));
		return Promise.all(
			files.map(async (file) => ({
				file,
				name: await logFileName(file),
				offset: 0,
				times: new FileTimes(this.#folder, file),
			})),
		);
	}

	async #hold(kept: readonly Held[], index: number, offset: number): Promise<void> {
		const held = kept[index] ?? null;
		for (const each of kept) if (each !== held) await each.file.close();
		this.#held = held === null ? null : Object.assign(held, { offset });
		this.#waits = held === null;
	}
}

const positionOf = ({ name, offset }: Held) => `${name}:${offset}`;

/** How many bytes at the end are the start of an incomplete character. */
function cutCharacter(bytes: Buffer): number {
	for (let back = 1; back <= 3; back++) {
		const byte = bytes[bytes.length - back] ?? 0;
		if (byte < 0x80) return 0;
		if (byte < 0xc0) continue;
		const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
		return length > back ? back : 0;
	}
	return 0;
}

/** The start of the line that contains this offset, or the offset in a very long line. */
async function lineStart(file: FileHandle, offset: number): Promise<number> {
	const from = Math.max(0, offset - LINE_BYTES_MAX);
	const buffer = Buffer.alloc(offset - from);
	await file.read(buffer, 0, buffer.length, from);
	const newline = buffer.lastIndexOf(NEWLINE);
	return newline === -1 ? (from === 0 ? 0 : offset) : from + newline + 1;
}

/** The times of one file of a log; read again when there may be more. */
export class FileTimes {
	readonly #folder: string;
	readonly #file: FileHandle;
	readonly #known: LogTimes = noTimes();
	#span: FileSpan = { bornMs: 0, changedMs: 0 };
	#read = TIME_RECORD_BYTES;

	constructor(folder: string, file: FileHandle) {
		this.#folder = folder;
		this.#file = file;
	}

	get known(): LogTimes {
		return this.#known;
	}

	arrivalAt(offset: number): Arrival {
		return arrivalAt(this.#known, offset, this.#span);
	}

	async read(): Promise<void> {
		const { ino, birthtimeMs, mtimeMs } = await this.#file.stat({ bigint: true });
		this.#span = { bornMs: Number(birthtimeMs), changedMs: Number(mtimeMs) };
		for (let age = 0; age <= OLDER_FILES; age++) {
			const path = join(this.#folder, age === 0 ? "times" : `times.${age}`);
			const file = await open(path, "r").catch(() => null);
			if (file === null) continue;
			try {
				if (await this.#readFrom(file, ino)) return;
			} finally {
				await file.close();
			}
		}
	}

	/** Whether this file has the times of the log file. */
	async #readFrom(file: FileHandle, inode: bigint): Promise<boolean> {
		const header = Buffer.alloc(TIME_RECORD_BYTES);
		await file.read(header, 0, TIME_RECORD_BYTES, 0);
		if (!isTimesOf(header, inode)) return false;
		const { size } = await file.stat();
		if (size < this.#read) return true;
		const bytes = Buffer.alloc(size - this.#read);
		const { bytesRead } = await file.read(bytes, 0, bytes.length, this.#read);
		const whole = bytesRead - (bytesRead % TIME_RECORD_BYTES);
		addTimes(this.#known, bytes.subarray(0, whole));
		this.#read += whole;
		return true;
	}
}

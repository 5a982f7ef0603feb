/**
 * The log of an agent as one byte stream, addressed by absolute offset. The shim renames files during
 * reading, so the table of offsets is read before and after, and a read across a rotation is repeated.
 */

import { type FileHandle, open, readFile, stat } from "node:fs/promises";
import { join } from "node:path";

export interface LogFile {
	readonly path: string;
	/** Absolute offset of its first byte. */
	readonly offset: number;
	/** Escape sequences that set the terminal's modes as they were at that byte. */
	readonly modes: Buffer;
}

const TRIES_MAX = 5;

/** Newest first; empty if there is no table. */
export async function readLogTable(folder: string): Promise<LogFile[]> {
	let text: string;
	try {
		text = await readFile(join(folder, "offsets"), "latin1");
	} catch {
		return [];
	}
	return text
		.split("\n")
		.filter(Boolean)
		.map((line, number) => {
			const [offset = "", modes = ""] = line.split(" ");
			return {
				path: join(folder, number === 0 ? "current.log" : `current.log.${number}`),
				offset: Number(offset),
				modes: Buffer.from(modes, "base64"),
			};
		});
}

/** The bytes from one absolute offset to another, fewer if the log does not contain them all. */
export async function readLogBytes(folder: string, from: number, to: number): Promise<Buffer> {
	for (let tries = 1; ; tries++) {
		const table = await readLogTable(folder);
		const opened = await Promise.all(table.map(({ path }) => open(path, "r").catch(() => null)));
		try {
			const again = await readLogTable(folder);
			const isSame = again[0]?.offset === table[0]?.offset;
			if (!isSame && tries < TRIES_MAX) continue;
			return await readFrom(table, opened, from, to);
		} finally {
			await Promise.all(opened.map((file) => file?.close()));
		}
	}
}

async function readFrom(
	table: readonly LogFile[],
	opened: readonly (FileHandle | null)[],
	from: number,
	to: number,
): Promise<Buffer> {
	const pieces: Buffer[] = [];
	for (let number = table.length - 1; number >= 0; number--) {
		const { offset } = table[number] as LogFile;
		const end = Math.min(to, table[number - 1]?.offset ?? to);
		const start = Math.max(from, offset);
		if (start >= end) continue;
		const piece = await readPiece(opened[number] ?? null, start - offset, end - start);
		pieces.push(piece);
	}
	return Buffer.concat(pieces);
}

async function readPiece(file: FileHandle | null, at: number, length: number): Promise<Buffer> {
	const space = Buffer.alloc(length);
	let read = 0;
	while (file !== null && read < length) {
		const { bytesRead } = await file.read(space, read, length - read, at + read);
		if (bytesRead === 0) break;
		read += bytesRead;
	}
	return space.subarray(0, read);
}

/**
 * The newest bytes of a log, at most so many and none before an offset: the end of what one run has printed.
 * Without a table, offsets count the bytes of the only file.
 */
export async function readLogEnd(folder: string, from: number, bytesMax: number): Promise<Buffer> {
	const table = await readLogTable(folder);
	const path = join(folder, "current.log");
	const base = table[0]?.offset ?? 0;
	const end = base + (await stat(path)).size;
	// Behind the end, because the file was replaced: all of it is newer.
	const start = Math.max(from > end ? base : from, end - bytesMax);
	if (table.length > 0) return readLogBytes(folder, start, end);
	const file = await open(path, "r");
	try {
		return await readPiece(file, start, end - start);
	} finally {
		await file.close();
	}
}

/**
 * An agent's log as lines of text: pages in both directions. Each request reads a bounded number of bytes
 * and returns the position where the next one continues (A6).
 */

import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { Arrival } from "../core/log-times.js";
import { screenText } from "../core/safe-text.js";
import type { LogLineJson } from "./contract/logs.js";
import type { Routes } from "./contract/routes.js";
import { logFileName, openRotatedFiles } from "./log-files.js";
import { FileTimes } from "./log-reader.js";

type LinesRoute = Routes["GET /api/v1/agents/:id/logs/lines"];
type Redact = (text: string) => string;

const BLOCK_BYTES = 128 * 1024;
const PAGE_BYTES_MAX = 1024 * 1024;
/** The rest of a longer line is not read. */
const LINE_BYTES_MAX = 64 * 1024;
const TEXT_LENGTH_MAX = 2_000;
const NEWLINE = 0x0a;
const EMPTY = Buffer.alloc(0);

interface LogFile {
	readonly name: string;
	readonly file: FileHandle;
	readonly size: number;
}

interface RawLine {
	readonly position: string;
	readonly bytes: Buffer;
	readonly isCut: boolean;
	/** Whether nothing is before it. */
	readonly isFirst: boolean;
}

export async function readLogLines(
	logDir: string,
	{ before, after, limit }: LinesRoute["query"],
	redact: Redact,
): Promise<LinesRoute["reply"]> {
	return withFiles(logDir, async (files) => {
		if (files.length === 0) return { lines: [], older: null, newer: null };
		if (after !== undefined) return pageAfter(files, after, limit, redact);
		const end = resolveEnd(files, before);
		const lines: RawLine[] = [];
		let bytes = 0;
		for await (const line of linesBefore(files, end)) {
			lines.unshift(line);
			bytes += line.bytes.length;
			if (lines.length >= limit || bytes >= PAGE_BYTES_MAX) break;
		}
		const [first] = lines;
		return {
			lines: lines.map((line) => renderLine(line, redact)),
			older: first === undefined || first.isFirst ? null : first.position,
			newer: await endOf(files, end),
		};
	});
}

/** Where the last accepted lines start; null if everything that is stored belongs to them. */
export async function findLastLines(
	logDir: string,
	count: number,
	accepts: ((text: string, arrival: Arrival) => boolean) | null,
	redact: Redact,
): Promise<string | null> {
	return withFiles(logDir, async (files) => {
		const times = new Map(files.map(({ name, file }) => [name, new FileTimes(logDir, file)]));
		for (const each of times.values()) await each.read();
		let left = count;
		for await (const line of linesBefore(files, resolveEnd(files, undefined))) {
			const [name = "", offset] = line.position.split(":");
			const arrival = times.get(name)?.arrivalAt(Number(offset)) ?? NO_ARRIVAL;
			if (accepts !== null && !accepts(textOf(line, redact), arrival)) continue;
			left -= 1;
			if (left <= 0) return line.position;
		}
		return null;
	});
}

const NO_ARRIVAL: Arrival = { atMs: 0, untilMs: null };

async function withFiles<T>(logDir: string, read: (files: readonly LogFile[]) => Promise<T>) {
	const opened = await openRotatedFiles(join(logDir, "current.log"));
	try {
		const files = await Promise.all(
			opened.map(async (file) => ({
				file,
				name: await logFileName(file),
				size: (await file.stat()).size,
			})),
		);
		return await read(files);
	} finally {
		for (const file of opened) await file.close().catch(() => {});
	}
}

interface Place {
	/** Among the files, oldest first. */
	readonly index: number;
	readonly offset: number;
}

/** Null if its file is no longer stored. An offset beyond the end of a file continues in the next one. */
function resolvePlace(files: readonly LogFile[], position: string): Place | null {
	const [name, offset = "0"] = position.split(":");
	const start = files.findIndex((file) => file.name === name);
	if (start === -1) return null;
	let left = Number(offset);
	for (const [index, { size }] of files.entries()) {
		if (index < start) continue;
		if (left <= size || index === files.length - 1) {
			return { index, offset: Math.min(left, size) };
		}
		left -= size;
	}
	return null;
}

/** The end of the log without a position, and its start if the position is no longer stored. */
function resolveEnd(files: readonly LogFile[], before: string | undefined): Place {
	if (before !== undefined) return resolvePlace(files, before) ?? { index: 0, offset: 0 };
	return { index: files.length - 1, offset: files.at(-1)?.size ?? 0 };
}

/** The lines before a place, newest first. */
async function* linesBefore(
	files: readonly LogFile[],
	{ index, offset }: Place,
): AsyncGenerator<RawLine> {
	for (let at = index; at >= 0; at--) {
		const file = files[at];
		if (file === undefined) return;
		const end = at === index ? offset : file.size;
		for await (const { start, ...line } of linesOf(file, end)) {
			const isFirst = start === 0 && files.slice(0, at).every(({ size }) => size === 0);
			yield { position: `${file.name}:${start}`, isFirst, ...line };
		}
	}
}

async function* linesOf({ file }: LogFile, end: number) {
	/** The rest of a line that starts in an earlier block. */
	let rest = EMPTY;
	let isCut = false;
	let isEnd = true;
	const lineOf = (start: number, head: Buffer) => {
		const bytes = rest.length === 0 ? head : Buffer.concat([head, rest]);
		const line = {
			start,
			bytes: bytes.subarray(0, LINE_BYTES_MAX),
			isCut: isCut || bytes.length > LINE_BYTES_MAX,
		};
		rest = EMPTY;
		isCut = false;
		return line;
	};
	for (let stop = end; stop > 0; ) {
		const from = Math.max(0, stop - BLOCK_BYTES);
		const block = await readBlock(file, from, stop);
		let high = block.length;
		for (;;) {
			const newline = high === 0 ? -1 : block.lastIndexOf(NEWLINE, high - 1);
			if (newline === -1) break;
			// The final newline ends the last line and starts none.
			const isNothing = isEnd && newline === block.length - 1;
			if (!isNothing) yield lineOf(from + newline + 1, block.subarray(newline + 1, high));
			isEnd = false;
			high = newline;
		}
		isEnd = false;
		const head = block.subarray(0, high);
		const joined = rest.length === 0 ? head : Buffer.concat([head, rest]);
		isCut ||= joined.length > LINE_BYTES_MAX;
		rest = Buffer.from(joined.subarray(0, LINE_BYTES_MAX));
		stop = from;
	}
	if (end > 0) yield lineOf(0, EMPTY);
}

async function readBlock(file: FileHandle, from: number, to: number): Promise<Buffer> {
	const buffer = Buffer.alloc(to - from);
	const { bytesRead } = await file.read(buffer, 0, buffer.length, from);
	return buffer.subarray(0, bytesRead);
}

/** Lines from a position on, oldest first. If its file is gone, from the oldest stored line. */
async function pageAfter(
	files: readonly LogFile[],
	after: string,
	limit: number,
	redact: Redact,
): Promise<LinesRoute["reply"]> {
	const from = resolvePlace(files, after) ?? { index: 0, offset: 0 };
	const lines: LogLineJson[] = [];
	let at: Place = from;
	let left = PAGE_BYTES_MAX;
	while (lines.length < limit && left > 0) {
		const file = files[at.index];
		if (file === undefined) break;
		const block = await readBlock(
			file.file,
			at.offset,
			Math.min(file.size, at.offset + BLOCK_BYTES),
		);
		const isLast = at.index === files.length - 1;
		if (block.length === 0) {
			if (isLast) break;
			at = { index: at.index + 1, offset: 0 };
			continue;
		}
		const newline = block.indexOf(NEWLINE);
		const length = newline === -1 ? block.length : newline;
		const bytes = block.subarray(0, Math.min(length, LINE_BYTES_MAX));
		const position = `${file.name}:${at.offset}`;
		lines.push(
			renderLine({ position, bytes, isCut: length > bytes.length, isFirst: false }, redact),
		);
		left -= length + 1;
		// An unfinished line is returned again, once there is more of it.
		if (newline === -1 && isLast && length < BLOCK_BYTES) break;
		at = { index: at.index, offset: at.offset + length + (newline === -1 ? 0 : 1) };
	}
	const isStart = from.offset === 0 && files.slice(0, from.index).every(({ size }) => size === 0);
	return {
		lines,
		older: isStart ? null : `${files[from.index]?.name}:${from.offset}`,
		newer: `${files[at.index]?.name}:${at.offset}`,
	};
}

/** Where new lines start: an unfinished line is returned again, once there is more of it. */
async function endOf(files: readonly LogFile[], { index, offset }: Place): Promise<string | null> {
	const file = files[index];
	if (file === undefined) return null;
	const block = await readBlock(file.file, Math.max(0, offset - LINE_BYTES_MAX), offset);
	const newline = block.lastIndexOf(NEWLINE);
	const isOpen = newline === -1 ? block.length < LINE_BYTES_MAX : true;
	const start = offset - block.length + newline + 1;
	return `${file.name}:${isOpen ? start : offset}`;
}

/** One line without sequences; lines that overwrite each other are joined. */
export function textOf({ bytes }: Pick<RawLine, "bytes">, redact: Redact): string {
	return redact(screenText(bytes.toString("utf8")))
		.replaceAll("\n", " ")
		.trimEnd();
}

function renderLine(line: RawLine, redact: Redact): LogLineJson {
	const text = textOf(line, redact);
	const isCut = line.isCut || text.length > TEXT_LENGTH_MAX;
	const shown = text.slice(0, TEXT_LENGTH_MAX);
	return { position: line.position, text: shown, ...(isCut && { cut: true as const }) };
}

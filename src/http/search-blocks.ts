/**
 * A file of lines as blocks, and the index beside it of the texts that each block can contain. The
 * index is append-only: files of logs and transcripts grow at their end. A file that was rewritten does
 * not fit its index, which then is not used.
 */

import type { FileHandle } from "node:fs/promises";
import { safeText, screenText } from "../core/safe-text.js";
import { addToFilter, createFilter, FILTER_BYTES, mayContain } from "../core/search-filter.js";

const BLOCK_BYTES = 128 * 1024;
/** The rest of a longer line is not searched. */
const LINE_BYTES_MAX = 4 * 1024 * 1024;
const NEWLINE = 0x0a;
/** The end of the block, a hash of the bytes before its end, and the filter. */
const RECORD_BYTES = 16 + FILTER_BYTES;
const HASHED_BYTES = 256;

export type SearchKind = "log" | "transcript";

/** Part of a file, from the start of a line to the start of another. */
export interface Block {
	readonly start: number;
	readonly end: number;
}

/** The complete lines from an offset on; null if there is none yet. At most a block, or one longer line. */
async function readBlockAfter(file: FileHandle, start: number): Promise<Buffer | null> {
	for (let size = BLOCK_BYTES; size <= LINE_BYTES_MAX; size *= 2) {
		const buffer = Buffer.allocUnsafe(size);
		const { bytesRead } = await file.read(buffer, 0, size, start);
		const newline = buffer.subarray(0, bytesRead).lastIndexOf(NEWLINE);
		if (newline !== -1) return buffer.subarray(0, newline + 1);
		if (bytesRead < size) return null;
		if (size === LINE_BYTES_MAX) return buffer;
	}
	return null;
}

/** The lines between two offsets as blocks, newest first. */
export async function* blocksBefore(
	file: FileHandle,
	{ start, end }: Block,
): AsyncGenerator<Block & { readonly bytes: Buffer }> {
	let size = BLOCK_BYTES;
	for (let stop = end; stop > start; ) {
		const from = Math.max(start, stop - size);
		const buffer = Buffer.allocUnsafe(stop - from);
		const { bytesRead } = await file.read(buffer, 0, buffer.length, from);
		const bytes = buffer.subarray(0, bytesRead);
		// The line before the first newline starts in an earlier block.
		const newline = from === start ? -1 : bytes.indexOf(NEWLINE);
		const isWhole = from === start || (newline !== -1 && newline < bytes.length - 1);
		if (!isWhole && size < LINE_BYTES_MAX) {
			size *= 2;
			continue;
		}
		const skipped = isWhole ? newline + 1 : 0;
		yield { start: from + skipped, end: stop, bytes: bytes.subarray(skipped) };
		stop = from + skipped;
		size = BLOCK_BYTES;
	}
}

/** The lines of a block with their offsets in it. */
export function* linesOfBlock(bytes: Buffer): Generator<readonly [offset: number, line: Buffer]> {
	for (let at = 0; at < bytes.length; ) {
		const newline = bytes.indexOf(NEWLINE, at);
		const end = newline === -1 ? bytes.length : newline;
		yield [at, bytes.subarray(at, end)];
		at = end + 1;
	}
}

/** The text of a line, as it is shown and searched. */
export function searchText(kind: SearchKind, line: Buffer): string {
	const text = line.toString("utf8");
	const shown = kind === "log" ? screenText(text) : recordText(text);
	return shown.replaceAll("\n", " ").trimEnd();
}

/** All texts in a record of a transcript, one JSON document. */
function recordText(line: string): string {
	const texts: string[] = [];
	try {
		collectTexts(JSON.parse(line), texts, 0);
	} catch {
		return safeText(line);
	}
	return safeText(texts.join(" · "));
}

const DEPTH_MAX = 50;

function collectTexts(value: unknown, texts: string[], depth: number): void {
	if (typeof value === "string") texts.push(value);
	else if (typeof value === "object" && value !== null && depth < DEPTH_MAX) {
		for (const each of Object.values(value)) collectTexts(each, texts, depth + 1);
	}
}

/** The index of a file, oldest block first. */
export interface BlockIndex {
	/** Everything before this offset is indexed. */
	readonly end: number;
	/** The blocks that can contain a text, oldest first. */
	readonly candidates: readonly Block[];
}

export const NO_INDEX: BlockIndex = Object.freeze({ end: 0, candidates: [] });

/** Reads the index for a search. Without an index that fits the file, nothing counts as indexed. */
export async function readIndex(
	index: FileHandle,
	file: FileHandle,
	bits: readonly number[],
): Promise<BlockIndex> {
	const { size } = await index.stat();
	const records = Buffer.allocUnsafe(size - (size % RECORD_BYTES));
	await index.read(records, 0, records.length, 0);
	if (records.length === 0) return NO_INDEX;
	const last = records.subarray(-RECORD_BYTES);
	if (!(await fits(file, last))) return NO_INDEX;
	const candidates: Block[] = [];
	let start = 0;
	for (let at = 0; at < records.length; at += RECORD_BYTES) {
		const end = records.readDoubleLE(at);
		const filter = records.subarray(at + 16, at + RECORD_BYTES);
		if (mayContain(filter, bits)) candidates.push({ start, end });
		start = end;
	}
	return { end: start, candidates };
}

/** How much of a file is indexed; 0 if the index does not fit it. */
export async function indexedEnd(index: FileHandle, file: FileHandle): Promise<number> {
	const { size } = await index.stat();
	const at = size - (size % RECORD_BYTES) - RECORD_BYTES;
	if (at < 0) return 0;
	const record = Buffer.alloc(16);
	await index.read(record, 0, 16, at);
	return (await fits(file, record)) ? record.readDoubleLE(0) : 0;
}

/** Adds one block. Returns its size; 0 if there is no complete block. */
export async function indexBlock(
	index: FileHandle,
	file: FileHandle,
	kind: SearchKind,
	start: number,
): Promise<number> {
	const { size } = await file.stat();
	if (size - start < BLOCK_BYTES) return 0;
	const bytes = await readBlockAfter(file, start);
	if (bytes === null) return 0;
	const filter = createFilter();
	for (const [, line] of linesOfBlock(bytes)) addToFilter(filter, searchText(kind, line));
	const record = Buffer.alloc(RECORD_BYTES);
	record.writeDoubleLE(start + bytes.length, 0);
	record.writeDoubleLE(await hashBefore(file, start + bytes.length), 8);
	record.set(filter, 16);
	// An interrupted record at the end is overwritten.
	const { size: used } = await index.stat();
	const at = start === 0 ? 0 : used - (used % RECORD_BYTES);
	if (start === 0) await index.truncate(0);
	await index.write(record, 0, RECORD_BYTES, at);
	return bytes.length;
}

async function fits(file: FileHandle, record: Buffer): Promise<boolean> {
	const [end, hash] = [record.readDoubleLE(0), record.readDoubleLE(8)];
	const { size } = await file.stat();
	return end <= size && (await hashBefore(file, end)) === hash;
}

/** FNV-1a over the bytes before an offset. */
async function hashBefore(file: FileHandle, end: number): Promise<number> {
	const from = Math.max(0, end - HASHED_BYTES);
	const bytes = Buffer.alloc(end - from);
	await file.read(bytes, 0, bytes.length, from);
	let hash = 0x811c9dc5;
	for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
	return hash >>> 0;
}

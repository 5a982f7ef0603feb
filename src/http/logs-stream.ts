/**
 * An agent's output as a stream: the last lines, then, for a following reader, all new output, across
 * rotations. Each response contains the position of its first byte, so an interrupted reader can
 * continue at the next byte, also with another daemon.
 */

import type { FileHandle } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Routes } from "./contract/routes.js";
import { logFileName, OLDER_FILES, openIfExists, openRotatedFiles } from "./log-files.js";

const CHUNK_BYTES = 65_536;
const POLL_MS = 150;

/** The position of the first byte of the response: `FILE:OFFSET`. */
const POSITION_HEADER = "x-log-position";

export async function streamLogs(
	logDir: string,
	{ lines, follow, from }: Routes["GET /api/v1/agents/:id/logs"]["query"],
	response: ServerResponse,
	gone: AbortSignal,
): Promise<void> {
	const path = join(logDir, "current.log");
	const files = from === undefined ? await openLast(path, lines) : await openAt(path, from);
	try {
		response.writeHead(200, {
			"content-type": "application/octet-stream",
			[POSITION_HEADER]: await positionOf(files, from),
		});
		response.flushHeaders();
		let offset = 0;
		for (const [index, { file, from: start }] of files.entries()) {
			offset = await copyFrom(file, start, response, gone);
			// A file that is rotated away in the meantime stays readable while it is open.
			if (index < files.length - 1) await file.close();
		}
		const last = files.at(-1)?.file ?? null;
		files.length = 0;
		if (follow === "1") await followFrom(path, last, offset, response, gone);
		else await last?.close();
	} finally {
		for (const { file } of files) await file.close().catch(() => {});
		response.end();
	}
}

/** The position before there is a log. */
const NO_FILE = "start";

/**
 * The requested position if it was found, otherwise the start of the response. A file is identified by
 * its inode and creation time, because inodes are reused.
 */
async function positionOf(files: readonly Opened[], asked: string | undefined): Promise<string> {
	const [first] = files;
	if (asked !== undefined && (first === undefined || first.found)) return asked;
	return first === undefined ? `${NO_FILE}:0` : `${await logFileName(first.file)}:${first.from}`;
}

/**
 * The files from a position on. The offset counts from the start of its file and continues through the
 * later ones. If its file was removed, everything that is kept is newer and is returned. If the file
 * was truncated in place, it is returned from its start.
 */
async function openAt(path: string, position: string): Promise<Opened[]> {
	const [wanted, offset] = position.split(":") as [string, string];
	const files = await openRotatedFiles(path);
	const names = await Promise.all(files.map(logFileName));
	const at = wanted === NO_FILE ? 0 : names.indexOf(wanted);
	if (at === -1) return files.map((file) => ({ file, from: 0 }));
	await Promise.all(files.slice(0, at).map((file) => file.close()));
	let left = Number(offset);
	const opened: Opened[] = [];
	for (const file of files.slice(at)) {
		const { size } = await file.stat();
		const isLast = file === files.at(-1);
		if (left <= size) {
			opened.push({ file, from: left, found: true });
			left = 0;
		} else if (isLast) opened.push({ file, from: 0 });
		else {
			left -= size;
			await file.close();
		}
	}
	return opened;
}

/** Continues with new output, in this file and in its successors. */
async function followFrom(
	path: string,
	first: FileHandle | null,
	from: number,
	response: ServerResponse,
	gone: AbortSignal,
): Promise<void> {
	let [file, offset] = [first, from];
	try {
		while (!gone.aborted) {
			await sleep(POLL_MS, null, { signal: gone }).catch(() => {});
			if (gone.aborted) break;
			if (file !== null) offset = await copyFrom(file, offset, response, gone);
			const current = await openIfExists(path);
			if (current === null) continue;
			if (file !== null && (await logFileName(file)) === (await logFileName(current))) {
				await current.close();
				// The log of a program without a terminal is truncated in place when it is full.
				if ((await file.stat()).size < offset) offset = 0;
				continue;
			}
			if (file === null) {
				[file, offset] = [current, 0];
				continue;
			}
			// The log was rotated: first the rest of the old file, then its successors from their start.
			await current.close();
			await copyFrom(file, offset, response, gone);
			[file, offset] = [await openNext(path, file), 0];
		}
	} finally {
		await file?.close();
	}
}

/** The file after this one, which may have been rotated away too; the oldest if this one is gone. */
async function openNext(path: string, file: FileHandle): Promise<FileHandle | null> {
	const name = await logFileName(file);
	await file.close();
	const kept = await openRotatedFiles(path);
	const names = await Promise.all(kept.map(logFileName));
	const next = kept[names.indexOf(name) + 1] ?? null;
	for (const each of kept) if (each !== next) await each.close();
	return next;
}

interface Opened {
	readonly file: FileHandle;
	readonly from: number;
	/** Whether it starts at the requested position. */
	readonly found?: true;
}

/** The files with the last lines, oldest first, each with its start offset. */
async function openLast(path: string, lines: number): Promise<Opened[]> {
	const opened: Opened[] = [];
	let left = lines;
	for (let age = 0; age <= OLDER_FILES && (age === 0 || left > 0); age++) {
		const file = await openIfExists(age === 0 ? path : `${path}.${age}`);
		if (file === null) break;
		const found = await findLines(file, left, age === 0);
		opened.unshift({ file, from: found.from });
		left = found.left;
	}
	return opened;
}

/** Where the last lines of a file start, and how many lines are missing from older files. */
async function findLines(
	file: FileHandle,
	lines: number,
	isNewest: boolean,
): Promise<{ readonly from: number; readonly left: number }> {
	const { size } = await file.stat();
	if (lines === 0) return { from: size, left: 0 };
	const buffer = Buffer.alloc(CHUNK_BYTES);
	let left = lines;
	for (let end = size; end > 0; ) {
		const start = Math.max(0, end - CHUNK_BYTES);
		const { bytesRead } = await file.read(buffer, 0, end - start, start);
		for (let at = bytesRead - 1; at >= 0; at--) {
			// The final newline ends the last line and starts none.
			const isEnd = isNewest && start + at === size - 1;
			if (buffer[at] !== NEWLINE || isEnd) continue;
			if (left === 1) return { from: start + at + 1, left: 0 };
			left -= 1;
		}
		end = start;
	}
	return { from: 0, left };
}

const NEWLINE = 0x0a;

/** Copies from the offset to the end and returns the new offset. Waits for a slow reader. */
async function copyFrom(
	file: FileHandle,
	from: number,
	response: ServerResponse,
	gone: AbortSignal,
): Promise<number> {
	const buffer = Buffer.alloc(CHUNK_BYTES);
	let offset = from;
	for (;;) {
		const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
		if (bytesRead === 0 || response.destroyed || gone.aborted) return offset;
		offset += bytesRead;
		const flushed = response.write(Buffer.from(buffer.subarray(0, bytesRead)));
		if (!flushed) await drained(response, gone);
	}
}

/** Resolves when more can be written, or the stream is closed. */
function drained(response: ServerResponse, gone: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		const done = () => {
			response.off("drain", done);
			response.off("close", done);
			gone.removeEventListener("abort", done);
			resolve();
		};
		response.on("drain", done);
		response.on("close", done);
		gone.addEventListener("abort", done);
	});
}

/** An agent's output as a stream: the last lines, then, for who follows, what is added, across rotations. */

import type { Stats } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Routes } from "./contract/routes.js";

const CHUNK_BYTES = 65_536;
/** How many older files are kept beside the current one. */
const OLDER_FILES = 4;
const LOOK_EVERY_MS = 150;

export async function streamLogs(
	logDir: string,
	{ lines, follow }: Routes["GET /api/v1/agents/:id/logs"]["query"],
	response: ServerResponse,
	gone: AbortSignal,
): Promise<void> {
	response.writeHead(200, { "content-type": "application/octet-stream" });
	const path = join(logDir, "current.log");
	const files = await openFrom(path, lines);
	try {
		let offset = 0;
		for (const [index, { file, from }] of files.entries()) {
			offset = await copyFrom(file, from, response);
			// What is rotated away while we read is still open here.
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

/** Goes on with what is added, in this file and in those that take its place. */
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
			await sleep(LOOK_EVERY_MS);
			if (file !== null) offset = await copyFrom(file, offset, response);
			const current = await openIfThere(path);
			if (current === null) continue;
			if (file !== null && (await sameFile(file, current))) {
				await current.close();
				continue;
			}
			// The log was rotated: what was left in the old file first, then the new one from its start.
			if (file !== null) {
				await copyFrom(file, offset, response);
				await file.close();
			}
			[file, offset] = [current, 0];
		}
	} finally {
		await file?.close();
	}
}

interface Opened {
	readonly file: FileHandle;
	readonly from: number;
}

/** The files that hold the last lines, oldest first, each with the place to begin at. */
async function openFrom(path: string, lines: number): Promise<Opened[]> {
	const opened: Opened[] = [];
	let left = lines;
	for (let age = 0; age <= OLDER_FILES && (age === 0 || left > 0); age++) {
		const file = await openIfThere(age === 0 ? path : `${path}.${age}`);
		if (file === null) break;
		const found = await findLines(file, left, age === 0);
		opened.unshift({ file, from: found.from });
		left = found.left;
	}
	return opened;
}

/** Where the last lines of a file begin, and how many of them would have to be in an older one. */
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
			// The newline at the very end ends the last line and begins none.
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

async function openIfThere(path: string): Promise<FileHandle | null> {
	try {
		return await open(path, "r");
	} catch {
		return null;
	}
}

async function sameFile(a: FileHandle, b: FileHandle): Promise<boolean> {
	const [one, other]: [Stats, Stats] = await Promise.all([a.stat(), b.stat()]);
	return one.ino === other.ino && one.dev === other.dev;
}

/** Copies from the offset to the end and gives the new offset. Waits for a reader that is behind. */
async function copyFrom(file: FileHandle, from: number, response: ServerResponse): Promise<number> {
	const buffer = Buffer.alloc(CHUNK_BYTES);
	let offset = from;
	for (;;) {
		const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
		if (bytesRead === 0 || response.destroyed) return offset;
		offset += bytesRead;
		const flushed = response.write(Buffer.from(buffer.subarray(0, bytesRead)));
		if (!flushed) await drained(response);
	}
}

/** Resolves when more may be written, or nobody reads any more. */
function drained(response: ServerResponse): Promise<void> {
	return new Promise((resolve) => {
		const done = () => {
			response.off("drain", done);
			response.off("close", done);
			resolve();
		};
		response.on("drain", done);
		response.on("close", done);
	});
}

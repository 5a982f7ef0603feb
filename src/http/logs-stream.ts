/** An agent's output as a stream: the last lines, then, for who follows, what is added, across rotations. */

import type { Stats } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Routes } from "./contract/routes.js";

const CHUNK_BYTES = 65_536;
const TAIL_BYTES_MAX = 4 * 1_048_576;
const LOOK_EVERY_MS = 150;

export async function streamLogs(
	logDir: string,
	{ lines, follow }: Routes["GET /api/v1/agents/:id/logs"]["query"],
	response: ServerResponse,
	gone: AbortSignal,
): Promise<void> {
	response.writeHead(200, { "content-type": "application/octet-stream" });
	const path = join(logDir, "current.log");
	let file = await openIfThere(path);
	let offset = file === null ? 0 : await tailOffset(file, lines);
	try {
		for (;;) {
			if (file !== null) offset = await copyFrom(file, offset, response);
			if (follow !== "1" || gone.aborted) break;
			await sleep(LOOK_EVERY_MS);
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
			file = current;
			offset = 0;
		}
	} finally {
		await file?.close();
		response.end();
	}
}

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

function drained(response: ServerResponse): Promise<void> {
	return new Promise((resolve) => {
		response.once("drain", resolve);
		response.once("close", resolve);
	});
}

/** Where the last `lines` lines begin, looking back a bounded way. */
async function tailOffset(file: FileHandle, lines: number): Promise<number> {
	const { size } = await file.stat();
	const start = Math.max(0, size - TAIL_BYTES_MAX);
	const buffer = Buffer.alloc(size - start);
	await file.read(buffer, 0, buffer.length, start);
	let at = buffer.length;
	// The newline that ends the last line does not begin another.
	for (let left = lines + 1; left > 0 && at > 0; left--) {
		at = at === 0 ? -1 : buffer.lastIndexOf(10, at - 1);
		if (at === -1) return start;
	}
	return start + at + (lines > 0 ? 1 : 0);
}

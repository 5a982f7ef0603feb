/** The usage records of CLIs, from the last read position on. */

import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { TimedReading, UsageCursor } from "../core/usage.js";
import type { NewUsage } from "../engine/runs/session-world.js";
import type { JsonRecord, UsageSource } from "../ports/adapter.js";

/** Per read; the rest follows with the next one. */
const BYTES_MAX = 8_388_608;

/** New lines of a record or of a file next to it; null if there are none. */
export async function readUsage(
	path: string,
	{ read, beside }: Pick<UsageSource, "read" | "beside">,
	cursor: UsageCursor | null,
): Promise<NewUsage | null> {
	const from = cursor?.path === path ? cursor : null;
	const added = await readLines(path, read, from?.offset ?? 0);
	if (added !== null) return { ...added, path, beside: null };
	if (beside === undefined) return null;
	const folder = beside(path);
	const names = await readdir(folder).catch(() => []);
	for (const name of names.filter((each) => each.endsWith(".jsonl"))) {
		const offset = Object.hasOwn(from?.beside ?? {}, name) ? (from?.beside?.[name] ?? 0) : 0;
		const more = await readLines(join(folder, name), read, offset);
		if (more !== null) return { ...more, path, beside: name };
	}
	return null;
}

/** The new lines; null if there are none. */
async function readLines(
	path: string,
	read: UsageSource["read"],
	from: number,
): Promise<Pick<NewUsage, "offset" | "readings"> | null> {
	const file = await open(path, "r");
	try {
		const { size } = await file.stat();
		// A shorter file was rewritten.
		const start = size < from ? 0 : from;
		const length = Math.min(size - start, BYTES_MAX);
		if (length === 0) return null;
		const buffer = Buffer.alloc(length);
		const { bytesRead } = await file.read(buffer, 0, length, start);
		const end = buffer.subarray(0, bytesRead).lastIndexOf("\n") + 1;
		// A line without an end is still being written, unless it is longer than any relevant one.
		const taken = end === 0 && bytesRead === BYTES_MAX ? bytesRead : end;
		if (taken === 0) return null;
		const lines = buffer.toString("utf8", 0, taken).split("\n");
		const readings = lines.flatMap((line) => readLine(line, read));
		return { offset: start + taken, readings };
	} finally {
		await file.close();
	}
}

function readLine(line: string, read: UsageSource["read"]): readonly TimedReading[] {
	if (!line.startsWith("{")) return [];
	try {
		const data = JSON.parse(line) as JsonRecord;
		const reading = read(data);
		if (reading === null) return [];
		const writtenAtMs = Date.parse(String(data["timestamp"]));
		return [{ ...reading, atMs: Number.isNaN(writtenAtMs) ? null : writtenAtMs }];
	} catch {
		return [];
	}
}

/** What CLIs write down of their usage, from where it was read to the last time. */

import { open } from "node:fs/promises";
import type { TimedReading } from "../core/usage.js";
import type { NewUsage } from "../engine/life-world.js";
import type { JsonRecord, UsageSource } from "../ports/adapter.js";

/** At once; what is beyond it comes with the next look. */
const BYTES_MAX = 8_388_608;

/** What lines were added; null when there are none. */
export async function readUsage(
	path: string,
	read: UsageSource["read"],
	from: number,
): Promise<NewUsage | null> {
	const file = await open(path, "r");
	try {
		const { size } = await file.stat();
		// One that became shorter was written anew.
		const start = size < from ? 0 : from;
		const length = Math.min(size - start, BYTES_MAX);
		if (length === 0) return null;
		const buffer = Buffer.alloc(length);
		const { bytesRead } = await file.read(buffer, 0, length, start);
		const end = buffer.subarray(0, bytesRead).lastIndexOf("\n") + 1;
		// A line without an end is still being written, unless it is longer than any that matters.
		const taken = end === 0 && bytesRead === BYTES_MAX ? bytesRead : end;
		if (taken === 0) return null;
		const lines = buffer.toString("utf8", 0, taken).split("\n");
		const readings = lines.flatMap((line) => readLine(line, read));
		return { path, offset: start + taken, readings };
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
		const saidMs = Date.parse(String(data["timestamp"]));
		return [{ ...reading, atMs: Number.isNaN(saidMs) ? null : saidMs }];
	} catch {
		return [];
	}
}

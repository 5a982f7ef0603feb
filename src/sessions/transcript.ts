/** The end of a conversation's transcript, in the format of its CLI: one JSON text per line. */

import { open, stat } from "node:fs/promises";
import type { AgentSign } from "../core/sign.js";
import type { AgentAdapter, JsonRecord, SignReaderAt } from "../ports/adapter.js";

const BYTES_MAX = 262_144;
const LINES_MAX = 200;

const KNOWN_MAX = 500;

/** Reads a transcript only if it has changed: it is checked every second. */
export function createTranscriptReader() {
	const known = new Map<string, { changed: string; signs: readonly AgentSign[] }>();
	return {
		async read(path: string, adapter: AgentAdapter, readerAt: SignReaderAt) {
			const { mtimeMs, size } = await stat(path);
			const changed = `${mtimeMs} ${size}`;
			const before = known.get(path);
			if (before?.changed === changed) return before.signs;
			const signs = await readTranscriptEnd(path, adapter, readerAt);
			if (known.size >= KNOWN_MAX) known.clear();
			known.set(path, { changed, signs });
			return signs;
		},
	};
}

async function readTranscriptEnd(
	path: string,
	{ readTranscript }: AgentAdapter,
	readerAt: SignReaderAt,
): Promise<readonly AgentSign[]> {
	if (readTranscript === undefined) return [];
	const { text, changedAtMs } = await readEnd(path);
	return text
		.split("\n")
		.slice(-LINES_MAX)
		.flatMap((line): readonly AgentSign[] => {
			const data = parseLine(line);
			if (data === null) return [];
			const reported = Date.parse(String(data["timestamp"]));
			const atMs = Number.isNaN(reported) ? changedAtMs : reported;
			const meaning = readTranscript(data, readerAt(atMs));
			if (meaning === null) return [];
			return [{ ...meaning, source: "transcript", name: String(data["type"] ?? "line"), atMs }];
		});
}

async function readEnd(path: string): Promise<{ text: string; changedAtMs: number }> {
	const file = await open(path, "r");
	try {
		const { size, mtimeMs } = await file.stat();
		const length = Math.min(size, BYTES_MAX);
		const buffer = Buffer.alloc(length);
		await file.read(buffer, 0, length, size - length);
		return { text: buffer.toString("utf8"), changedAtMs: mtimeMs };
	} finally {
		await file.close();
	}
}

/** The first line may be truncated, and the last one incomplete. */
function parseLine(line: string): JsonRecord | null {
	if (!line.startsWith("{")) return null;
	try {
		return JSON.parse(line) as JsonRecord;
	} catch {
		return null;
	}
}

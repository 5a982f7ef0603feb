/**
 * The files that a CLI writes in addition to the transcript: its own log, or telemetry. Records are JSON texts, on one
 * line or indented over several, or lines of text. Each is read once, as it is written. Files in the agent's own
 * directory are truncated when they were read completely and have grown large, since no CLI does that (A6).
 */

import { open, rm, truncate } from "node:fs/promises";
import { sep } from "node:path";
import type { AgentSign } from "../core/sign.js";
import type { AgentAdapter, JsonRecord, SignReaderAt } from "../ports/adapter.js";
import { chooseFiles, findFiles } from "./find-files.js";

/** Read per check. Older data is skipped. */
const READ_BYTES_MAX = 4_194_304;
/** A file in Reeve's own directory is truncated above this size. */
const FILE_BYTES_MAX = 1_048_576;
/** Of an incomplete record. */
const REST_LENGTH_MAX = 2_097_152;
const SIGNS_MAX = 200;
const FILES_MAX = 2;

interface Place {
	readonly offset: number;
	/** The start of an incomplete record. */
	readonly rest: string;
}

export interface SessionLogReader {
	/** The meaning of the records, oldest first. */
	read(path: string, readerAt: SignReaderAt): Promise<readonly AgentSign[]>;
}

/** Reads the logs of one agent. `folder` is its own directory. */
export function createSessionLogReader(
	folder: string,
	{ readLog }: Pick<AgentAdapter, "readLog">,
): SessionLogReader {
	const places = new Map<string, Place>();
	let signs: readonly AgentSign[] = [];

	function meaningOf(record: JsonRecord, readerAt: SignReaderAt): AgentSign | null {
		const writtenMs = timeOf(record);
		const meaning = readLog?.(record, readerAt(writtenMs)) ?? null;
		if (meaning === null) return null;
		const { atMs = writtenMs, ...rest } = meaning;
		return { ...rest, source: "transcript", name: "log", atMs };
	}

	async function readMore(path: string, readerAt: SignReaderAt): Promise<void> {
		const { offset, rest } = places.get(path) ?? { offset: 0, rest: "" };
		const more = await readFrom(path, offset);
		if (more === null) return;
		const split = splitRecords(more.isWhole ? rest + more.text : more.text);
		const found = split.records.flatMap((record) => meaningOf(record, readerAt) ?? []);
		signs = [...signs, ...found].slice(-SIGNS_MAX);
		const isRead = split.rest === "" && more.end >= FILE_BYTES_MAX;
		const isOwn = path.startsWith(`${folder}${sep}`);
		if (isRead && isOwn && (await emptyUnlessGrown(path, more.end))) {
			places.set(path, { offset: 0, rest: "" });
		} else places.set(path, { offset: more.end, rest: split.rest });
	}

	return {
		async read(path, readerAt) {
			const files = await chooseFiles(await findFiles(path), FILES_MAX);
			for (const known of places.keys()) if (!files.includes(known)) places.delete(known);
			for (const file of files) await readMore(file, readerAt).catch(() => undefined);
			return signs;
		},
	};
}

/** Removes the logs of an earlier run from the agent's own directory. */
export async function removeOldLogs(folder: string, path: string): Promise<void> {
	if (!path.startsWith(`${folder}${sep}`)) return;
	for (const file of await findFiles(path)) await rm(file, { force: true });
}

/** The CLI appends, so a truncated file continues at its start. False if it has grown in the meantime. */
async function emptyUnlessGrown(path: string, size: number): Promise<boolean> {
	const file = await open(path, "r");
	try {
		if ((await file.stat()).size !== size) return false;
	} finally {
		await file.close();
	}
	await truncate(path, 0);
	return true;
}

/** The text that was written since; null if there is none. */
async function readFrom(
	path: string,
	offset: number,
): Promise<{ readonly text: string; readonly end: number; readonly isWhole: boolean } | null> {
	const file = await open(path, "r");
	try {
		const { size } = await file.stat();
		if (size === offset) return null;
		// A file that has become shorter was restarted.
		const known = size < offset ? 0 : offset;
		const from = Math.max(known, size - READ_BYTES_MAX);
		const buffer = Buffer.alloc(size - from);
		const { bytesRead } = await file.read(buffer, 0, buffer.length, from);
		// Complete lines only: the last character may be incomplete.
		const cut = buffer.subarray(0, bytesRead).lastIndexOf(10) + 1;
		const isWhole = from === offset;
		return { text: buffer.toString("utf8", 0, cut), end: from + cut, isWhole };
	} finally {
		await file.close();
	}
}

/** The records of a text of complete lines, and the lines of an incomplete record. */
export function splitRecords(text: string): {
	readonly records: readonly JsonRecord[];
	readonly rest: string;
} {
	const records: JsonRecord[] = [];
	let opened: string[] | null = null;
	const lines = text.split("\n");
	// The text after the last newline.
	lines.pop();
	for (const line of lines) {
		if (opened === null && line === "{") opened = [line];
		else if (opened !== null) {
			opened.push(line);
			if (line !== "}") continue;
			const record = parse(opened.join("\n"));
			if (record !== null) records.push(record);
			opened = null;
		} else {
			const record = recordOf(line);
			if (record !== null) records.push(record);
		}
	}
	const rest = opened === null ? "" : `${opened.join("\n")}\n`;
	return { records, rest: rest.length > REST_LENGTH_MAX ? "" : rest };
}

function parse(text: string): JsonRecord | null {
	try {
		const value: unknown = JSON.parse(text);
		return typeof value === "object" && value !== null ? (value as JsonRecord) : null;
	} catch {
		return null;
	}
}

const LINE_LENGTH_MAX = 65_536;

/** A JSON text, or a line of text with an optional JSON object at its end. */
function recordOf(line: string): JsonRecord | null {
	if (line.trim() === "") return null;
	if (line.startsWith("{")) return parse(line);
	if (line.length > LINE_LENGTH_MAX) return null;
	const at = line.indexOf(" {");
	const fields = at < 0 ? null : parse(line.slice(at + 1));
	return { ...fields, text: line };
}

const STAMP = /^\[?(\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d+)?(?:Z|[+-]\d{2}:?\d{2}))/;

/** Its own time if it has one; otherwise now. */
function timeOf(record: JsonRecord): number {
	const reported = [
		record["timestamp"],
		record["time"],
		STAMP.exec(String(record["text"] ?? ""))?.[1],
	];
	const times = reported.map((each) => (typeof each === "string" ? Date.parse(each) : Number.NaN));
	return times.find((time) => !Number.isNaN(time)) ?? Date.now();
}

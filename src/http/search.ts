/**
 * Searches logs and transcripts of agents, newest line first. Blocks that cannot contain the text are
 * not read. Each search is bounded in time and in bytes (A6), and reports what it did not reach.
 */

import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import type { Arrival } from "../core/log-times.js";
import { filterBits, foldCase } from "../core/search-filter.js";
import type { Routes } from "./contract/routes.js";
import { logFileName, openRotatedFiles } from "./log-files.js";
import { FileTimes } from "./log-reader.js";
import {
	type Block,
	blocksBefore,
	linesOfBlock,
	NO_INDEX,
	readIndex,
	type SearchKind,
	searchText,
} from "./search-blocks.js";

const TEXT_LENGTH_MAX = 2_000;
const BYTES_MAX = 256 * 1024 * 1024;

/** Where the index of a file is, by the identity of the file, which survives a rename. */
export function indexPath(folder: string, fileName: string): string {
	return join(folder, `v1-${fileName}`);
}

interface SearchedFile {
	readonly kind: SearchKind;
	readonly path: string;
	readonly file: FileHandle;
	/** Its inode and creation time. */
	readonly name: string;
	readonly size: number;
	/** Null for transcripts. */
	readonly times: FileTimes | null;
}

interface Match {
	readonly kind: SearchKind;
	readonly path: string;
	/** `FILE:OFFSET` of the line. */
	readonly position: string;
	readonly offset: number;
	readonly text: string;
	readonly isCut: boolean;
	readonly before: readonly string[];
	readonly after: readonly string[];
	/** Null if nothing is known. */
	readonly arrival: Arrival | null;
}

interface Search {
	readonly text: string;
	/** Lines before and after each match, within its block. */
	readonly context: number;
	readonly redact: (text: string) => string;
	/** The folder with the indexes. */
	readonly indexes: string;
	readonly untilMs: number;
	/** Counts while searching. */
	readonly read: { bytes: number };
}

/** Opens the files of an agent's log, newest first. */
async function openLogFiles(folder: string): Promise<SearchedFile[]> {
	const opened = await openRotatedFiles(join(folder, "current.log"));
	const files = await Promise.all(
		opened.map(async (file) => ({
			kind: "log" as const,
			path: folder,
			file,
			name: await logFileName(file),
			size: (await file.stat()).size,
			times: new FileTimes(folder, file),
		})),
	);
	return files.reverse();
}

/** Opens a transcript; null if it is gone. */
async function openTranscript(path: string): Promise<SearchedFile | null> {
	const file = await open(path, "r").catch(() => null);
	if (file === null) return null;
	const { dev, size } = await file.stat();
	const name = `${dev}.${await logFileName(file)}`;
	return { kind: "transcript", path, file, name, size, times: null };
}

/** Whether the search has used its time or bytes. */
function isOver({ untilMs, read }: Search): boolean {
	return performance.now() > untilMs || read.bytes > BYTES_MAX;
}

/** The matches in a file before an offset, newest first, by block. */
async function* searchFile(
	searched: SearchedFile,
	before: number,
	search: Search,
): AsyncGenerator<{ readonly start: number; readonly matches: readonly Match[] }> {
	for await (const block of candidateBlocks(searched, before, search)) {
		search.read.bytes += block.bytes.length;
		yield { start: block.start, matches: await matchesIn(searched, block, search) };
	}
}

interface Searched {
	readonly matches: readonly Match[];
	/** Where the search continues; null if everything was searched. */
	readonly next: string | null;
}

/** Searches files one after another. At least one block is searched, so that pages make progress. */
async function searchFiles(
	files: readonly SearchedFile[],
	before: number,
	limit: number,
	search: Search,
): Promise<Searched> {
	const found: Match[] = [];
	for (const [index, file] of files.entries()) {
		const end = index === 0 ? before : file.size;
		for await (const { start, matches } of searchFile(file, end, search)) {
			found.push(...matches);
			const isEnd = start === 0 && index === files.length - 1;
			if (found.length > limit || (found.length === limit && !isEnd)) {
				const page = found.slice(0, limit);
				return { matches: page, next: page.at(-1)?.position ?? null };
			}
			if (isOver(search) && !isEnd) return { matches: found, next: `${file.name}:${start}` };
		}
	}
	return { matches: found, next: null };
}

type LogSearch = Routes["GET /api/v1/agents/:id/logs/search"];
const LOG_MS_MAX = 500;

/** One page of matches in an agent's log. */
export async function searchLog(
	logDir: string,
	{ text, before, limit }: LogSearch["query"],
	{ redact, indexes }: Pick<Search, "redact" | "indexes">,
): Promise<LogSearch["reply"]> {
	const files = await openLogFiles(logDir);
	try {
		const [name, offset = "0"] = before?.split(":") ?? [];
		const at = name === undefined ? 0 : files.findIndex((file) => file.name === name);
		const [first] = at === -1 ? [] : files.slice(at);
		const end = name === undefined ? (first?.size ?? 0) : Number(offset);
		const read = { bytes: 0 };
		const untilMs = performance.now() + LOG_MS_MAX;
		const search = { text, context: 0, redact, indexes, untilMs, read };
		const rest = first === undefined ? [] : files.slice(at);
		const { matches, next } = await searchFiles(
			rest,
			Math.min(end, first?.size ?? 0),
			limit,
			search,
		);
		return {
			matches: matches.map(({ position, text: shown, isCut }) => ({
				position,
				text: shown,
				...(isCut && { cut: true as const }),
			})),
			next,
			searched_bytes: read.bytes,
		};
	} finally {
		for (const { file } of files) await file.close();
	}
}

type FleetSearch = Routes["GET /api/v1/search"];
const FLEET_MS_MAX = 5_000;

export interface SearchedAgent {
	readonly id: string;
	/** Null without a log. */
	readonly logDir: string | null;
	readonly transcripts: readonly string[];
}

/** Searches the logs and transcripts of agents. */
export async function searchAgents(
	agents: readonly SearchedAgent[],
	{ text, limit, context }: Pick<FleetSearch["query"], "text" | "limit" | "context">,
	{ redact, indexes }: Pick<Search, "redact" | "indexes">,
): Promise<FleetSearch["reply"]> {
	const startedMs = performance.now();
	const read = { bytes: 0 };
	const search = { text, context, redact, indexes, untilMs: startedMs + FLEET_MS_MAX, read };
	const found: (Match & { readonly agent: string })[] = [];
	const incomplete = new Set<string>();
	let total = 0;
	for (const { id: agent, logDir, transcripts } of agents) {
		if (isOver(search)) {
			incomplete.add(agent);
			continue;
		}
		const logs = logDir === null ? [] : await openLogFiles(logDir);
		const records = await Promise.all(transcripts.map(openTranscript));
		const groups = [logs, ...records.map((each) => (each === null ? [] : [each]))];
		try {
			for (const files of groups) {
				const [first] = files;
				if (first === undefined) continue;
				const searched = await searchFiles(files, first.size, limit, search);
				found.push(...searched.matches.map((match) => ({ ...match, agent })));
				if (searched.next !== null) incomplete.add(agent);
			}
		} finally {
			for (const { file, size } of groups.flat()) {
				total += size;
				await file.close();
			}
		}
	}
	const newest = found.sort((a, b) => (b.arrival?.atMs ?? 0) - (a.arrival?.atMs ?? 0));
	return {
		matches: newest.slice(0, limit).map(renderMatch),
		incomplete: [...incomplete],
		bytes: total,
		read_bytes: read.bytes,
		took_ms: Math.round(performance.now() - startedMs),
	};
}

function renderMatch(
	match: Match & { readonly agent: string },
): FleetSearch["reply"]["matches"][number] {
	const { agent, kind, path, position, offset, text, isCut, before, after, arrival } = match;
	const isLog = kind === "log";
	return {
		agent,
		kind,
		text,
		before,
		after,
		...(isCut && { cut: true as const }),
		at: arrival === null ? null : new Date(arrival.atMs).toISOString(),
		until: arrival?.untilMs == null ? null : new Date(arrival.untilMs).toISOString(),
		position: isLog ? position : null,
		file: isLog ? null : path,
		offset: isLog ? null : offset,
	};
}

async function* candidateBlocks(
	{ file, name }: SearchedFile,
	before: number,
	{ text, indexes }: Search,
): AsyncGenerator<Block & { readonly bytes: Buffer }> {
	const bits = filterBits(text);
	const index = await open(indexPath(indexes, name), "r").catch(() => null);
	const { end, candidates } =
		index === null
			? NO_INDEX
			: await readIndex(index, file, bits).finally(() => index.close().catch(() => {}));
	yield* blocksBefore(file, { start: end, end: before });
	for (const { start, end } of candidates.toReversed()) {
		yield* blocksBefore(file, { start, end: Math.min(end, before) });
	}
}

async function matchesIn(
	{ kind, name, path, times }: SearchedFile,
	{ start, bytes }: Block & { readonly bytes: Buffer },
	{ text: wanted, context, redact }: Search,
): Promise<readonly Match[]> {
	const folded = foldCase(wanted);
	const lines: { readonly offset: number; readonly text: string }[] = [];
	const found: number[] = [];
	for (const [offset, line] of linesOfBlock(bytes)) {
		const text = redact(searchText(kind, line));
		if (foldCase(text).includes(folded)) found.push(lines.length);
		lines.push({ offset: start + offset, text });
	}
	if (found.length > 0) await times?.read();
	const textsOf = (from: number, to: number) =>
		lines.slice(Math.max(0, from), to).map(({ text }) => text.slice(0, TEXT_LENGTH_MAX));
	return found.toReversed().map((at) => {
		const { offset, text } = lines[at] as (typeof lines)[number];
		const shown = excerpt(text, foldCase(text).indexOf(folded));
		return {
			kind,
			path,
			position: `${name}:${offset}`,
			offset,
			text: shown,
			isCut: shown.length < text.length,
			before: textsOf(at - context, at),
			after: textsOf(at + 1, at + 1 + context),
			arrival: times?.arrivalAt(offset) ?? recordTime(bytes.subarray(offset - start)),
		};
	});
}

const RECORD_TIME = /"(?:timestamp|time|created_at)":"(\d{4}-\d{2}-\d{2}T[\d:.]+Z)"/;

/** The time that a record of a transcript contains. */
function recordTime(bytes: Buffer): Arrival | null {
	const newline = bytes.indexOf(0x0a);
	const line = bytes.toString("latin1", 0, newline === -1 ? bytes.length : newline);
	const atMs = Date.parse(RECORD_TIME.exec(line)?.[1] ?? "");
	return Number.isNaN(atMs) ? null : { atMs, untilMs: null };
}

/** The part of a long line around a match. */
function excerpt(text: string, at: number): string {
	if (text.length <= TEXT_LENGTH_MAX) return text;
	const start = Math.max(0, at - TEXT_LENGTH_MAX / 4);
	return text.slice(start, start + TEXT_LENGTH_MAX);
}

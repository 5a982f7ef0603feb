/**
 * The output of several agents as one stream of lines, merged by time. The lines of one agent keep
 * their order, even if the clock was set back. Every line carries the position of the next one, so an
 * interrupted reader continues without loss or repetition, also with another daemon.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { ReeveError } from "../core/errors.js";
import type { Arrival } from "../core/log-times.js";
import { compilePattern, type Pattern, patternProblem } from "../core/pattern.js";
import type { Routes } from "./contract/routes.js";
import type { MergedLogJson } from "./contract/streams.js";
import { findLastLines, textOf } from "./log-lines.js";
import { LogReader, type ReadItem } from "./log-reader.js";
import { STREAM_LIMITS, type StreamOutput } from "./stream-output.js";

type Query = Routes["GET /api/v1/logs"]["query"];

const POLL_MS = 150;
const ROUND_LINES = 500;
/** Each holds a file open and a chunk in memory (A6). */
export const MERGED_AGENTS_MAX = 200;

export interface MergedParts {
	readonly agents: readonly string[];
	readonly logDirOf: (agentId: string) => string;
	readonly redact: (text: string) => string;
}

interface Filter {
	readonly pattern: Pattern | null;
	readonly sinceMs: number;
	readonly untilMs: number;
}

/** Throws `usage` for a query that makes no sense. */
export function checkMergedQuery({ grep, follow, until }: Query): void {
	const problem = grep === undefined ? null : patternProblem(grep);
	if (problem !== null) {
		throw new ReeveError("usage", `invalid pattern ${JSON.stringify(grep)}: ${problem}`);
	}
	if (follow === "1" && until !== undefined) {
		throw new ReeveError("usage", "`follow` and `until` cannot be combined", "Remove one of them.");
	}
}

export async function streamMergedLogs(
	parts: MergedParts,
	query: Query,
	output: StreamOutput,
	gone: AbortSignal,
): Promise<void> {
	const filter: Filter = {
		pattern:
			query.grep === undefined
				? null
				: compilePattern(query.grep, { ignoreCase: query.ignore_case === "1" }),
		sinceMs: query.since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(query.since),
		untilMs: query.until === undefined ? Number.POSITIVE_INFINITY : Date.parse(query.until),
	};
	const sources = parts.agents.map((agent) => new Source(agent, parts, filter));
	const send = (item: MergedLogJson) => output.write(`${JSON.stringify(item)}\n`);
	try {
		const from = query.from?.split(",");
		for (const [index, source] of sources.entries()) {
			for (const item of await source.open(query, from?.[index])) await send(item);
			if (gone.aborted) return;
		}
		await sendMerged(sources, send, { isLast: query.follow !== "1", gone });
		let silentMs = 0;
		while (query.follow === "1" && !gone.aborted) {
			await sleep(POLL_MS, null, { signal: gone }).catch(() => {});
			const sent = await sendMerged(sources, send, { isLast: false, gone });
			silentMs = sent > 0 ? 0 : silentMs + POLL_MS;
			if (silentMs < STREAM_LIMITS.heartbeatMs) continue;
			await output.write("\n");
			silentMs = 0;
		}
	} finally {
		for (const source of sources) await source.close();
	}
}

interface Merging {
	/** Whether lines without an end are sent too. */
	readonly isLast: boolean;
	readonly gone: AbortSignal;
}

/** Sends everything that is stored, the earliest line first. Returns the number of lines. */
async function sendMerged(
	sources: readonly Source[],
	send: (item: MergedLogJson) => Promise<void>,
	{ isLast, gone }: Merging,
): Promise<number> {
	let sent = 0;
	let open: Source[] = [];
	while (!gone.aborted) {
		// Checked repeatedly: one agent that never stops printing must not delay the others.
		if (open.length === 0 || sent % ROUND_LINES === 0) open = await filled(sources, isLast);
		if (open.length === 0) break;
		const source = open.reduce((a, b) => (b.headMs < a.headMs ? b : a));
		await send(source.take());
		sent += 1;
		if (!(await source.fill(isLast))) open.splice(open.indexOf(source), 1);
	}
	return sent;
}

async function filled(sources: readonly Source[], isLast: boolean): Promise<Source[]> {
	const open: Source[] = [];
	for (const source of sources) if (await source.fill(isLast)) open.push(source);
	return open;
}

/** One agent's lines, a chunk at a time. */
class Source {
	readonly #agent: string;
	readonly #folder: string;
	readonly #redact: (text: string) => string;
	readonly #filter: Filter;
	readonly #reader: LogReader;
	#queue: readonly MergedLogJson[] = [];
	#at = 0;
	/** Of the last line, for items without a time. */
	#lastMs = 0;

	constructor(agent: string, { logDirOf, redact }: MergedParts, filter: Filter) {
		this.#agent = agent;
		this.#folder = logDirOf(agent);
		this.#redact = redact;
		this.#filter = filter;
		this.#reader = new LogReader(this.#folder);
	}

	/** Opens the log where the query starts; returns what the reader must know first. */
	async open(
		{ lines, since, until }: Query,
		from: string | undefined,
	): Promise<readonly MergedLogJson[]> {
		const [reader, agent] = [this.#reader, this.#agent];
		let removed = false;
		if (from !== undefined) removed = await reader.openAt(from);
		else if (since !== undefined) await reader.openSince(this.#filter.sinceMs);
		else if (lines === 0) await reader.openAtEnd();
		else {
			const accepts = (text: string, arrival: Arrival) => this.#accepts(text, arrival);
			const isFiltered = this.#filter.pattern !== null || until !== undefined;
			const only = isFiltered ? accepts : null;
			const start = await findLastLines(this.#folder, lines, only, this.#redact);
			await reader.openAt(start ?? "start:0");
		}
		return [{ agent, next: reader.position, ...(removed && { removed }) }];
	}

	/** Reads until there is a line; false at the end of what is stored. */
	async fill(isLast: boolean): Promise<boolean> {
		while (this.#at >= this.#queue.length) {
			const items = await this.#reader.read({ isLast });
			if (items.length === 0) return false;
			this.#queue = items.flatMap((item) => this.#render(item) ?? []);
			this.#at = 0;
		}
		return true;
	}

	get headMs(): number {
		const at = this.#queue[this.#at]?.at;
		return at === undefined ? this.#lastMs : Date.parse(at);
	}

	take(): MergedLogJson {
		const item = this.#queue[this.#at] as MergedLogJson;
		this.#lastMs = this.headMs;
		this.#at += 1;
		return item;
	}

	close(): Promise<void> {
		return this.#reader.close();
	}

	#render(item: ReadItem): MergedLogJson | null {
		const agent = this.#agent;
		if ("removed" in item) return { agent, ...item };
		const text = textOf(item, this.#redact);
		if (!this.#accepts(text, item.arrival)) return null;
		const { atMs, untilMs } = item.arrival;
		const until = untilMs === null ? {} : { until: new Date(untilMs).toISOString() };
		return { agent, at: new Date(atMs).toISOString(), ...until, text, next: item.next };
	}

	#accepts(text: string, { atMs, untilMs }: Arrival): boolean {
		const { pattern, sinceMs, untilMs: endMs } = this.#filter;
		return (untilMs ?? atMs) >= sinceMs && atMs < endMs && (pattern?.test(text) ?? true);
	}
}

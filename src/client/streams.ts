/** The daemon's streams, events and logs, each of which can continue over a new connection. */

import type { IncomingMessage } from "node:http";
import { ReeveError } from "../core/errors.js";
import type { ReeveEvent } from "../core/events.js";
import type { LiveResources, MergedLogJson } from "../http/contract/streams.js";
import type { Address } from "./address.js";
import { bytesOf, pathOf, send } from "./connection.js";
import { type Opened, reopening, type StreamOptions, untilAborted } from "./reopen.js";

/** Options of `client.events()`. */
export interface EventOptions extends StreamOptions {
	/** Only events after this sequence number; 0 for all stored events. */
	readonly after: number;
	/** Only events of this agent. */
	readonly agent?: string | undefined;
	/** Types, or groups of types with a trailing dot: `agent.exited,task.`. */
	readonly type?: string | undefined;
	/** Continues with new events and reconnects when necessary. */
	readonly follow: boolean;
	/** With `follow`: the daemon measures the resources of the agents, and this is called with each reading. */
	readonly onResources?: ((reading: LiveResources) => void) | undefined;
}

/** Options of `client.logs()`. */
export interface LogOptions extends StreamOptions {
	/** The number of last lines. */
	readonly lines: number;
	/** Continues with new output and reconnects when necessary. */
	readonly follow: boolean;
}

/** Options of `client.mergedLogs()`. */
export interface MergedLogOptions extends StreamOptions {
	/** Agents as `project:agent`. */
	readonly agents: readonly string[];
	/** The number of last lines of each agent that match; not used with `since`. */
	readonly lines?: number | undefined;
	/** Only lines that arrived at or after this time, ISO 8601. */
	readonly since?: string | undefined;
	/** Only lines that arrived before this time. */
	readonly until?: string | undefined;
	/** Only lines that match this pattern, in the syntax of RE2. */
	readonly grep?: string | undefined;
	readonly ignoreCase?: boolean | undefined;
	/** Continues with new output and reconnects when necessary. */
	readonly follow: boolean;
}

/** A line of `client.mergedLogs()`. */
export interface MergedLine {
	readonly agent: string;
	readonly text: string;
	/** When it arrived, ISO 8601. */
	readonly at: string;
	/** The latest time at which it can have arrived; null if `at` is exact. */
	readonly until: string | null;
	/** Whether older output of the agent was removed before this line could be read. */
	readonly afterRemoved: boolean;
}

/** How long the daemon may take to respond, and to send a heartbeat, which comes every 15 seconds. */
const ANSWER_MS_MAX = 10_000;
const SILENCE_MS_MAX = 60_000;

export function streamEvents(address: Address, options: EventOptions): AsyncGenerator<ReeveEvent> {
	const { after, agent, type, follow, signal, onResources } = options;
	const query = new URLSearchParams({
		after: String(after),
		...(agent && { agent }),
		...(type && { type }),
		...(follow && { follow: "1" }),
		...(follow && onResources && { live: "resources" }),
	});
	const path = `${pathOf("GET /api/v1/events")}?${query}`;
	let last: string | null = null;

	async function* read(response: IncomingMessage): AsyncGenerator<ReeveEvent> {
		for await (const { id, name, data } of parseEventStream(bytesOf(response, address))) {
			last = id ?? last;
			if (data === null) continue;
			if (name === "resources") onResources?.(JSON.parse(data) as LiveResources);
			else if (name === null) yield JSON.parse(data) as ReeveEvent;
		}
	}
	const open = async (): Promise<Opened<ReeveEvent>> => {
		const headers = last === null ? {} : { "last-event-id": last };
		const response = await openStream(address, path, headers, signal);
		if (follow) cutWhenSilent(response);
		return { items: read(response), gap: false };
	};
	return untilAborted(follow ? reopening(open, options) : once(open), signal);
}

export function streamLogs(
	address: Address,
	id: string,
	options: LogOptions,
): AsyncGenerator<Uint8Array> {
	const { lines, follow, signal } = options;
	const query = new URLSearchParams({ lines: String(lines), ...(follow && { follow: "1" }) });
	let position: LogPosition | null = null;

	async function* read(response: IncomingMessage): AsyncGenerator<Uint8Array> {
		for await (const bytes of bytesOf(response, address)) {
			if (position !== null) position.offset += bytes.length;
			yield bytes;
		}
	}
	const open = async (): Promise<Opened<Uint8Array>> => {
		const asked = position === null ? null : `${position.file}:${position.offset}`;
		if (asked !== null) query.set("from", asked);
		const path = `${pathOf("GET /api/v1/agents/:id/logs", id)}?${query}`;
		const response = await openStream(address, path, {}, signal);
		const header = response.headers["x-log-position"];
		position = parsePosition(header);
		return { items: read(response), gap: asked !== null && header !== asked };
	};
	return untilAborted(follow ? reopening(open, options) : once(open), signal);
}

export function streamMergedLogs(
	address: Address,
	options: MergedLogOptions,
): AsyncGenerator<MergedLine> {
	const { agents, lines, since, until, grep, ignoreCase, follow, signal } = options;
	const query = new URLSearchParams({
		agents: agents.join(","),
		...(lines !== undefined && { lines: String(lines) }),
		...(since && { since }),
		...(until && { until }),
		...(grep !== undefined && { grep }),
		...(ignoreCase && { ignore_case: "1" }),
		...(follow && { follow: "1" }),
	});
	/** The position of each agent's next line. */
	const next = new Map<string, string>();
	const removed = new Set<string>();

	async function* read(response: IncomingMessage): AsyncGenerator<MergedLine> {
		for await (const line of linesOf(bytesOf(response, address))) {
			if (line === "") continue;
			const { agent, ...item } = JSON.parse(line) as MergedLogJson;
			if (item.removed) removed.add(agent);
			next.set(agent, item.next);
			const { text, at, until: latest = null } = item;
			if (text === undefined || at === undefined) continue;
			yield { agent, text, at, until: latest, afterRemoved: removed.delete(agent) };
		}
	}
	const open = async (): Promise<Opened<MergedLine>> => {
		// An agent without a position was not reached: everything is read again.
		const known = agents.map((agent) => next.get(agent));
		if (known.every((each) => each !== undefined)) query.set("from", known.join(","));
		const path = `${pathOf("GET /api/v1/logs")}?${query}`;
		const response = await openStream(address, path, {}, signal);
		if (follow) cutWhenSilent(response);
		return { items: read(response), gap: false };
	};
	return untilAborted(follow ? reopening(open, options) : once(open), signal);
}

interface LogPosition {
	readonly file: string;
	/** From the start of this file, also if it continues in the next one. */
	offset: number;
}

function parsePosition(header: string | string[] | undefined): LogPosition | null {
	const [, file, offset] = /^([\w.]+):(\d{1,15})$/.exec(String(header)) ?? [];
	return file === undefined ? null : { file, offset: Number(offset) };
}

async function* once<Item>(open: () => Promise<Opened<Item>>): AsyncGenerator<Item> {
	yield* (await open()).items;
}

/** Limits the wait for the response, but not the following stream. */
async function openStream(
	address: Address,
	path: string,
	headers: Readonly<Record<string, string>>,
	signal: AbortSignal | undefined,
): Promise<IncomingMessage> {
	const patience = new AbortController();
	const timer = setTimeout(() => {
		patience.abort(new DOMException("no response in time", "TimeoutError"));
	}, ANSWER_MS_MAX);
	const either = signal ? AbortSignal.any([signal, patience.signal]) : patience.signal;
	try {
		return await send(address, { method: "GET", path, headers, signal: either });
	} finally {
		clearTimeout(timer);
	}
}

/** A host that disappeared closes no connection: missing heartbeats reveal it. */
function cutWhenSilent(response: IncomingMessage): void {
	response.setTimeout(SILENCE_MS_MAX, () => {
		response.destroy(Object.assign(new Error("no heartbeat"), { code: "ECONNRESET" }));
	});
}

interface ServerSentEvent {
	/** The last id that was sent; null if there is none yet. */
	readonly id: string | null;
	/** Null for an event of the log. */
	readonly name: string | null;
	/** Null if only the position has changed. */
	readonly data: string | null;
}

/** Complete events only: a truncated event and its id are dropped. */
async function* parseEventStream(
	bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<ServerSentEvent> {
	let id: string | null = null;
	let name: string | null = null;
	let data: string | null = null;
	for await (const line of linesOf(bytes)) {
		if (line.startsWith("id: ")) id = line.slice(4);
		else if (line.startsWith("event: ")) name = line.slice(7);
		else if (line.startsWith("data: ")) data = line.slice(6);
		else if (line === "") {
			yield { id, name, data };
			name = null;
			data = null;
		}
	}
}

/** Many times the length of any line of a daemon (A6). */
const LINE_LENGTH_MAX = 64 * 1_048_576;

async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
	const decoder = new TextDecoder();
	/** The line that has not ended yet, in pieces: each is looked at once, however many there are. */
	let pieces: string[] = [];
	let length = 0;
	for await (const chunk of stream) {
		const [first = "", ...lines] = decoder.decode(chunk, { stream: true }).split("\n");
		pieces.push(first);
		length += first.length;
		if (length > LINE_LENGTH_MAX) {
			throw new ReeveError("internal", `a line has more than ${LINE_LENGTH_MAX} characters`);
		}
		const last = lines.pop();
		if (last === undefined) continue;
		yield pieces.join("");
		yield* lines;
		pieces = [last];
		length = last.length;
	}
}

/** Speaks to a daemon: one typed function for every request, and the streams. */

import { connect } from "node:net";
import { text } from "node:stream/consumers";
import WebSocket from "ws";
import type { ReeveEvent } from "../core/events.js";
import type { JsonRouteName, RouteName, Routes } from "../http/contract/routes.js";
import type { Address } from "./address.js";
import {
	explain,
	failureOf,
	isSecure,
	send,
	strangeAnswer,
	tokenHeader,
	told,
} from "./connection.js";

export interface CallOptions<Name extends RouteName> {
	/** Fills the `:id` or `:scope` of the path. */
	readonly place?: string;
	readonly query?: Routes[Name]["sentQuery"];
	readonly body?: Routes[Name]["body"];
	/** Makes one of requests that are sent again. */
	readonly idempotencyKey?: string;
	/** Goes with whatever the request causes. */
	readonly correlationId?: string;
	readonly signal?: AbortSignal;
}

export interface Client {
	/**
	 * Sends a request. Without a `signal`, questions (`GET`) wait a bounded time, and what is to be
	 * done as long as it takes.
	 */
	call<Name extends JsonRouteName>(
		name: Name,
		options?: CallOptions<Name>,
	): Promise<Routes[Name]["reply"]>;
	/** The API's own description. */
	openApi(): Promise<Record<string, unknown>>;
	/** The daemon's numbers, in the text format of Prometheus. */
	metrics(): Promise<string>;
	/** Events after `after`; with `follow`, also those to come, until `signal` aborts. */
	events(options: {
		readonly after: number;
		readonly agent?: string | undefined;
		/** Types, or groups of types with a dot at their end: `agent.exited,task.`. */
		readonly type?: string | undefined;
		readonly follow: boolean;
		readonly signal?: AbortSignal;
	}): AsyncGenerator<ReeveEvent>;
	/** An agent's raw output. */
	logs(
		id: string,
		options: { readonly lines: number; readonly follow: boolean; readonly signal?: AbortSignal },
	): AsyncGenerator<Uint8Array>;
	/**
	 * An open WebSocket to an agent's terminal; the contract says what goes over it. It is paused, so
	 * that nothing is missed: `resume()` it once somebody listens.
	 */
	terminal(
		id: string,
		options: { readonly columns: number; readonly rows: number; readonly readOnly: boolean },
	): Promise<TerminalSocket>;
}

/** As much of a WebSocket as a terminal needs; users need no types but these. */
export interface TerminalSocket {
	readonly readyState: number;
	readonly OPEN: number;
	on(event: "message", listener: (data: Uint8Array, isBinary: boolean) => void): unknown;
	on(event: "close", listener: () => void): unknown;
	send(data: string | Uint8Array, sent?: (error?: Error) => void): void;
	pause(): void;
	resume(): void;
	/** Ends the connection in order: what was sent arrives. */
	close(): void;
	/** Ends the connection at once. */
	terminate(): void;
}

const ANSWER_MS_MAX = 10_000;

export function createClient(address: Address): Client {
	async function ask(method: string, path: string, options: CallOptions<RouteName>) {
		const patience = method === "GET" ? AbortSignal.timeout(ANSWER_MS_MAX) : undefined;
		const signal = options.signal ?? patience;
		const headers = {
			...(options.idempotencyKey && { "idempotency-key": options.idempotencyKey }),
			...(options.correlationId && { "x-correlation-id": options.correlationId }),
		};
		const body = method === "POST" ? (options.body ?? {}) : undefined;
		const response = await send(address, {
			method,
			path,
			body,
			headers,
			...(signal && { signal }),
		});
		const answer = await text(response).catch((error: unknown) => {
			throw explain(error, address);
		});
		return parseReply(answer);
	}

	/** The stream's path is a route's, so a route that is renamed is noticed here. */
	const stream = async (
		name: RouteName,
		place: string,
		query: URLSearchParams,
		signal?: AbortSignal,
	) => {
		const path = `${pathOf(name, place)}?${query}`;
		return told(await send(address, { method: "GET", path, ...(signal && { signal }) }), address);
	};

	return {
		async call(name, options = {}) {
			const [method = ""] = name.split(" ");
			const query = queryOf(options.query as object | undefined);
			return ask(method, `${pathOf(name, options.place)}${query}`, options);
		},
		async metrics() {
			const signal = AbortSignal.timeout(ANSWER_MS_MAX);
			const path = pathOf("GET /metrics");
			return text(await send(address, { method: "GET", path, signal }));
		},
		openApi: () => ask("GET", pathOf("GET /api/v1/openapi.json"), {}),
		async *events({ after, agent, type, follow, signal }) {
			const query = new URLSearchParams({
				after: String(after),
				...(agent && { agent }),
				...(type && { type }),
			});
			if (follow) query.set("follow", "1");
			const bytes = await stream("GET /api/v1/events", "", query, signal);
			for await (const line of linesOf(bytes)) {
				if (line.startsWith("data: ")) yield JSON.parse(line.slice(6)) as ReeveEvent;
			}
		},
		async *logs(id, { lines, follow, signal }) {
			const query = new URLSearchParams({ lines: String(lines), ...(follow && { follow: "1" }) });
			yield* await stream("GET /api/v1/agents/:id/logs", id, query, signal);
		},
		terminal(id, { columns, rows, readOnly }) {
			const query = new URLSearchParams({ columns: String(columns), rows: String(rows) });
			if (readOnly) query.set("ro", "1");
			return openSocket(address, `${pathOf("GET /api/v1/agents/:id/terminal", id)}?${query}`);
		},
	};
}

async function openSocket(address: Address, path: string): Promise<TerminalSocket> {
	const [scheme, host] = isSecure(address) ? ["wss", hostOf(address)] : ["ws", hostOf(address)];
	const socket = new WebSocket(`${scheme}://${host}${path}`, {
		// Not in the address, where a home with a colon or a space in its name would be cut short.
		...("socketPath" in address && { createConnection: () => connect(address.socketPath) }),
		...("url" in address && address.ca !== undefined && { ca: address.ca }),
		headers: tokenHeader(address),
		perMessageDeflate: false,
	});
	await new Promise<void>((resolve, reject) => {
		socket.once("open", () => {
			socket.pause();
			resolve();
		});
		// For good: an error after the opening is followed by a close, which says enough.
		socket.on("error", (error) => reject(explain(error, address)));
		socket.once("unexpected-response", (_, response) => {
			text(response).then((body) => reject(failureOf(body)), reject);
		});
	});
	return socket as unknown as TerminalSocket;
}

function hostOf(address: Address): string {
	return "url" in address ? new URL(address.url).host : "localhost";
}

function pathOf(name: RouteName, place = ""): string {
	const [, pattern = ""] = name.split(" ");
	return pattern.replace(/:\w+/, encodeURIComponent(place));
}

/** With its question mark; empty when nothing is asked. */
function queryOf(query: object | undefined): string {
	const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
	const sent = new URLSearchParams(
		given.map(([key, value]): [string, string] => [key, `${value}`]),
	);
	return given.length === 0 ? "" : `?${sent}`;
}

async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<string> {
	const decoder = new TextDecoder();
	let rest = "";
	for await (const chunk of stream) {
		rest += decoder.decode(chunk, { stream: true });
		const lines = rest.split("\n");
		rest = lines.pop() ?? "";
		yield* lines;
	}
}

function parseReply(body: string) {
	try {
		return JSON.parse(body);
	} catch {
		throw strangeAnswer(body);
	}
}

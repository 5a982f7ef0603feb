/** The client of a daemon: one typed function for all requests, and the streams. */

import { connect } from "node:net";
import type { ReeveEvent } from "../core/events.js";
import type { JsonRouteName, RouteName, Routes } from "../http/contract/routes.js";
import type { Address } from "./address.js";
import {
	explain,
	FAILURE_BYTES_MAX,
	failureOf,
	isSecure,
	pathOf,
	readText,
	remotePath,
	send,
	tokenHeader,
	unexpectedResponse,
} from "./connection.js";
import {
	type EventOptions,
	type LogOptions,
	type MergedLine,
	type MergedLogOptions,
	streamEvents,
	streamLogs,
	streamMergedLogs,
} from "./streams.js";

export type { ConnectionChange, StreamOptions } from "./reopen.js";
export type { EventOptions, LogOptions, MergedLine, MergedLogOptions } from "./streams.js";

/** Options of a request. */
export interface CallOptions<Name extends RouteName> {
	/** Fills the `:id` or `:scope` of the path. */
	readonly place?: string | readonly string[];
	readonly query?: Routes[Name]["sentQuery"];
	readonly body?: Routes[Name]["body"];
	/** The idempotency key: requests with the same key run only once. */
	readonly idempotencyKey?: string;
	/** The correlation id of events that the request causes. */
	readonly correlationId?: string;
	readonly signal?: AbortSignal;
	/** Of a client for several hosts: only this host's own part of a list. */
	readonly ownOnly?: boolean;
}

/** A client of a daemon; created by `createClient`. */
export interface Client {
	/** Sends a request. Without a `signal`, `GET` requests have a timeout, other requests do not. */
	call<Name extends JsonRouteName>(
		name: Name,
		options?: CallOptions<Name>,
	): Promise<Routes[Name]["reply"]>;
	/** The OpenAPI document of the API. */
	openApi(): Promise<Record<string, unknown>>;
	/** The daemon's metrics, in the text format of Prometheus. */
	metrics(): Promise<string>;
	/**
	 * Stored events, oldest first; with `follow`, new events too. A followed stream reconnects when the daemon goes away
	 * and continues after the last event, without gaps or duplicates. It ends without an error when `signal` aborts, and
	 * throws when it cannot continue: `events_pruned` if the next event was removed, `unauthorized` if the token is no
	 * longer valid, `no_daemon` or `connection_lost` if no daemon came back within `reconnectForMs`.
	 */
	events(options: EventOptions): AsyncGenerator<ReeveEvent>;
	/** An agent's raw output. With `follow` it reconnects like `events`, at the byte where it was interrupted. */
	logs(id: string, options: LogOptions): AsyncGenerator<Uint8Array>;
	/**
	 * The output of several agents as lines, merged by time. With `follow` it reconnects like `events`,
	 * at the line where each agent was interrupted.
	 */
	mergedLogs(options: MergedLogOptions): AsyncGenerator<MergedLine>;
	/**
	 * An open WebSocket to an agent's terminal; the contract defines its messages. It is paused, so that
	 * nothing is missed: call `resume()` once a listener is attached.
	 */
	terminal(
		id: string,
		options: { readonly columns: number; readonly rows: number; readonly readOnly: boolean },
	): Promise<TerminalSocket>;
}

/** The part of a WebSocket that a terminal needs, without other types. */
export interface TerminalSocket {
	readonly readyState: number;
	readonly OPEN: number;
	on(event: "message", listener: (data: Uint8Array, isBinary: boolean) => void): unknown;
	on(event: "close", listener: () => void): unknown;
	send(data: string | Uint8Array, sent?: (error?: Error) => void): void;
	pause(): void;
	resume(): void;
	/** Closes the connection after all sent data has arrived. */
	close(): void;
	/** Closes the connection immediately. */
	terminate(): void;
}

const ANSWER_MS_MAX = 10_000;

/** Creates a client for the daemon at this address. It connects on first use. */
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
		return parseReply(await readText(response, address, signal));
	}

	return {
		async call(name, options = {}) {
			const [method = ""] = name.split(" ");
			const query = queryOf(options.query as object | undefined);
			return ask(method, `${pathOf(name, options.place)}${query}`, options);
		},
		async metrics() {
			const signal = AbortSignal.timeout(ANSWER_MS_MAX);
			const path = pathOf("GET /metrics");
			const response = await send(address, { method: "GET", path, signal });
			return readText(response, address, signal);
		},
		openApi: () => ask("GET", pathOf("GET /api/v1/openapi.json"), {}),
		events: (options) => streamEvents(address, options),
		logs: (id, options) => streamLogs(address, id, options),
		mergedLogs: (options) => streamMergedLogs(address, options),
		terminal(id, { columns, rows, readOnly }) {
			const query = new URLSearchParams({ columns: String(columns), rows: String(rows) });
			if (readOnly) query.set("ro", "1");
			return openSocket(address, `${pathOf("GET /api/v1/agents/:id/terminal", id)}?${query}`);
		},
	};
}

async function openSocket(address: Address, path: string): Promise<TerminalSocket> {
	const { WebSocket } = await import("ws");
	const [scheme, host] = isSecure(address) ? ["wss", hostOf(address)] : ["ws", hostOf(address)];
	const socket = new WebSocket(`${scheme}://${host}${remotePath(address)}${path}`, {
		// Not in the URL, where a home with a colon or a space in its name would be truncated.
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
		// Permanent: an error after opening is followed by a close, which is sufficient.
		socket.on("error", (error) => reject(explain(error, address)));
		socket.once("unexpected-response", (_, response) => {
			readText(response, address, undefined, FAILURE_BYTES_MAX).then(
				(body) => reject(failureOf(body)),
				reject,
			);
		});
	});
	return socket as unknown as TerminalSocket;
}

function hostOf(address: Address): string {
	return "url" in address ? new URL(address.url).host : "localhost";
}

/** With its question mark; empty without parameters. */
function queryOf(query: object | undefined): string {
	const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
	const sent = new URLSearchParams(
		given.map(([key, value]): [string, string] => [key, `${value}`]),
	);
	return given.length === 0 ? "" : `?${sent}`;
}

function parseReply(body: string) {
	const reply = parseJson(body);
	// The only error with a success status: a part of the request was done.
	if (reply?.error?.code === "outcome_pending") throw failureOf(body);
	return reply;
}

function parseJson(body: string) {
	try {
		return JSON.parse(body);
	} catch {
		throw unexpectedResponse(body);
	}
}

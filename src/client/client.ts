/** Speaks to a daemon over its socket: one typed function for every request, and the streams. */

import type { IncomingMessage } from "node:http";
import { request } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import WebSocket from "ws";
import { ERRORS, type ErrorCode, ReeveError } from "../core/errors.js";
import type { ReeveEvent } from "../core/events.js";
import { type ErrorJson, type RouteName, type Routes, STREAMS } from "../http/contract.js";

export interface Client {
	/**
	 * Sends a request. `place` fills the `:id` or `:scope` of the path. Without a `signal`, questions
	 * (`GET`) wait a bounded time, and what is to be done as long as it takes.
	 */
	call<Name extends RouteName>(
		name: Name,
		options?: {
			readonly place?: string;
			readonly body?: Routes[Name]["body"];
			readonly signal?: AbortSignal;
		},
	): Promise<Routes[Name]["reply"]>;
	/** Events after `after`; with `follow`, also those to come, until `signal` aborts. */
	events(options: {
		readonly after: number;
		readonly agent?: string | undefined;
		readonly follow: boolean;
		readonly signal?: AbortSignal;
	}): AsyncGenerator<ReeveEvent>;
	/** An agent's raw output. */
	logs(
		id: string,
		options: { readonly lines: number; readonly follow: boolean; readonly signal?: AbortSignal },
	): AsyncGenerator<Buffer>;
	/**
	 * An open WebSocket to an agent's terminal; the contract says what goes over it. It is paused, so
	 * that nothing is missed: `resume()` it once somebody listens.
	 */
	terminal(
		id: string,
		options: { readonly columns: number; readonly rows: number; readonly readOnly: boolean },
	): Promise<WebSocket>;
}

const ANSWER_MS_MAX = 10_000;

export function createClient({ socketPath }: { readonly socketPath: string }): Client {
	async function open(
		method: string,
		path: string,
		body?: unknown,
		signal?: AbortSignal,
	): Promise<IncomingMessage> {
		const payload = body === undefined ? null : JSON.stringify(body);
		const headers = payload === null ? {} : { "content-type": "application/json" };
		const response = await new Promise<IncomingMessage>((resolve, reject) => {
			const sent = request(
				// A connection each: one that was kept may belong to a daemon that has gone.
				{ socketPath, method, path, headers, agent: false, ...(signal && { signal }) },
				resolve,
			);
			sent.on("error", (error) => reject(explain(error, socketPath)));
			sent.end(payload);
		});
		if ((response.statusCode ?? 500) < 400) return response;
		throw failureOf(await text(response));
	}

	return {
		async call(name, options = {}) {
			const [method = "", pattern = ""] = name.split(" ");
			const path = fill(pattern, options.place);
			const body = method === "POST" ? (options.body ?? {}) : undefined;
			const patience = method === "GET" ? AbortSignal.timeout(ANSWER_MS_MAX) : undefined;
			const response = await open(method, path, body, options.signal ?? patience);
			return parseReply(
				await text(response).catch((error: unknown) => {
					throw explain(error, socketPath);
				}),
			);
		},
		async *events({ after, agent, follow, signal }) {
			const query = new URLSearchParams({ after: String(after), ...(agent && { agent }) });
			if (follow) query.set("follow", "1");
			const response = await open("GET", `${STREAMS.events}?${query}`, undefined, signal);
			for await (const line of linesOf(told(response, socketPath))) {
				if (line.startsWith("data: ")) yield JSON.parse(line.slice(6)) as ReeveEvent;
			}
		},
		async *logs(id, { lines, follow, signal }) {
			const query = new URLSearchParams({ lines: String(lines), ...(follow && { follow: "1" }) });
			const path = `${fill(STREAMS.logs, id)}?${query}`;
			yield* told(await open("GET", path, undefined, signal), socketPath);
		},
		async terminal(id, { columns, rows, readOnly }) {
			const query = new URLSearchParams({ columns: String(columns), rows: String(rows) });
			if (readOnly) query.set("ro", "1");
			const path = `${fill(STREAMS.terminal, id)}?${query}`;
			const socket = new WebSocket(`ws://localhost${path}`, {
				// Not in the address, where a home with a colon or a space in its name would be cut short.
				createConnection: () => connect(socketPath),
				perMessageDeflate: false,
			});
			await new Promise<void>((resolve, reject) => {
				socket.once("open", () => {
					socket.pause();
					resolve();
				});
				// For good: an error after the opening is followed by a close, which says enough.
				socket.on("error", (error) => reject(explain(error, socketPath)));
				socket.once("unexpected-response", (_, response) => {
					text(response).then((body) => reject(failureOf(body)), reject);
				});
			});
			return socket;
		},
	};
}

function fill(pattern: string, place: string | undefined): string {
	return pattern.replace(/:(id|scope)/, encodeURIComponent(place ?? ""));
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

/** The bytes of a stream, whose end before its time is told as what it is. */
async function* told(response: IncomingMessage, socketPath: string): AsyncGenerator<Buffer> {
	try {
		yield* response as AsyncIterable<Buffer>;
	} catch (error) {
		throw explain(error, socketPath);
	}
}

function parseReply(body: string) {
	try {
		return JSON.parse(body);
	} catch {
		throw new ReeveError("internal", `the daemon answered: ${body.slice(0, 500)}`);
	}
}

/** An error that the daemon told, as the same error here. */
function failureOf(body: string): ReeveError {
	try {
		const { code, message, hint } = (JSON.parse(body) as ErrorJson).error;
		// A daemon of another version may know errors that this one does not: its words are good.
		const known = Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : "internal";
		if (typeof message === "string") return new ReeveError(known, message, hint);
	} catch {
		// Not one of ours: told below as it is.
	}
	return new ReeveError("internal", `the daemon answered: ${body.slice(0, 500)}`);
}

/** What a failed connection means to whoever asked. */
function explain(error: unknown, socketPath: string): unknown {
	if (!(error instanceof Error)) return error;
	const { code, cause } = error as NodeJS.ErrnoException;
	if (code === "ENOENT" || code === "ECONNREFUSED" || code === "ENOTDIR") {
		return new ReeveError("no_daemon", `no daemon answers at ${socketPath}`);
	}
	if (code === "ECONNRESET" || code === "EPIPE") {
		return new ReeveError("connection_lost", `the daemon at ${socketPath} went away`);
	}
	if (code === "EACCES" || code === "EPERM") {
		return new ReeveError("home_denied", `${socketPath} may not be used: permission denied`);
	}
	if (cause instanceof Error && cause.name === "TimeoutError") {
		const hint = "It may be very busy, or hang: `reeve doctor` looks; its log may tell why.";
		return new ReeveError("timeout", `the daemon at ${socketPath} does not answer`, hint);
	}
	return error;
}

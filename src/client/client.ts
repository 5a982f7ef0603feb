/** Speaks to a daemon over its socket: one typed function for every request, and the streams. */

import type { IncomingMessage } from "node:http";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import WebSocket from "ws";
import { ERRORS, type ErrorCode, ReeveError } from "../core/errors.js";
import type { ReeveEvent } from "../core/events.js";
import { type ErrorJson, type RouteName, type Routes, STREAMS } from "../http/contract.js";

export interface Client {
	/** Sends a request. `place` fills the `:id` or `:scope` of the path. */
	call<Name extends RouteName>(
		name: Name,
		options?: { readonly place?: string; readonly body?: Routes[Name]["body"] },
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
	/** An open WebSocket to an agent's terminal; the contract says what goes over it. */
	terminal(
		id: string,
		options: { readonly columns: number; readonly rows: number; readonly readOnly: boolean },
	): Promise<WebSocket>;
}

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
				{ socketPath, method, path, headers, ...(signal && { signal }) },
				resolve,
			);
			sent.on("error", (error: NodeJS.ErrnoException) => reject(explain(error, socketPath)));
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
			return JSON.parse(await text(await open(method, path, body)));
		},
		async *events({ after, agent, follow, signal }) {
			const query = new URLSearchParams({ after: String(after), ...(agent && { agent }) });
			if (follow) query.set("follow", "1");
			const response = await open("GET", `${STREAMS.events}?${query}`, undefined, signal);
			for await (const line of linesOf(response)) {
				if (line.startsWith("data: ")) yield JSON.parse(line.slice(6)) as ReeveEvent;
			}
		},
		async *logs(id, { lines, follow, signal }) {
			const query = new URLSearchParams({ lines: String(lines), ...(follow && { follow: "1" }) });
			const path = `${fill(STREAMS.logs, id)}?${query}`;
			yield* (await open("GET", path, undefined, signal)) as AsyncIterable<Buffer>;
		},
		async terminal(id, { columns, rows, readOnly }) {
			const query = new URLSearchParams({ columns: String(columns), rows: String(rows) });
			if (readOnly) query.set("ro", "1");
			const path = `${fill(STREAMS.terminal, id)}?${query}`;
			const socket = new WebSocket(`ws+unix:${socketPath}:${path}`);
			await new Promise<void>((resolve, reject) => {
				socket.once("open", resolve);
				socket.once("error", (error) => reject(explain(error, socketPath)));
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

/** An error that the daemon told, as the same error here. */
function failureOf(body: string): ReeveError {
	try {
		const { code, message, hint } = (JSON.parse(body) as ErrorJson).error;
		if (Object.hasOwn(ERRORS, code)) return new ReeveError(code as ErrorCode, message, hint);
	} catch {
		// Not one of ours: told below as it is.
	}
	return new ReeveError("internal", `the daemon answered: ${body.slice(0, 500)}`);
}

function explain(error: NodeJS.ErrnoException, socketPath: string): Error {
	if (error.code !== "ENOENT" && error.code !== "ECONNREFUSED") return error;
	return new ReeveError("no_daemon", `no daemon answers at ${socketPath}`);
}

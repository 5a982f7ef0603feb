/**
 * The API over the daemon's unix socket: finds the handler of a request, reads its body within
 * bounds, and tells every failure in one shape. What it is asked is done by `routes` and the streams.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { ERRORS, ReeveError } from "../core/errors.js";
import { type ErrorJson, type RouteName, STREAMS } from "./contract.js";
import { streamEvents } from "./events-stream.js";
import { streamLogs } from "./logs-stream.js";
import { createHandlers, type HttpParts } from "./routes.js";
import { createTerminalHub } from "./terminal-hub.js";

/** A fleet of hundreds of agents fits many times. */
const BODY_BYTES_MAX = 8 * 1_048_576;

export interface HttpServer {
	readonly server: Server;
	/** Ends the streams and stops answering. */
	close(): Promise<void>;
}

interface Found {
	readonly name: string;
	readonly place: string;
	readonly url: URL;
}

export function createHttpServer(
	parts: HttpParts & { onError: (error: unknown) => void },
): HttpServer {
	const handlers = createHandlers(parts);
	const names = Object.keys(handlers) as RouteName[];
	const closing = new AbortController();
	const terminals = createTerminalHub(parts.engine);

	async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
		const url = new URL(request.url ?? "/", "http://reeve");
		if (request.method === "GET" && url.pathname === STREAMS.events) {
			return streamEvents(parts.store, url.searchParams, response, closing.signal);
		}
		const logs = matchPath(STREAMS.logs, url.pathname);
		if (request.method === "GET" && logs !== null) {
			parts.engine.get(logs);
			return streamLogs(parts.logDirOf(logs), url.searchParams, response, closing.signal);
		}
		const found = findRoute(names, request.method ?? "", url);
		if (found === null) {
			throw new ReeveError("no_route", `there is no ${request.method} ${url.pathname}`);
		}
		const body = request.method === "POST" ? await readJson(request) : undefined;
		const handler = handlers[found.name as RouteName] as (place: string, body: unknown) => unknown;
		send(response, 200, await handler(found.place, body));
	}

	const server = createServer((request, response) => {
		answer(request, response).catch((error: unknown) => {
			if (!(error instanceof ReeveError)) parts.onError(error);
			if (response.headersSent) response.destroy();
			else sendError(response, error);
		});
	});
	server.on("upgrade", (request, socket, head) => {
		const url = new URL(request.url ?? "/", "http://reeve");
		const id = matchPath(STREAMS.terminal, url.pathname);
		if (id === null) socket.end("HTTP/1.1 404 Not Found\r\n\r\n");
		else terminals.upgrade(id, url.searchParams, request, socket, head);
	});
	return {
		server,
		async close() {
			closing.abort();
			terminals.close();
			await new Promise<void>((resolve) => {
				server.close(() => resolve());
				server.closeIdleConnections();
			});
		},
	};
}

function findRoute(names: readonly string[], method: string, url: URL): Found | null {
	for (const name of names) {
		const [routeMethod, pattern = ""] = name.split(" ");
		const place = routeMethod === method ? matchPath(pattern, url.pathname) : null;
		if (place !== null) return { name, place, url };
	}
	return null;
}

/** What stands at the `:place` of the pattern, empty if it has none, null if it does not match. */
function matchPath(pattern: string, path: string): string | null {
	const [wanted, given] = [pattern.split("/"), path.split("/")];
	if (wanted.length !== given.length) return null;
	let place = "";
	for (const [index, part] of wanted.entries()) {
		const actual = given[index] ?? "";
		if (part.startsWith(":")) place = decodePart(actual);
		else if (part !== actual) return null;
	}
	return pattern.includes(":") && place === "" ? null : place;
}

function decodePart(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return "";
	}
}

async function readJson(request: IncomingMessage): Promise<unknown> {
	const chunks: Buffer[] = [];
	let bytes = 0;
	for await (const chunk of request as AsyncIterable<Buffer>) {
		bytes += chunk.length;
		if (bytes > BODY_BYTES_MAX) throw new ReeveError("validation_failed", "the body is too large");
		chunks.push(chunk);
	}
	try {
		return bytes === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString("utf8"));
	} catch {
		throw new ReeveError("validation_failed", "the body is not JSON");
	}
}

function send(response: ServerResponse, status: number, value: unknown): void {
	const body = Buffer.from(`${JSON.stringify(value)}\n`);
	response.writeHead(status, {
		"content-type": "application/json",
		"content-length": body.length,
	});
	response.end(body);
}

function sendError(response: ServerResponse, error: unknown): void {
	const known =
		error instanceof ReeveError
			? error
			: new ReeveError("internal", error instanceof Error ? error.message : String(error));
	const { code, message, hint } = known;
	const body: ErrorJson = { error: { code, message, hint } };
	send(response, ERRORS[code].httpStatus, body);
}

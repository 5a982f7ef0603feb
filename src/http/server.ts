/**
 * The API: finds the route of a request, reads what it says within bounds, and tells every failure in
 * one shape. What is asked is done by the handlers.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { ReeveError } from "../core/errors.js";
import { createHandlers } from "./all-handlers.js";
import type { RouteName } from "./contract/routes.js";
import type { Asked, HttpParts } from "./handler.js";
import { check, type RequestIds, readIds, readJson } from "./read-request.js";
import { explainError, refuseUpgrade, sendError, sendJson } from "./replies.js";
import { findRoute, type Route } from "./router.js";
import { guardStore } from "./store-guard.js";
import { createTerminalHub } from "./terminal-hub.js";

export interface HttpServer {
	readonly server: Server;
	/** Ends the streams and stops answering. */
	close(): Promise<void>;
}

export interface ServerParts extends HttpParts {
	/** Something failed that whoever asked is not told the whole of. */
	readonly onError: (error: unknown, ids: RequestIds) => void;
}

type AnyHandler = (asked: Asked<RouteName>, response: ServerResponse) => unknown;

export function createHttpServer(parts: ServerParts): HttpServer {
	const handlers = guardStore(createHandlers(parts), parts.store) as Readonly<
		Record<string, AnyHandler>
	>;
	const closing = new AbortController();
	const terminals = createTerminalHub(parts.engine);

	async function answer(
		request: IncomingMessage,
		response: ServerResponse,
		{ correlationId }: RequestIds,
	): Promise<void> {
		const { route, params, url } = locate(request);
		const handler = handlers[route.name];
		if (handler === undefined) {
			throw new ReeveError("upgrade_required", `${url.pathname} is a WebSocket`);
		}
		const gone = new AbortController();
		response.on("close", () => gone.abort());
		const asked = {
			...understand(route, params, url),
			body: check(route.spec.body, await bodyOf(route, request), "body"),
			headers: request.headers,
			correlationId,
			gone: AbortSignal.any([gone.signal, closing.signal]),
		} as Asked<RouteName>;
		const reply = await handler(asked, response);
		if (!("stream" in route.spec.reply)) sendJson(response, route.spec.status ?? 200, reply);
	}

	const server = createServer((request, response) => {
		const ids = readIds(request);
		response.setHeader("x-request-id", ids.requestId);
		response.setHeader("x-correlation-id", ids.correlationId);
		answer(request, response, ids).catch((error: unknown) => {
			if (!(error instanceof ReeveError)) parts.onError(error, ids);
			if (response.headersSent) return void response.destroy();
			// A body that was not read to its end would be taken for the next request.
			if (!request.complete) response.setHeader("connection", "close");
			sendError(response, explainError(error, ids.correlationId), ids.correlationId);
		});
	});
	server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
		const ids = readIds(request);
		try {
			const { route, params, url } = locate(request);
			if (route.name !== "GET /api/v1/agents/:id/terminal") {
				throw new ReeveError("no_route", `${url.pathname} is no WebSocket`);
			}
			const { id } = understand(route, params, url).params as { id: string };
			terminals.upgrade(id, url.searchParams, request, socket, head);
		} catch (error) {
			if (!(error instanceof ReeveError)) parts.onError(error, ids);
			refuseUpgrade(socket, explainError(error, ids.correlationId), ids.correlationId);
		}
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

interface Located {
	readonly route: Route;
	readonly params: Record<string, string>;
	readonly url: URL;
}

function locate(request: IncomingMessage): Located {
	const method = request.method ?? "";
	const url = parseTarget(request.url ?? "/");
	const found = findRoute(method, url.pathname);
	if (found.type === "route") return { route: found.route, params: found.params, url };
	if (found.type === "nothing") {
		throw new ReeveError("no_route", `there is no ${method} ${url.pathname}`);
	}
	const allowed = found.allowed.join(", ");
	throw new ReeveError("method_not_allowed", `${url.pathname} takes ${allowed}, not ${method}`);
}

function parseTarget(target: string): URL {
	try {
		return new URL(target, "http://reeve");
	} catch {
		throw new ReeveError("validation_failed", "the address cannot be read");
	}
}

function understand(route: Route, params: Record<string, string>, url: URL) {
	const { spec } = route;
	return {
		params: check(spec.params, params, "path"),
		query: check(spec.query, Object.fromEntries(url.searchParams), "query"),
	};
}

async function bodyOf({ method, spec }: Route, request: IncomingMessage): Promise<unknown> {
	if (method === "GET") return undefined;
	const body = await readJson(request);
	return spec.body === undefined ? undefined : body;
}

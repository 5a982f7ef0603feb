/**
 * The API: finds the route of a request, has the gate let it in, reads what it says within bounds, and
 * tells every failure in one shape. What is asked is done by the handlers. One API is served over any
 * number of servers: the daemon's socket, the network.
 */

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { ReeveError } from "../core/errors.js";
import { createHandlers } from "./all-handlers.js";
import { type Act, isAct, renderAct } from "./audit.js";
import { type Gate, mayAct } from "./auth/gate.js";
import type { Via } from "./auth/places.js";
import type { RouteName } from "./contract/routes.js";
import type { Asked, HttpParts } from "./handler.js";
import { check, type RequestIds, readIds, readJson } from "./read-request.js";
import {
	explainError,
	PreparedJson,
	refuseUpgrade,
	sendError,
	sendJson,
	sendPrepared,
} from "./replies.js";
import { findRoute, type Route } from "./router.js";
import { setSecurityHeaders } from "./security-headers.js";
import { guardStore } from "./store-guard.js";
import { createTerminalHub } from "./terminal-hub.js";

export interface Api {
	/**
	 * Answers what comes to this server, which came this way. What is given back ends its streams and
	 * closes it.
	 */
	serve(server: Server, via: Via): () => Promise<void>;
}

/** A server, how requests come to it, and when it ends. */
interface Door {
	readonly via: Via;
	readonly closing: AbortSignal;
}

export interface ApiParts extends HttpParts {
	readonly gate: Gate;
	/** Something failed that whoever asked is not told the whole of. */
	readonly onError: (error: unknown, ids: RequestIds) => void;
}

type AnyHandler = (asked: Asked<RouteName>, response: ServerResponse) => unknown;

/** How long the rest of a request may take to come, and how many connections there may be (A6). */
const LIMITS = { headersTimeout: 10_000, requestTimeout: 60_000, maxConnections: 1_000 };

export function createApi(parts: ApiParts): Api {
	const { gate, onError } = parts;
	const handlers = guardStore(createHandlers(parts), parts.store) as Readonly<
		Record<string, AnyHandler>
	>;
	const terminals = createTerminalHub(parts.engine);

	/** Not waited for: what was done is done, also while nothing can be stored. */
	function noteAct(act: Act): void {
		const atMs = parts.clock.now().wallMs;
		parts.store
			.commit((transaction) => transaction.appendEvent(renderAct(act), atMs))
			.catch((error: unknown) => onError(error, { ...act, requestId: act.correlationId }));
	}

	async function answer(
		request: IncomingMessage,
		response: ServerResponse,
		{ via, closing }: Door,
		{ correlationId }: RequestIds,
	): Promise<void> {
		const { route, params, url } = locate(request);
		const caller = gate.admit(request, via, route.spec, params);
		const handler = handlers[route.name];
		if (handler === undefined) {
			throw new ReeveError("upgrade_required", `${url.pathname} is a WebSocket`);
		}
		const gone = new AbortController();
		response.on("close", () => gone.abort());
		const note = (error: string | null) => {
			if (isAct(route)) noteAct({ route, params, caller, correlationId, error });
		};
		const asked = {
			...understand(route, params, url),
			body: check(route.spec.body, await bodyOf(route, request), "body"),
			...{ headers: request.headers, caller, via, correlationId },
			refuseLogin: (reason: string) => gate.refuse(request, reason),
			gone: AbortSignal.any([gone.signal, closing]),
		} as Asked<RouteName>;
		const reply = await noted(() => handler(asked, response), note);
		if (reply instanceof PreparedJson) {
			sendPrepared(response, reply, request.headers["if-none-match"]);
		} else if (!("stream" in route.spec.reply)) {
			sendJson(response, route.spec.status ?? 200, reply);
		}
	}

	function onRequest(request: IncomingMessage, response: ServerResponse, door: Door): void {
		const { via } = door;
		const ids = readIds(request);
		response.setHeader("x-request-id", ids.requestId);
		response.setHeader("x-correlation-id", ids.correlationId);
		setSecurityHeaders(response, via.type === "network" && via.secure);
		answer(request, response, door, ids).catch((error: unknown) => {
			if (!(error instanceof ReeveError)) onError(error, ids);
			if (response.headersSent) return void response.destroy();
			// A body that was not read to its end would be taken for the next request.
			if (!request.complete) response.setHeader("connection", "close");
			sendError(response, explainError(error, ids.correlationId), ids.correlationId);
		});
	}

	function onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, door: Door): void {
		const ids = readIds(request);
		try {
			const { route, params, url } = locate(request);
			const caller = gate.admit(request, door.via, route.spec, params);
			if (route.name !== "GET /api/v1/agents/:id/terminal") {
				throw new ReeveError("no_route", `${url.pathname} is no WebSocket`);
			}
			const { id } = understand(route, params, url).params as { id: string };
			const { correlationId } = ids;
			terminals.upgrade(id, url.searchParams, {
				...{ request, socket, head, closing: door.closing, mayType: mayAct(caller) },
				onTyping: () => noteAct({ route, params, caller, correlationId, error: null }),
			});
		} catch (error) {
			if (!(error instanceof ReeveError)) onError(error, ids);
			refuseUpgrade(socket, explainError(error, ids.correlationId), ids.correlationId);
		}
	}

	return {
		serve(server, via) {
			const closing = new AbortController();
			const door = { via, closing: closing.signal };
			Object.assign(server, LIMITS);
			server.on("request", (request, response) => onRequest(request, response, door));
			server.on("upgrade", (request, socket, head) => onUpgrade(request, socket, head, door));
			return async () => {
				closing.abort();
				await new Promise<void>((resolve) => {
					server.close(() => resolve());
					server.closeIdleConnections();
				});
			};
		},
	};
}

/** Does it, and notes how it ended. */
async function noted<T>(act: () => T, note: (error: string | null) => void): Promise<Awaited<T>> {
	try {
		const result = await act();
		note(null);
		return result;
	} catch (error) {
		note(error instanceof ReeveError ? error.code : "internal");
		throw error;
	}
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

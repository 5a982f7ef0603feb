/**
 * The API server: finds the route of a request, checks access, reads the input within limits, and
 * reports every failure in one format. Handlers do the work. One API is served by any number of
 * servers: the daemon's socket, the network.
 */

import { setMaxListeners } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { ReeveError } from "../core/errors.js";
import { labelHolder } from "../core/keyboard.js";
import { acceptWhileWritable } from "../engine/store-guard.js";
import { createHandlers } from "./all-handlers.js";
import { type Act, actorIdOf, actorTypeOf, isAction, noted, renderAct } from "./audit.js";
import { type Gate, mayAct, visibilityOf } from "./auth/gate.js";
import type { Via } from "./auth/places.js";
import { subjectsOf } from "./auth/subjects.js";
import { limitConnections } from "./connections.js";
import type { RouteName } from "./contract/routes.js";
import type { HandlerRequest, HttpParts } from "./handler.js";
import { createKeyboards } from "./keyboards.js";
import type { Page } from "./page.js";
import { check, type RequestIds, readIds, readJson } from "./read-request.js";
import { untilRecovered } from "./recovery.js";
import { createRemoteProxy, parseRemotePath } from "./remote-proxy.js";
import { createRemoteRequests, type Handshake } from "./remote-requests.js";
import {
	explainError,
	PreparedJson,
	refuseUpgrade,
	sendError,
	sendJson,
	sendPrepared,
} from "./replies.js";
import { locate, type Route } from "./router.js";
import { createTerminalHub } from "./terminal-hub.js";
import { type Door, watchCaller } from "./watch-caller.js";

export interface Api {
	/** Handles the requests of this server. The returned function ends its streams and closes it. */
	serve(server: Server, via: Via): () => Promise<void>;
}

export interface ApiParts extends HttpParts {
	readonly gate: Gate;
	/** The web page, for browsers on the network. */
	readonly page: Page;
	/** Called for failures whose details are not sent to the client. */
	readonly onError: (error: unknown, ids: RequestIds) => void;
}

type AnyHandler = (asked: HandlerRequest<RouteName>, response: ServerResponse) => unknown;
type AnyHandlers = Readonly<Record<string, AnyHandler>>;

export function createApi(parts: ApiParts): Api {
	const { gate, onError } = parts;
	const keyboards = createKeyboards(() => new Date(parts.clock.now().wallMs).toISOString());
	const handlers = createHandlers(parts, keyboards) as unknown as AnyHandlers;
	const terminals = createTerminalHub(parts.engine, keyboards);

	/** Not awaited: the action is done, even if nothing can be stored. */
	function recordAction(act: Act): void {
		const atMs = parts.clock.now().wallMs;
		parts.store
			.commit((transaction) => transaction.appendEvent(renderAct(act), atMs))
			.catch((error: unknown) => onError(error, { ...act, requestId: act.correlationId }));
	}

	const remotes = createRemoteRequests({
		gate,
		proxy: createRemoteProxy(parts.remotes),
		isSocket: (name) => handlers[name] === undefined,
		recordAction,
	});

	async function answer(
		request: IncomingMessage,
		response: ServerResponse,
		door: Door,
		{ correlationId }: RequestIds,
	): Promise<void> {
		const { via } = door;
		const url = parseTarget(request.url ?? "/");
		if (parts.page.answer(request, response, url.pathname, via)) return;
		const elsewhere = parseRemotePath(url.pathname);
		if (elsewhere !== null) {
			return remotes.forward(request, response, door, { ...elsewhere, url, correlationId });
		}
		const { route, params } = locate(request.method ?? "", url.pathname);
		const caller = gate.admit(request, via, route.spec, params);
		const handler = handlers[route.name];
		if (handler === undefined) {
			throw new ReeveError("upgrade_required", `${url.pathname} is a WebSocket`);
		}
		const watched = watchCaller(response, gate.untilInvalid(caller), door);
		const note = (error: string | null) => {
			if (isAction(route)) recordAction({ route, params, caller, correlationId, error });
		};
		const body = check(route.spec.body, await bodyOf(route, request), "body");
		const understood = understand(route, params, url);
		await untilRecovered(route.spec, parts, () => watched.gone);
		const subjects = () => subjectsOf(route.name, parts, { params: understood.params, body });
		await gate.confine(caller, route.spec, subjects);
		const asked = Object.assign(watched, understood, {
			body,
			headers: request.headers,
			caller,
			via,
			correlationId,
			sight: visibilityOf(caller),
			refuseLogin: (reason: string) => gate.refuse(request, reason),
		}) as HandlerRequest<RouteName>;
		const handle = async () => handler(asked, response);
		const needsStore = route.spec.stores === "always";
		const act = () => (needsStore ? acceptWhileWritable(parts.store, handle) : handle());
		const reply = await noted(act, note);
		// An action is always confirmed; a read only while the caller still has access.
		if (route.method === "GET" && !response.headersSent) gate.recheck(caller);
		sendReply(request, response, route, reply);
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
			// A partly read body would be parsed as the next request.
			if (!request.complete) response.setHeader("connection", "close");
			sendError(response, explainError(error, ids.correlationId), ids.correlationId);
		});
	}

	async function onUpgrade({ request, socket, head }: Handshake, door: Door): Promise<void> {
		const ids = readIds(request);
		try {
			const url = parseTarget(request.url ?? "/");
			const elsewhere = parseRemotePath(url.pathname);
			if (elsewhere !== null) {
				const { correlationId } = ids;
				const handshake = { request, socket, head };
				return await remotes.upgrade(handshake, door, { ...elsewhere, url, correlationId });
			}
			const { route, params } = locate(request.method ?? "", url.pathname);
			const caller = gate.admit(request, door.via, route.spec, params);
			if (route.name !== "GET /api/v1/agents/:id/terminal") {
				throw new ReeveError("no_route", `${url.pathname} is not a WebSocket`);
			}
			const { id } = understand(route, params, url).params as { id: string };
			await untilRecovered(route.spec, parts, () => door.closing);
			await terminals.upgrade(id, url.searchParams, {
				request,
				socket,
				head,
				closing: door.closing,
				mayType: mayAct(caller),
				by: actorTypeOf(caller),
				who: actorIdOf(caller),
				label: labelHolder({
					by: actorTypeOf(caller),
					name: "token" in caller ? (caller.token.name ?? null) : null,
				}),
				invalid: gate.untilInvalid(caller),
				recheck: () => gate.recheck(caller),
				onTyping: () => recordAction({ route, params, caller, ...ids, error: null }),
			});
		} catch (error) {
			if (!(error instanceof ReeveError)) onError(error, ids);
			refuseUpgrade(socket, explainError(error, ids.correlationId), ids.correlationId);
		}
	}

	return {
		serve(server, via) {
			const closing = createClosing();
			const door = { via, closing: closing.signal, watchers: new Set<() => void>() };
			limitConnections(server, via.type);
			server.on("request", (request, response) => onRequest(request, response, door));
			server.on(
				"upgrade",
				(request, socket, head) => void onUpgrade({ request, socket, head }, door),
			);
			return async () => {
				closing.abort();
				for (const end of [...door.watchers]) end();
				await close(server);
			};
		},
	};
}

/** Each open request adds a listener and removes it, so many of them are not a leak. */
function createClosing(): AbortController {
	const closing = new AbortController();
	setMaxListeners(0, closing.signal);
	return closing;
}

/** A stream was already written by its handler. */
function sendReply(
	{ headers }: IncomingMessage,
	response: ServerResponse,
	{ spec }: Route,
	reply: unknown,
): void {
	if (reply instanceof PreparedJson) sendPrepared(response, reply, headers["if-none-match"]);
	else if (!("stream" in spec.reply)) sendJson(response, spec.status ?? 200, reply);
}

function close(server: Server): Promise<void> {
	return new Promise((resolve) => {
		server.close(() => resolve());
		server.closeIdleConnections();
	});
}

function parseTarget(target: string): URL {
	try {
		return new URL(target, "http://reeve");
	} catch {
		throw new ReeveError("validation_failed", "invalid request URL");
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

const HEADERS: Readonly<Record<string, string>> = {
	"cache-control": "no-store",
	"content-security-policy":
		"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"cross-origin-opener-policy": "same-origin",
	"cross-origin-resource-policy": "same-origin",
	"referrer-policy": "no-referrer",
	"x-content-type-options": "nosniff",
	"x-frame-options": "DENY",
};

function setSecurityHeaders(response: ServerResponse, secure: boolean): void {
	for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
	if (secure) response.setHeader("strict-transport-security", "max-age=31536000");
}

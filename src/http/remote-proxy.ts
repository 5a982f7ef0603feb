/**
 * Passes requests on to the daemons of remotes: `/remotes/box/api/v1/agents` is `/api/v1/agents` on
 * `box`. The route must be one of the contract, and the caller needs the same access as for this
 * daemon's own; tokens that are limited to agents of this daemon have none (A4).
 */

import {
	type ClientRequest,
	type IncomingMessage,
	type RequestOptions,
	request as requestPlain,
	type ServerResponse,
} from "node:http";
import { request as requestSecure } from "node:https";
import type { Duplex } from "node:stream";
import { ReeveError } from "../core/errors.js";
import type { Remotes, RemoteTarget } from "../ports/remotes.js";
import type { RouteSpec } from "./contract/route.js";
import type { Route } from "./router.js";

const PREFIX = /^\/remotes\/([^/]+)(\/.*)$/;

/** Requests about the caller's own credentials, and about remotes: they are never passed on. */
const LOCAL = /^\/(login|api\/v1\/(caller|logout|login-links|tokens|push|remotes))(\/|$)/;

/** The remote and the path on it; null for a request to this daemon. */
export function parseRemotePath(
	path: string,
): { readonly remote: string; readonly path: string } | null {
	const [, remote, rest] = PREFIX.exec(path) ?? [];
	if (remote === undefined || rest === undefined) return null;
	if (LOCAL.test(rest)) throw new ReeveError("no_route", `${rest} is not available on remotes`);
	return { remote, path: rest };
}

/** The access that this route needs on a remote. */
export function remoteNeed({ spec }: Route): RouteSpec {
	const { agents: _agents, limited: _limited, ...rest } = spec;
	return { ...rest, access: spec.access === "public" ? "read" : spec.access };
}

const REQUEST_HEADERS = [
	...["accept", "content-type", "content-length", "last-event-id", "if-none-match"],
	...["idempotency-key", "x-correlation-id", "x-request-id"],
] as const;
const REPLY_HEADERS = [
	...["content-type", "content-length", "etag", "retry-after", "cache-control"],
	...["x-log-position", "x-accel-buffering"],
] as const;

/** The content types of the API. */
const REPLY_TYPES = /^(application\/(json|x-ndjson|octet-stream)|text\/(plain|event-stream))(;|$)/;

export interface Forwarded {
	readonly remote: string;
	/** On the remote, with the query. */
	readonly target: string;
	readonly correlationId: string;
	/** Aborts when the caller has disconnected or lost its access. */
	readonly signal: AbortSignal;
}

export interface RemoteProxy {
	/** Resolves when the response is complete. */
	forward(request: IncomingMessage, response: ServerResponse, to: Forwarded): Promise<void>;
	/** Resolves when the WebSocket is open. */
	upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, to: Forwarded): Promise<void>;
}

export function createRemoteProxy(remotes: Remotes): RemoteProxy {
	async function open(
		request: IncomingMessage,
		{ remote, target, correlationId, signal }: Forwarded,
		extra: Readonly<Record<string, string>>,
	): Promise<ClientRequest> {
		const address = await remotes.target(remote);
		signal.throwIfAborted();
		const kept = REQUEST_HEADERS.flatMap((name): [string, string][] => {
			const value = request.headers[name];
			return typeof value === "string" ? [[name, value]] : [];
		});
		const headers = {
			...Object.fromEntries(kept),
			"x-correlation-id": correlationId,
			...("url" in address && { authorization: `Bearer ${address.token}` }),
			...extra,
		};
		const start =
			"url" in address && address.url.startsWith("https:") ? requestSecure : requestPlain;
		return start({
			...{ method: request.method, path: target, headers, agent: false, signal },
			...placeOf(address),
		});
	}

	return {
		async forward(request, response, to) {
			const outgoing = await open(request, to, {});
			const reply = await new Promise<IncomingMessage>((resolve, reject) => {
				outgoing.on("response", resolve);
				outgoing.on("error", (error) => reject(explainBroken(error, request, to)));
				request.pipe(outgoing);
			});
			for (const name of REPLY_HEADERS) {
				const value = reply.headers[name];
				if (value !== undefined) response.setHeader(name, value);
			}
			const type = reply.headers["content-type"] ?? "";
			// A page from another host must not run with the access of this one.
			if (type !== "" && !REPLY_TYPES.test(type)) {
				response.setHeader("content-type", "application/octet-stream");
			}
			response.writeHead(reply.statusCode ?? 502);
			await new Promise<void>((resolve) => {
				// The caller must notice a response that is cut off.
				reply.on("error", () => response.destroy());
				reply.on("close", () => (reply.complete ? undefined : response.destroy()));
				response.on("close", resolve);
				reply.pipe(response);
			});
		},
		async upgrade(request, socket, head, to) {
			const { headers } = request;
			const wanted = Object.fromEntries(
				["sec-websocket-key", "sec-websocket-version"].map((name) => [name, `${headers[name]}`]),
			);
			const outgoing = await open(request, to, {
				...wanted,
				connection: "Upgrade",
				upgrade: "websocket",
			});
			await new Promise<void>((resolve, reject) => {
				outgoing.on("error", (error) => reject(explainBroken(error, request, to)));
				outgoing.on("response", (reply) => {
					relayRefusal(reply, socket);
					resolve();
				});
				outgoing.on("upgrade", (reply, there: Duplex, first) => {
					join(socket, there, to.signal);
					const accept = reply.headers["sec-websocket-accept"];
					socket.write(
						`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
					);
					if (first.length > 0) socket.write(first);
					if (head.length > 0) there.write(head);
					resolve();
				});
				outgoing.end();
			});
		},
	};
}

function placeOf(target: RemoteTarget): RequestOptions & { ca?: string } {
	if ("socketPath" in target) return { socketPath: target.socketPath };
	const { hostname, port } = new URL(target.url);
	return {
		host: hostname.replace(/^\[|\]$/g, ""),
		...(port !== "" && { port }),
		...(target.ca !== null && { ca: target.ca }),
	};
}

/** Both ends close together. */
function join(here: Duplex, there: Duplex, signal: AbortSignal): void {
	const end = () => {
		here.destroy();
		there.destroy();
	};
	for (const each of [here, there]) each.on("error", end).on("close", end);
	signal.addEventListener("abort", end, { once: true });
	here.pipe(there);
	there.pipe(here);
}

const REFUSAL_BYTES_MAX = 65_536;

function relayRefusal(reply: IncomingMessage, socket: Duplex): void {
	const chunks: Buffer[] = [];
	let bytes = 0;
	reply.on("data", (chunk: Buffer) => {
		bytes += chunk.length;
		if (bytes <= REFUSAL_BYTES_MAX) chunks.push(chunk);
	});
	socket.on("error", () => {});
	reply.on("close", () => {
		const body = Buffer.concat(chunks);
		socket.write(
			`HTTP/1.1 ${reply.statusCode} Refused\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n`,
		);
		socket.end(body);
	});
}

/** A change whose answer is missing may have been made. */
function explainBroken(error: Error, request: IncomingMessage, { remote }: Forwarded): unknown {
	const { code } = error as NodeJS.ErrnoException;
	if (code === "ABORT_ERR") return new ReeveError("connection_lost", "the caller stopped waiting");
	if (request.method === "GET" || code === "ECONNREFUSED" || code === "ENOENT") {
		const why = code === "ECONNRESET" ? "it closed the connection" : error.message;
		return new ReeveError("remote_unreachable", `${remote} does not answer: ${why}`);
	}
	return new ReeveError(
		"connection_lost",
		`the connection to ${remote} was lost; it is unknown whether the request was carried out`,
		`Run \`reeve ps\` once ${remote} answers again, and check.`,
	);
}

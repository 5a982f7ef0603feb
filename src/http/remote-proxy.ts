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
import { ERRORS, ReeveError } from "../core/errors.js";
import type { RemotePlace, Remotes } from "../ports/remotes.js";
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
	/** Each ends the request: the caller has disconnected or lost its access, or the daemon stops. */
	readonly ends: readonly AbortSignal[];
}

export interface RemoteProxy {
	/** Resolves when the response has ended, with the code of its error; null if it is a success (S19). */
	forward(
		request: IncomingMessage,
		response: ServerResponse,
		to: Forwarded,
	): Promise<string | null>;
	/** Resolves to true when the WebSocket is open; false if the remote has refused it. */
	upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, to: Forwarded): Promise<boolean>;
}

interface Outgoing {
	readonly request: ClientRequest;
	/** Calls this once when the request has to end, until the stream has closed. */
	onEnd(stream: Duplex | ServerResponse, end: () => void): void;
}

export function createRemoteProxy(remotes: Remotes): RemoteProxy {
	return {
		forward: (request, response, to) => forward(remotes, request, response, to),
		upgrade: (request, socket, head, to) => upgrade(remotes, request, socket, head, to),
	};
}

async function open(
	remotes: Remotes,
	request: IncomingMessage,
	{ remote, target, correlationId, ends }: Forwarded,
	extra: Readonly<Record<string, string>>,
): Promise<Outgoing> {
	const address = await remotes.target(remote);
	const signals = [...ends, address.removed];
	if (signals.some(({ aborted }) => aborted)) throw stoppedWaiting();
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
	const start = "url" in address && address.url.startsWith("https:") ? requestSecure : requestPlain;
	return {
		request: start({
			method: request.method,
			path: target,
			headers,
			agent: false,
			...placeOf(address),
		}),
		// Not `AbortSignal.any`: signals that live as long as the daemon would retain each of them.
		onEnd(stream, end) {
			for (const signal of signals) signal.addEventListener("abort", end);
			stream.once("close", () => {
				for (const signal of signals) signal.removeEventListener("abort", end);
			});
		},
	};
}

async function forward(
	remotes: Remotes,
	request: IncomingMessage,
	response: ServerResponse,
	to: Forwarded,
): Promise<string | null> {
	const { request: outgoing, onEnd } = await open(remotes, request, to, {});
	onEnd(response, () => outgoing.destroy(stoppedWaiting()));
	const reply = await new Promise<IncomingMessage>((resolve, reject) => {
		outgoing.on("response", resolve);
		outgoing.on("error", (error) => reject(explainBroken(error, request, to)));
		request.pipe(outgoing);
	});
	const { statusCode: status = 0 } = reply;
	const refused = explainStatus(status, to);
	if (refused !== null) {
		reply.destroy();
		throw refused;
	}
	for (const name of REPLY_HEADERS) {
		const value = reply.headers[name];
		if (value !== undefined) response.setHeader(name, value);
	}
	const type = reply.headers["content-type"] ?? "";
	// A page from another host must not run with the access of this one.
	if (type !== "" && !REPLY_TYPES.test(type)) {
		response.setHeader("content-type", "application/octet-stream");
	}
	const failure = status < 400 ? null : keepStart(reply);
	response.writeHead(status);
	await new Promise<void>((resolve) => {
		// The caller must notice a response that is cut off.
		reply.on("error", () => response.destroy());
		reply.on("close", () => (reply.complete ? undefined : response.destroy()));
		response.on("close", resolve);
		reply.pipe(response);
	});
	if (!reply.complete) return "connection_lost";
	return failure === null ? null : codeOf(failure());
}

async function upgrade(
	remotes: Remotes,
	request: IncomingMessage,
	socket: Duplex,
	head: Buffer,
	to: Forwarded,
): Promise<boolean> {
	const { headers } = request;
	const wanted = Object.fromEntries(
		["sec-websocket-key", "sec-websocket-version"].map((name) => [name, `${headers[name]}`]),
	);
	const { request: outgoing, onEnd } = await open(remotes, request, to, {
		...wanted,
		connection: "Upgrade",
		upgrade: "websocket",
	});
	// A caller that gives up leaves no request behind that the remote may never answer.
	const leave = () => outgoing.destroy();
	onEnd(socket, leave);
	socket.once("close", leave);
	// Only a socket that is read notices that its other end has gone. A caller sends nothing before the answer.
	socket.once("end", leave).resume();
	if (socket.destroyed) leave();
	return new Promise<boolean>((resolve, reject) => {
		outgoing.on("error", (error) => reject(explainBroken(error, request, to)));
		outgoing.on("response", (reply) => {
			relayRefusal(reply, socket);
			resolve(false);
		});
		outgoing.on("upgrade", (reply, there: Duplex, first) => {
			join(socket, there, onEnd);
			const accept = reply.headers["sec-websocket-accept"];
			socket.write(
				`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
			);
			if (first.length > 0) socket.write(first);
			if (head.length > 0) there.write(head);
			resolve(true);
		});
		outgoing.end();
	});
}

function placeOf(target: RemotePlace): RequestOptions & { ca?: string } {
	if ("socketPath" in target) return { socketPath: target.socketPath };
	const { hostname, port } = new URL(target.url);
	return {
		host: hostname.replace(/^\[|\]$/g, ""),
		...(port !== "" && { port }),
		...(target.ca !== null && { ca: target.ca }),
	};
}

/** Both ends close together. */
function join(here: Duplex, there: Duplex, onEnd: Outgoing["onEnd"]): void {
	const end = () => {
		here.destroy();
		there.destroy();
	};
	for (const each of [here, there]) each.on("error", end).on("close", end);
	onEnd(here, end);
	here.pipe(there);
	there.pipe(here);
}

const FAILURE_BYTES_MAX = 65_536;

/** Keeps the start of a response for later, besides its other readers. */
function keepStart(reply: IncomingMessage): () => Buffer {
	const chunks: Buffer[] = [];
	let bytes = 0;
	reply.on("data", (chunk: Buffer) => {
		bytes += chunk.length;
		if (bytes <= FAILURE_BYTES_MAX) chunks.push(chunk);
	});
	return () => Buffer.concat(chunks);
}

/** The code of an error response; it may come from a daemon of another version, or from no daemon. */
function codeOf(body: Buffer): string {
	try {
		const { error } = JSON.parse(body.toString("utf8")) as { error?: { code?: unknown } };
		const code = String(error?.code);
		return Object.hasOwn(ERRORS, code) ? code : "internal";
	} catch {
		return "internal";
	}
}

function relayRefusal(reply: IncomingMessage, socket: Duplex): void {
	const failure = keepStart(reply);
	socket.on("error", () => {});
	reply.on("close", () => {
		const body = failure();
		socket.write(
			`HTTP/1.1 ${reply.statusCode} Refused\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n`,
		);
		socket.end(body);
	});
}

/** The caller's own credentials are valid: they were checked here, and only this daemon's token is sent there. */
function explainStatus(status: number, { remote }: Forwarded): ReeveError | null {
	if (status === 401) {
		const hint = `Put a valid token of ${remote} into its token file, then run \`reeve remote connect ${remote}\`.`;
		return new ReeveError("remote_unreachable", `${remote} refuses its token`, hint);
	}
	if (status >= 200 && status < 600) return null;
	return new ReeveError("remote_unreachable", `${remote} answers with the status ${status}`);
}

const stoppedWaiting = () => new ReeveError("connection_lost", "the caller stopped waiting");

/** A change whose answer is missing may have been made. */
function explainBroken(error: Error, request: IncomingMessage, { remote }: Forwarded): unknown {
	if (error instanceof ReeveError) return error;
	const { code } = error as NodeJS.ErrnoException;
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

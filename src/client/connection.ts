/** One request to a daemon, over its socket or over the network, and the meaning of its failure. */

import { type IncomingMessage, type RequestOptions, request } from "node:http";
import { ERRORS, type ErrorCode, ReeveError } from "../core/errors.js";
import type { RouteName } from "../http/contract/routes.js";
import type { ErrorJson } from "../http/contract/shapes.js";
import type { Address } from "./address.js";

export interface Sent {
	readonly method: string;
	readonly path: string;
	readonly body?: unknown;
	readonly headers?: Readonly<Record<string, string>>;
	readonly signal?: AbortSignal;
}

/** The daemon's response, with an unread body. Throws if the daemon refuses the request. */
export async function send(address: Address, sent: Sent): Promise<IncomingMessage> {
	const payload = sent.body === undefined ? null : JSON.stringify(sent.body);
	const headers = {
		...(payload !== null && { "content-type": "application/json" }),
		...tokenHeader(address),
		...sent.headers,
	};
	const options: RequestOptions & { ca?: string } = {
		method: sent.method,
		path: `${remotePath(address)}${sent.path}`,
		headers,
		// One connection per request: a kept one may belong to a daemon that has exited.
		agent: false,
		...(sent.signal && { signal: sent.signal }),
		...targetOf(address),
	};
	// TLS takes a sixth of the time of a short command to load.
	const start = isSecure(address) ? (await import("node:https")).request : request;
	const response = await new Promise<IncomingMessage>((resolve, reject) => {
		const going = start(options, resolve);
		going.on("error", (error) => reject(explainSent(error, address, sent)));
		going.end(payload);
	});
	if ((response.statusCode ?? 500) < 400) return response;
	throw failureOf(await readText(response, address, sent.signal, FAILURE_BYTES_MAX));
}

/** A change that was not answered may have been made, which the error reports. */
function explainSent(error: unknown, address: Address, { method, signal }: Sent): unknown {
	const explained = explain(error, address, signal);
	const isChange = method !== "GET" && method !== "HEAD";
	if (!isChange || !(explained instanceof ReeveError)) return explained;
	const { code, message } = explained;
	if (code !== "connection_lost" && code !== "timeout") return explained;
	return new ReeveError(
		code,
		`${message}; it is unknown whether the request was carried out`,
		"Run `reeve daemon start`, then `reeve ps`: the next daemon completes a start, stop or reload that has begun.",
	);
}

/** Many times the size of any reply. A server that is no daemon, or a hostile one, must not fill the memory (A6). */
const REPLY_BYTES_MAX = 256 * 1_048_576;
export const FAILURE_BYTES_MAX = 8 * 1_048_576;

/** The complete body. */
export async function readText(
	response: IncomingMessage,
	address: Address,
	signal?: AbortSignal,
	bytesMax: number = REPLY_BYTES_MAX,
): Promise<string> {
	const chunks: Buffer[] = [];
	let bytes = 0;
	for await (const chunk of bytesOf(response, address, signal)) {
		bytes += chunk.length;
		// Leaving the loop closes the connection.
		if (bytes > bytesMax) {
			throw new ReeveError("internal", `the response has more than ${bytesMax} bytes`);
		}
		chunks.push(chunk);
	}
	return Buffer.concat(chunks).toString("utf8");
}

/** The path of a route; typed, so that a renamed route is detected where it is called. */
export function pathOf(name: RouteName, place: string | readonly string[] = ""): string {
	const [, pattern = ""] = name.split(" ");
	const places = typeof place === "string" ? [place] : place;
	return places.reduce((path, each) => path.replace(/:\w+/, encodeURIComponent(each)), pattern);
}

export function tokenHeader(address: Address): Readonly<Record<string, string>> {
	const { token } = address;
	return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

/** The part of the path that names a remote of the daemon; empty for the daemon itself. */
export function remotePath({ remote }: Address): string {
	return remote === undefined ? "" : `/remotes/${encodeURIComponent(remote)}`;
}

export function isSecure(address: Address): boolean {
	return "url" in address && address.url.startsWith("https:");
}

function targetOf(address: Address): RequestOptions & { ca?: string } {
	if ("socketPath" in address) return { socketPath: address.socketPath };
	const { hostname, port } = new URL(address.url);
	return {
		host: hostname.replace(/^\[|\]$/g, ""),
		...(port !== "" && { port }),
		...(address.ca !== undefined && { ca: address.ca }),
	};
}

/** The bytes of a stream. An interruption is thrown as an error. */
export async function* bytesOf(
	response: IncomingMessage,
	address: Address,
	signal?: AbortSignal,
): AsyncGenerator<Buffer> {
	try {
		yield* response as AsyncIterable<Buffer>;
	} catch (error) {
		throw explain(error, address, signal);
	}
}

/** Recreates an error that the daemon returned. */
export function failureOf(body: string): ReeveError {
	try {
		const { code, message, hint, details } = (JSON.parse(body) as ErrorJson).error;
		// A daemon of another version may return unknown errors; their text is used unchanged.
		const known = Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : "internal";
		if (typeof message === "string") return new ReeveError(known, message, hint, details ?? null);
	} catch {
		// Not an error of Reeve: reported unchanged below.
	}
	return unexpectedResponse(body);
}

export function unexpectedResponse(body: string): ReeveError {
	return new ReeveError("internal", `unexpected response from the daemon: ${body.slice(0, 500)}`);
}

const UNREACHABLE: ReadonlySet<string> = new Set([
	...["EHOSTUNREACH", "ENETUNREACH", "EHOSTDOWN", "ENETDOWN", "ETIMEDOUT"],
	...["ENOTFOUND", "EAI_AGAIN"],
]);

/** The error for a failed connection. */
export function explain(error: unknown, address: Address, signal?: AbortSignal): unknown {
	if (!(error instanceof Error)) return error;
	const place = "socketPath" in address ? address.socketPath : address.url;
	// While a body is read, Node reports an abort as a reset connection.
	if (signal?.aborted) {
		const { reason } = signal;
		if (!(reason instanceof Error) || reason.name !== "TimeoutError") return reason;
		const hint = "The daemon may be busy or blocked. Run `reeve doctor` and check its log.";
		return new ReeveError("timeout", `the daemon at ${place} does not respond`, hint);
	}
	const { code } = error as NodeJS.ErrnoException;
	if (code === "ENOENT" || code === "ECONNREFUSED" || code === "ENOTDIR") {
		return new ReeveError("no_daemon", `no daemon is listening at ${place}`);
	}
	if (code === "ECONNRESET" || code === "EPIPE") {
		return new ReeveError("connection_lost", `the daemon at ${place} closed the connection`);
	}
	if (code === "EACCES" || code === "EPERM") {
		return new ReeveError("home_denied", `cannot connect to ${place}: permission denied`);
	}
	if (code !== undefined && UNREACHABLE.has(code)) {
		return new ReeveError("no_daemon", `cannot connect to ${place}: ${error.message}`);
	}
	return error;
}

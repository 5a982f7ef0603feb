/** One request to a daemon, over its socket or over the network, and what its failure means. */

import { type IncomingMessage, type RequestOptions, request } from "node:http";
import { request as secureRequest } from "node:https";
import { text } from "node:stream/consumers";
import { ERRORS, type ErrorCode, ReeveError } from "../core/errors.js";
import type { ErrorJson } from "../http/contract/shapes.js";
import type { Address } from "./address.js";

export interface Sent {
	readonly method: string;
	readonly path: string;
	readonly body?: unknown;
	readonly headers?: Readonly<Record<string, string>>;
	readonly signal?: AbortSignal;
}

/** The daemon's answer, whose body is still to be read. What it refuses is thrown. */
export async function send(address: Address, sent: Sent): Promise<IncomingMessage> {
	const payload = sent.body === undefined ? null : JSON.stringify(sent.body);
	const headers = {
		...(payload !== null && { "content-type": "application/json" }),
		...tokenHeader(address),
		...sent.headers,
	};
	const options: RequestOptions & { ca?: string } = {
		...{ method: sent.method, path: sent.path, headers },
		// A connection each: one that was kept may belong to a daemon that has gone.
		agent: false,
		...(sent.signal && { signal: sent.signal }),
		...targetOf(address),
	};
	const start = isSecure(address) ? secureRequest : request;
	const response = await new Promise<IncomingMessage>((resolve, reject) => {
		const going = start(options, resolve);
		going.on("error", (error) => reject(explain(error, address)));
		going.end(payload);
	});
	if ((response.statusCode ?? 500) < 400) return response;
	throw failureOf(await text(response));
}

export function tokenHeader(address: Address): Readonly<Record<string, string>> {
	const { token } = address;
	return token === undefined ? {} : { authorization: `Bearer ${token}` };
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

/** The bytes of a stream, whose end before its time is told as what it is. */
export async function* told(response: IncomingMessage, address: Address): AsyncGenerator<Buffer> {
	try {
		yield* response as AsyncIterable<Buffer>;
	} catch (error) {
		throw explain(error, address);
	}
}

/** An error that the daemon told, as the same error here. */
export function failureOf(body: string): ReeveError {
	try {
		const { code, message, hint, details } = (JSON.parse(body) as ErrorJson).error;
		// A daemon of another version may know errors that this one does not: its words are good.
		const known = Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : "internal";
		if (typeof message === "string") return new ReeveError(known, message, hint, details ?? null);
	} catch {
		// Not one of ours: told below as it is.
	}
	return strangeAnswer(body);
}

export function strangeAnswer(body: string): ReeveError {
	return new ReeveError("internal", `the daemon answered: ${body.slice(0, 500)}`);
}

/** What a failed connection means to whoever asked. */
export function explain(error: unknown, address: Address): unknown {
	if (!(error instanceof Error)) return error;
	const place = "socketPath" in address ? address.socketPath : address.url;
	const { code, cause } = error as NodeJS.ErrnoException;
	if (code === "ENOENT" || code === "ECONNREFUSED" || code === "ENOTDIR") {
		return new ReeveError("no_daemon", `no daemon answers at ${place}`);
	}
	if (code === "ECONNRESET" || code === "EPIPE") {
		return new ReeveError("connection_lost", `the daemon at ${place} went away`);
	}
	if (code === "EACCES" || code === "EPERM") {
		return new ReeveError("home_denied", `${place} may not be used: permission denied`);
	}
	if (cause instanceof Error && cause.name === "TimeoutError") {
		const hint = "It may be very busy, or hang: `reeve doctor` looks; its log may tell why.";
		return new ReeveError("timeout", `the daemon at ${place} does not answer`, hint);
	}
	return error;
}

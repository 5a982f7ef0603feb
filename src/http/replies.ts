/** Writes responses: one format for results, one for errors. */

import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { ERRORS, ReeveError } from "../core/errors.js";
import type { ErrorJson } from "./contract/shapes.js";

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
	const body = Buffer.from(`${JSON.stringify(value)}\n`);
	response.writeHead(status, {
		"content-type": "application/json",
		"content-length": body.length,
	});
	response.end(body);
}

/** A serialized response with its entity tag. */
export class PreparedJson {
	readonly body: Buffer;
	/** Weak: it stays the same while only times change. */
	readonly etag: string;

	constructor(body: Buffer, etag: string) {
		this.body = body;
		this.etag = etag;
	}
}

/** Sends it, or 304 if the client already has it. */
export function sendPrepared(
	response: ServerResponse,
	{ body, etag }: PreparedJson,
	known: string | undefined,
): void {
	// `no-store` would prevent caching; `no-cache` allows it with revalidation.
	response.setHeader("cache-control", "no-cache");
	response.setHeader("etag", etag);
	if (known?.split(",").some((each) => each.trim() === etag)) {
		response.writeHead(304).end();
		return;
	}
	response.writeHead(200, {
		"content-type": "application/json",
		"content-length": body.length,
	});
	response.end(body);
}

/** Host failures that any write can hit, and that pass without a change in Reeve. */
const HOST_FAILURES: ReadonlySet<string> = new Set([
	...["ENOSPC", "EDQUOT", "EROFS", "EIO", "EMFILE", "ENFILE", "ENOMEM"],
]);

/** The error for the caller. Unexpected errors are described in the log only (A5). */
export function explainError(error: unknown, correlationId: string): ReeveError {
	if (error instanceof ReeveError) return error;
	const { code = "", message } = error as NodeJS.ErrnoException;
	if (HOST_FAILURES.has(code)) return new ReeveError("store_unavailable", message);
	// Some files are loaded at first use.
	if (code === "ERR_MODULE_NOT_FOUND") {
		return new ReeveError(
			"installation_changed",
			"the files of the running daemon were replaced or removed",
		);
	}
	return new ReeveError(
		"internal",
		"internal error in the daemon",
		`See its log, correlation id ${correlationId}, and report the bug.`,
	);
}

export function sendError(
	response: ServerResponse,
	error: ReeveError,
	correlationId: string,
): void {
	const { retry_after_s: seconds } = (error.details ?? {}) as { retry_after_s?: number };
	if (seconds !== undefined) response.setHeader("retry-after", seconds);
	sendJson(response, ERRORS[error.code].httpStatus, renderError(error, correlationId));
}

function renderError(error: ReeveError, correlationId: string): ErrorJson {
	const { code, message, hint, details } = error;
	return { error: { code, message, hint, details, correlation_id: correlationId } };
}

/** Refuses to open a WebSocket, with the same error format. */
export function refuseUpgrade(socket: Duplex, error: ReeveError, correlationId: string): void {
	const body = JSON.stringify(renderError(error, correlationId));
	const head = [
		`HTTP/1.1 ${ERRORS[error.code].httpStatus} Refused`,
		"content-type: application/json",
		`content-length: ${Buffer.byteLength(body)}`,
		`x-correlation-id: ${correlationId}`,
		"connection: close",
	];
	// The client may have disconnected already.
	socket.on("error", () => {});
	socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}

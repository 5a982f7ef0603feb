/** Reads a request within limits, and validates it against the contract. */

import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { z } from "zod";
import { ReeveError } from "../core/errors.js";
import { isTooDeep, JSON_DEPTH_MAX } from "../core/json-depth.js";

/** Many times the size of a fleet with hundreds of agents. */
const BODY_BYTES_MAX = 8 * 1_048_576;
const ISSUES_SHOWN_MAX = 20;

export interface RequestIds {
	readonly requestId: string;
	readonly correlationId: string;
}

/** The ids of a request, or new ones. Values that are not safe in a header or log are ignored. */
export function readIds({ headers }: IncomingMessage): RequestIds {
	const requestId = safeId(headers["x-request-id"]) ?? randomUUID();
	return { requestId, correlationId: safeId(headers["x-correlation-id"]) ?? requestId };
}

function safeId(value: string | string[] | undefined): string | null {
	return typeof value === "string" && /^[\w.:-]{1,128}$/.test(value) ? value : null;
}

/** The body as JSON; an empty body counts as an empty object. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
	const body = await readBody(request);
	if (body.length === 0) return {};
	// A form of another site can send any other type without a preflight request.
	const type = request.headers["content-type"] ?? "";
	if (!/^application\/json\s*(;|$)/i.test(type)) {
		throw new ReeveError("unsupported_media_type", `unsupported content type: ${type || "none"}`);
	}
	const value = parseBody(body.toString("utf8"));
	if (isTooDeep(value, body.length)) {
		throw new ReeveError(
			"body_too_deep",
			`the body is nested deeper than ${JSON_DEPTH_MAX} levels`,
		);
	}
	return value;
}

function parseBody(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		throw new ReeveError("validation_failed", "the body is not valid JSON");
	}
}

/** Not with `for await`, which would close the connection before the error response is sent. */
function readBody(request: IncomingMessage): Promise<Buffer> {
	return new Promise((resolve, reject) => {
		const chunks: Buffer[] = [];
		let bytes = 0;
		request.on("data", (chunk: Buffer) => {
			bytes += chunk.length;
			if (bytes <= BODY_BYTES_MAX) return void chunks.push(chunk);
			// The rest of the body is read and dropped until the error response is sent.
			chunks.length = 0;
			reject(new ReeveError("body_too_large", `the body has more than ${BODY_BYTES_MAX} bytes`));
		});
		let isWhole = false;
		request.on("end", () => {
			isWhole = true;
			resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
		});
		request.on("error", reject);
		// Every request closes: only an early close is an error.
		request.on("close", () => {
			if (!isWhole) reject(new ReeveError("connection_lost", "the body is incomplete"));
		});
	});
}

/** Validates a part of the request and reports all problems at once. */
export function check<Schema extends z.ZodType>(
	schema: Schema | undefined,
	value: unknown,
	part: "path" | "query" | "body",
): z.output<Schema> | undefined {
	if (schema === undefined) return undefined;
	const parsed = schema.safeParse(value);
	if (parsed.success) {
		const dropped = findDropped(value, parsed.data);
		if (dropped === null) return parsed.data;
		throw new ReeveError(
			"validation_failed",
			`the ${part} contains the reserved key ${dropped}: rename it`,
		);
	}
	const issues = parsed.error.issues.slice(0, ISSUES_SHOWN_MAX).map(({ path, message }) => ({
		in: part,
		path: path.map(String).join("."),
		message,
	}));
	const words = issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
	throw new ReeveError(
		"validation_failed",
		`invalid request ${part}: ${words.join("; ")}`,
		undefined,
		{ issues },
	);
}

/**
 * The path of a key named `__proto__` that the schema silently dropped; null if there is none. Data
 * that the schema passes through, such as payloads, may have any keys.
 */
function findDropped(value: unknown, kept: unknown): string | null {
	if (value === kept || !isRecord(value) || !isRecord(kept)) return null;
	if (Object.hasOwn(value, "__proto__") && !Object.hasOwn(kept, "__proto__")) return "__proto__";
	for (const key of Object.keys(kept)) {
		const below = Object.hasOwn(value, key) ? findDropped(value[key], kept[key]) : null;
		if (below !== null) return `${key}.${below}`;
	}
	return null;
}

function isRecord(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null;
}

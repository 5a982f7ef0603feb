/** Reads what a request says, within bounds, and holds it to the contract. */

import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { z } from "zod";
import { ReeveError } from "../core/errors.js";

/** A fleet of hundreds of agents fits many times. */
const BODY_BYTES_MAX = 8 * 1_048_576;
const ISSUES_TOLD_MAX = 20;

export interface RequestIds {
	readonly requestId: string;
	readonly correlationId: string;
}

/** The ids that came with a request, or new ones. What could not stand in a header or log is not taken. */
export function readIds({ headers }: IncomingMessage): RequestIds {
	const requestId = safeId(headers["x-request-id"]) ?? randomUUID();
	return { requestId, correlationId: safeId(headers["x-correlation-id"]) ?? requestId };
}

function safeId(value: string | string[] | undefined): string | null {
	return typeof value === "string" && /^[\w.:-]{1,128}$/.test(value) ? value : null;
}

/** The body as JSON; an empty one counts as an empty object. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
	const body = await readBody(request);
	if (body.length === 0) return {};
	// A form of another site can send anything but this type without being asked about first.
	const type = request.headers["content-type"] ?? "";
	if (!/^application\/json\s*(;|$)/i.test(type)) {
		throw new ReeveError("unsupported_media_type", `the body is ${type || "of no type"}`);
	}
	try {
		return JSON.parse(body.toString("utf8"));
	} catch {
		throw new ReeveError("validation_failed", "the body is not JSON");
	}
}

/** Not with `for await`, which would tear down the connection that the refusal is to be told on. */
function readBody(request: IncomingMessage): Promise<Buffer> {
	return new Promise((resolve, reject) => {
		const chunks: Buffer[] = [];
		let bytes = 0;
		request.on("data", (chunk: Buffer) => {
			bytes += chunk.length;
			if (bytes <= BODY_BYTES_MAX) return void chunks.push(chunk);
			// What still comes is read and dropped until the refusal is out.
			chunks.length = 0;
			reject(new ReeveError("body_too_large", `the body has more than ${BODY_BYTES_MAX} bytes`));
		});
		request.on("end", () => resolve(Buffer.concat(chunks)));
		request.on("error", reject);
		request.on("close", () => reject(new ReeveError("connection_lost", "the body was cut short")));
	});
}

/** What the schema makes of a part of the request. Tells everything that is wrong with it at once. */
export function check<Schema extends z.ZodType>(
	schema: Schema | undefined,
	value: unknown,
	part: "path" | "query" | "body",
): z.output<Schema> | undefined {
	if (schema === undefined) return undefined;
	const parsed = schema.safeParse(value);
	if (parsed.success) return parsed.data;
	const issues = parsed.error.issues.slice(0, ISSUES_TOLD_MAX).map(({ path, message }) => ({
		in: part,
		path: path.map(String).join("."),
		message,
	}));
	const words = issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
	throw new ReeveError(
		"validation_failed",
		`the ${part} is not as it should be: ${words.join("; ")}`,
		undefined,
		{ issues },
	);
}

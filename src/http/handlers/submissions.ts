/** What submissions of tasks and plans have in common, and pages of them. */

import type { IncomingHttpHeaders } from "node:http";
import { ReeveError } from "../../core/errors.js";
import type { SubmitOptions } from "../../engine/calls/submission.js";

const KEY_LENGTH_MAX = 200;

export function submitOptions({
	headers,
	correlationId,
}: {
	readonly headers: IncomingHttpHeaders;
	readonly correlationId: string;
}): SubmitOptions {
	const key = headers["idempotency-key"];
	if (key === undefined) return { correlationId };
	if (typeof key !== "string" || key === "" || key.length > KEY_LENGTH_MAX) {
		throw new ReeveError(
			"validation_failed",
			`the idempotency key must have 1 to ${KEY_LENGTH_MAX} characters`,
		);
	}
	return { correlationId, idempotencyKey: key };
}

export function pageOf({
	limit,
	before,
	since,
}: {
	readonly limit: number;
	readonly before?: string | undefined;
	readonly since?: string | undefined;
}) {
	return {
		limit,
		...(before !== undefined && { before }),
		...(since !== undefined && { sinceMs: Date.parse(since) }),
	};
}

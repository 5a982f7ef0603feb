/** Shared parts of submitting and listing tasks and plans. */

import type { IncomingHttpHeaders } from "node:http";
import { ReeveError } from "../../core/errors.js";
import type { SubmitOptions } from "../../engine/tasks/submission.js";
import { actorIdOf } from "../audit.js";
import type { Caller } from "../auth/gate.js";

const KEY_LENGTH_MAX = 200;

export function submitOptions({
	headers,
	correlationId,
	caller,
}: {
	readonly headers: IncomingHttpHeaders;
	readonly correlationId: string;
	readonly caller: Caller;
}): SubmitOptions {
	const key = headers["idempotency-key"];
	const by = actorIdOf(caller);
	if (key === undefined) return { correlationId, by };
	if (typeof key !== "string" || key === "" || key.length > KEY_LENGTH_MAX) {
		throw new ReeveError(
			"validation_failed",
			`the idempotency key must have 1 to ${KEY_LENGTH_MAX} characters`,
		);
	}
	return { correlationId, by, idempotencyKey: key };
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

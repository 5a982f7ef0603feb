/**
 * Why a turn failed, from the HTTP status and the error text of a CLI. Only text that the CLI itself
 * marks as an error is used: the text of a conversation may mention any of this.
 */

import type { TextCause, TurnCause } from "./adapter.js";
import { compilePattern } from "./pattern.js";
import { type SignMeaning, shorten } from "./sign.js";

/**
 * Error texts of model services, whichever CLI reports them. The first match wins, so causes that
 * services hide behind a common status come first: a content filter or an empty balance is often a 400
 * or a 429.
 */
export const SERVICE_TEXTS: readonly TextCause[] = [
	{
		match:
			"\\b402\\b|payment required|billing_error|insufficient_quota|insufficient (credits?|balance|funds)|(credit|account) balance is|out of credits|enable billing|billing (to be enabled|is disabled|not enabled|not active)|check your (plan and )?billing|no credits (left|remaining)",
		cause: "billing",
		fix: "Add credit to the account or change its plan, then run `reeve resume`.",
	},
	{
		match:
			"context[ _-]?(length|window|limit)|(prompt|input|conversation|request) (is |was )?too (long|large)|(maximum|exceeds?)[^.\\n]{0,40}(context|token (count|limit)|number of tokens)|too many (input )?tokens|\\b413\\b",
		cause: "context_full",
		fix: "Compact or restart the conversation: `reeve restart --fresh`.",
	},
	{
		match:
			"content[ _-]?(filter|policy|management)|safety (system|settings|filters?|polic)|usage polic(y|ies)|violat\\w* [^.\\n]{0,40}polic|prohibited_content|responsible ai|\\bflagged\\b|\\brefusal\\b|(blocked|rejected|stopped) (by|due to|because of) [^.\\n]{0,30}(safety|filter|policy|moderation)",
		cause: "refused",
		fix: null,
	},
	{
		match:
			"(hit|reached|exceeded|exhausted) your [\\w\\s-]*(limit|quota)|usage[_ ]limit|limit reached|quota (exceeded|exhausted)|resource[_ ]exhausted",
		cause: "usage_limit",
		fix: null,
	},
	{
		match:
			"authentication_(error|failed)|permission_(error|denied)|invalid[\\w\\s-]* api[ -]?key|incorrect api key|invalid x-api-key|\\b40[13]\\b|unauthenticated|unauthorized|forbidden|not logged in|please (run /login|log ?in)|token (has |is )?expired",
		cause: "auth",
		fix: "Log in again or correct the key in the agent's environment, then run `reeve resume`.",
	},
	{
		match:
			"\\b404\\b|requested (entity|resource|model)[^.\\n]{0,40}not|not_found_error|model_not_found|(unknown|invalid|unsupported) model|models?\\b[^.\\n]{0,80}(not found|does not exist|is not (available|supported)|not exist)",
		cause: "config",
		fix: "Correct the model or the address of the service in the agent's settings.",
	},
	{ match: "rate.?limit|\\b429\\b|too many requests", cause: "usage_limit", fix: null },
	{
		match:
			"overloaded|server_error|\\b(408|5(00|02|03|04|20|21|22|23|24|29))\\b|service unavailable|bad gateway|internal server error|ECONNREFUSED|ENOTFOUND|ECONNRESET|EPIPE|ETIMEDOUT|(unable to|cannot|could not|failed to) (connect|reach)|connection (reset|refused|error|lost|closed|failed)|error sending request|network error|socket (connection was closed|hang up)|other side closed|premature close|fetch failed|stream (disconnected|error|closed|ended)|timed? ?out|high demand|at capacity",
		cause: "overloaded",
		fix: null,
	},
	{
		match: "\\b4(00|09|22)\\b|invalid[_ ]request|bad request",
		cause: "invalid_request",
		fix: null,
	},
];

/** Statuses with a clear meaning, whatever the text says. */
const BY_STATUS: Readonly<Record<number, TurnCause>> = {
	401: "auth",
	402: "billing",
	404: "config",
	413: "context_full",
	408: "overloaded",
	500: "overloaded",
	502: "overloaded",
	503: "overloaded",
	504: "overloaded",
	529: "overloaded",
};

/**
 * Names of errors in the response bodies of model services (`type`, `code`, `status`, `reason`). CLIs
 * include the body in their own text, or report the name separately. They are exact where status and
 * text are not.
 */
const BY_NAME: Readonly<Record<string, TurnCause>> = {
	insufficient_quota: "billing",
	billing_error: "billing",
	payment_required: "billing",
	billing_disabled: "billing",
	insufficient_balance: "billing",
	billing_hard_limit_reached: "billing",
	billing_not_active: "billing",
	context_length_exceeded: "context_full",
	request_too_large: "context_full",
	content_filter: "refused",
	content_policy_violation: "refused",
	prohibited_content: "refused",
	responsibleaipolicyviolation: "refused",
	model_not_found: "config",
	not_found_error: "config",
	not_found: "config",
	authentication_error: "auth",
	invalid_api_key: "auth",
	permission_error: "auth",
	unauthenticated: "auth",
	permission_denied: "auth",
	api_key_invalid: "auth",
	usage_limit_reached: "usage_limit",
	rate_limit_error: "usage_limit",
	rate_limit_exceeded: "usage_limit",
	resource_exhausted: "usage_limit",
	overloaded_error: "overloaded",
	server_error: "overloaded",
	api_error: "overloaded",
	unavailable: "overloaded",
	internal: "overloaded",
	deadline_exceeded: "overloaded",
};

/** Causes by precision: if a body names two, the first one in this list is used. */
const EXACT_FIRST: readonly TurnCause[] = [
	...(["billing", "context_full", "refused", "config", "auth"] as const),
	...(["usage_limit", "overloaded"] as const),
];

const NAME = /\\?"(?:type|code|status|reason)\\?"\s*:\s*\\?"(\w+)\\?"/gi;
const STATUS = /\\?"code\\?"\s*:\s*(\d{3})\b/;

/** The cause named in the response body; null if there is none. */
function namedCause(body: string): TurnCause | null {
	const names = [...body.matchAll(NAME)].map(([, name = ""]) => BY_NAME[name.toLowerCase()]);
	return EXACT_FIRST.find((cause) => names.includes(cause)) ?? null;
}

/** Statuses that services use for several causes: the text decides, and this is the fallback. */
const OTHERWISE: Readonly<Record<number, TurnCause>> = {
	400: "invalid_request",
	403: "auth",
	409: "invalid_request",
	422: "invalid_request",
	429: "usage_limit",
};

export interface FailedTurn {
	/** The error text of the CLI. */
	readonly text: string;
	/** The HTTP status, if the CLI reports it separately. */
	readonly status?: number | null;
	/** The response body of the service, if the CLI reports it separately. */
	readonly body?: string;
	/** A cause reported by the CLI; the text may refine a vague one. */
	readonly cause?: TurnCause | undefined;
	readonly texts?: readonly TextCause[];
	/** When a limit lifts, from a text. */
	readonly readReset: (text: string) => number | null;
}

/** The meaning of a failed turn; `unknown` with its text if nothing matches. */
export function failureOf(
	turn: FailedTurn,
): Pick<SignMeaning, "detail"> & { readonly failure: NonNullable<SignMeaning["failure"]> } {
	const cause = causeOf(turn);
	const resetAtMs = cause === "usage_limit" ? turn.readReset(turn.text) : null;
	const detail = shorten(turn.text);
	return { failure: { cause, resetAtMs }, ...(detail === "" ? {} : { detail }) };
}

/** The cause in the error text of a CLI or its service. */
export function causeOfText(text: string): TurnCause {
	return causeOf({ text, readReset: () => null });
}

function causeOf(turn: FailedTurn): TurnCause {
	const { text, body = text, cause, texts = SERVICE_TEXTS } = turn;
	const named = namedCause(body);
	// Some CLIs report an account without credit as a limit; it does not lift by itself.
	if (cause === "usage_limit") return named === "billing" ? "billing" : cause;
	if (cause !== undefined && cause !== "unknown" && cause !== "invalid_request") return cause;
	const status = turn.status || Number(STATUS.exec(body)?.[1] ?? 0);
	const certain = BY_STATUS[status] ?? named ?? undefined;
	if (certain !== undefined) return certain;
	const otherwise = OTHERWISE[status] ?? cause ?? "unknown";
	const found = findText(texts, text)?.text.cause;
	// A failed turn did not complete, so a matching text must mean something else.
	if (found === undefined || found === "completed" || found === "crash") return otherwise;
	return found === "invalid_request" && otherwise !== "unknown" ? otherwise : found;
}

export interface FoundText {
	readonly text: TextCause;
	readonly line: string;
}

/** The first text of the table that occurs, with its line. */
export function findText(texts: readonly TextCause[], words: string): FoundText | null {
	const lines = words.split(/[\r\n]+/);
	for (const text of texts) {
		const pattern = compilePattern(text.match, { ignoreCase: true });
		const line = lines.findLast((each) => pattern.test(each));
		if (line !== undefined) return { text, line };
	}
	return null;
}

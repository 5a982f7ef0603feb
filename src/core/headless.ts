/**
 * The result of a prompt that an agent CLI ran without a terminal, and its meaning for the call:
 * whether and when to retry, whether the operator has to fix something, or whether the request itself
 * was wrong. Each adapter parses its own CLI; the consequences are the same for all.
 */

import type { TurnCause } from "./adapter.js";
import type { ActionRequest, ActionResponse } from "./outcome.js";
import { screenText } from "./safe-text.js";
import { failureOf } from "./turn-failure.js";
import { numberOf, type UsageReading } from "./usage.js";

/** The payload of a call: `{"prompt": "…", "conversation": "…"}` with the action `ask`. */
export interface HeadlessPrompt {
	readonly prompt: string;
	/** The conversation to continue; null starts a new one. */
	readonly conversation: string | null;
}

export interface HeadlessUsage {
	/** All input tokens, cached or not. */
	readonly input_tokens: number;
	readonly output_tokens: number;
	/** The part of the input that was read from the cache, at a lower price. */
	readonly cached_input_tokens: number;
}

/** The result of a call, as returned to its caller. */
export interface HeadlessAnswer {
	readonly text: string;
	/** Pass it as `conversation` of the next call to continue. */
	readonly conversation: string | null;
	readonly usage: HeadlessUsage | null;
	/** Null if the CLI does not report it. */
	readonly cost_usd: number | null;
	/** Tools that the CLI wanted to use and was denied without a prompt. */
	readonly denied_tools: readonly string[];
}

/** The usage that a CLI reports for a call, successful or not. */
export type CallUsage = Pick<HeadlessAnswer, "usage" | "cost_usd">;

export const NOTHING_REPORTED: CallUsage = Object.freeze({ usage: null, cost_usd: null });

/**
 * The reported usage of a call, as a reading; null for none. `total` names the running total that it
 * belongs to, if the CLI only reports a sum over several calls.
 */
export function readingOf(
	{ usage, cost_usd: cost }: CallUsage,
	total?: string,
): UsageReading | null {
	if (usage === null && cost === null) return null;
	const cacheRead = numberOf(usage?.cached_input_tokens);
	return {
		key: total ?? "",
		isTotal: total !== undefined,
		cacheRead,
		cacheWrite: 0,
		costUsd: cost === null ? null : numberOf(cost),
		input: Math.max(0, numberOf(usage?.input_tokens) - cacheRead),
		output: numberOf(usage?.output_tokens),
	};
}

export const HEADLESS_FAILURES = [
	"auth",
	"billing",
	"config",
	"usage_limit",
	"rate_limit",
	"overloaded",
	"connection",
	"refusal",
	"bad_request",
	"conversation_gone",
	"failure",
] as const;
export type HeadlessFailure = (typeof HEADLESS_FAILURES)[number];

export type HeadlessEnd =
	| { readonly type: "answered"; readonly answer: HeadlessAnswer }
	| {
			readonly type: "failed";
			readonly trouble: HeadlessFailure;
			/** The CLI's own text. */
			readonly message: string;
			/** The wait that it requests. */
			readonly retryAfterMs: number | null;
	  };

/** A CLI that cannot work until the operator fixes it: a retry would fail too. */
export interface Unusable {
	readonly unusable: string;
}

/** A CLI whose account has hit its usage limit. */
export interface Limited {
	readonly limited: string;
	/** When the limit lifts; null if unknown. */
	readonly resetInMs: number | null;
}

/**
 * The protocol code of each kind of trouble: 4xx is the caller's error, 5xx is retried and counts for
 * the circuit breaker. Null: the agent itself is unusable.
 */
const CODES: Readonly<Record<Exclude<HeadlessFailure, "usage_limit">, number | null>> = {
	auth: null,
	billing: null,
	config: null,
	rate_limit: 503,
	overloaded: 503,
	connection: 502,
	refusal: 422,
	bad_request: 400,
	conversation_gone: 404,
	failure: 500,
};

const WHAT_TO_DO: Readonly<Partial<Record<HeadlessFailure, string>>> = {
	auth: "log in, or fix its API key",
	billing: "add credit to its account, or change its plan",
	config: "fix its settings",
};

export function renderHeadless(
	{ request_id }: Pick<ActionRequest, "request_id">,
	end: HeadlessEnd,
): ActionResponse | Unusable | Limited {
	if (end.type === "answered") {
		return { request_id, status: "success", code: 0, result: end.answer };
	}
	const { trouble, message, retryAfterMs } = end;
	const error = `${trouble}: ${message}`;
	if (trouble === "usage_limit") return { limited: error, resetInMs: retryAfterMs };
	const code = CODES[trouble];
	if (code === null) return { unusable: `${error}; ${WHAT_TO_DO[trouble]}` };
	const wait = retryAfterMs === null ? {} : { retry_after_ms: retryAfterMs };
	return { request_id, status: "error", code, error, ...wait };
}

/** Causes that prompts share with turns of a session. */
const BY_CAUSE: Readonly<Partial<Record<TurnCause, HeadlessFailure>>> = {
	auth: "auth",
	billing: "billing",
	overloaded: "overloaded",
	usage_limit: "rate_limit",
	// The request names an unknown model, or is too long: a retry would fail too.
	config: "bad_request",
	context_full: "bad_request",
	invalid_request: "bad_request",
	refused: "refusal",
};

/** Reads times in the output of a finished CLI. */
export interface ResetReader {
	/** When it was printed, in wall time. */
	readonly atMs: number;
	/** The wall time at which a limit lifts, from a text; null if it contains none. */
	readonly resetAtMs: (text: string) => number | null;
}

/** A request that the model service failed, as far as the CLI reports it. */
export interface FailedRequest {
	/** The CLI's own text. */
	readonly message: string;
	readonly status?: number | null;
	/** The response body of the service, if the CLI reports it separately. */
	readonly body?: string;
	/** The `retry-after` of the service, if the CLI reports it separately: seconds or a date. */
	readonly retryAfter?: string | undefined;
}

/** A limit that lifts sooner than this is one of requests per minute: the call is only retried. */
const SHORT_LIMIT_MS = 60_000;
/** The limit of an account, which parks all of its agents. */
const ACCOUNT_LIMIT =
	/usage[_ ]limit|(?<!rate )limit reached|\b(hit|used up|exhausted) your\b.*\b(limit|quota|allowance)|\b((five|5)-?hour|hourly|session|daily|weekly|monthly|plan)\b[\w -]{0,20}(limit|quota|allowance)/i;

/** How long to wait, from a text; null if it contains no time. */
export function waitIn(text: string, { atMs, resetAtMs }: ResetReader): number | null {
	const untilMs = resetAtMs(text);
	return untilMs === null ? null : Math.max(0, untilMs - atMs);
}

/** How long to wait, from all that is known of a failed request; the more exact sources come first. */
export function waitOfRequest(
	{ message, body = "", retryAfter }: FailedRequest,
	reader: ResetReader,
): number | null {
	const header = retryAfter === undefined ? null : waitIn(`retry-after: ${retryAfter}`, reader);
	return header ?? waitIn(body, reader) ?? waitIn(message, reader);
}

/** How the call ends whose request failed. */
export function endOfFailed(request: FailedRequest, reader: ResetReader): HeadlessEnd {
	const { message, status = null, body = "" } = request;
	const text = `${message} ${body}`.trim();
	const trouble = headlessFailureOf(text, status, reader.resetAtMs);
	if (trouble !== "rate_limit" && trouble !== "overloaded") return failed(trouble, message);
	const waitMs = waitOfRequest(request, reader);
	const isAccount = ACCOUNT_LIMIT.test(text) || (waitMs ?? 0) > SHORT_LIMIT_MS;
	return failed(trouble === "rate_limit" && isAccount ? "usage_limit" : trouble, message, waitMs);
}

/** The kind of failure, from the HTTP status if the CLI reports it, and from the error text. */
export function headlessFailureOf(
	text: string,
	status: number | null = null,
	readReset: ResetReader["resetAtMs"] = () => null,
): HeadlessFailure {
	if (status !== null && status >= 500) return troubleOfStatus(status);
	const { failure } = failureOf({ text, status, readReset });
	const trouble = BY_CAUSE[failure.cause];
	return trouble ?? (status === null ? "failure" : troubleOfStatus(status));
}

/** The kind of failure for an HTTP status without a known cause. */
function troubleOfStatus(status: number): HeadlessFailure {
	if (status === 529 || status === 503) return "overloaded";
	return status >= 400 && status < 500 ? "bad_request" : "failure";
}

export function failed(
	trouble: HeadlessFailure,
	message: string,
	retryAfterMs: number | null = null,
): HeadlessEnd {
	return { type: "failed", trouble, message: screenText(message).trim(), retryAfterMs };
}

/** Every line that is a JSON object; CLIs print other lines in between. */
export function parseEvents(stdout: string): readonly Readonly<Record<string, unknown>>[] {
	return stdout.split("\n").flatMap((line) => {
		if (!line.startsWith("{")) return [];
		try {
			return [JSON.parse(line) as Record<string, unknown>];
		} catch {
			return [];
		}
	});
}

const CONVERSATION = /^\w[\w-]{0,199}$/;

/** The request, or why it cannot be run. */
export function parsePrompt({
	action,
	payload,
}: Pick<ActionRequest, "action" | "payload">):
	| HeadlessPrompt
	| { readonly code: 400 | 501; readonly message: string } {
	if (action !== "ask") {
		return { code: 501, message: `unknown action ${action}: agent CLIs only support \`ask\`` };
	}
	const { prompt, conversation = null } = Object(payload) as Record<string, unknown>;
	if (typeof prompt !== "string" || prompt.trim() === "") {
		return { code: 400, message: 'the payload needs a `prompt` string: {"prompt": "…"}' };
	}
	if (conversation === null) return { prompt, conversation };
	// It becomes an argument and must not look like a flag.
	if (typeof conversation !== "string" || !CONVERSATION.test(conversation)) {
		return { code: 400, message: "`conversation` is not a valid conversation id" };
	}
	return { prompt, conversation };
}

/** The last line of a program's output, if it reports nothing better. */
export function lastLine(text: string): string {
	return screenText(text).trimEnd().split("\n").at(-1)?.trim() ?? "";
}

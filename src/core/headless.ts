/**
 * What became of a prompt that an agent CLI was given without a terminal, and what that means for the
 * call: what is worth another try, and after how long; what only somebody at the keyboard can mend; what
 * was wrong with the request itself. Each adapter reads its own CLI; what follows is the same for all.
 */

import type { TurnCause } from "./adapter.js";
import type { ActionRequest, ActionResponse } from "./outcome.js";
import { screenText } from "./safe-text.js";
import { failureOf } from "./turn-failure.js";
import { numberOf, type UsageReading } from "./usage.js";

/** What a caller asks for: `{"prompt": "…", "conversation": "…"}` with the action `ask`. */
export interface HeadlessPrompt {
	readonly prompt: string;
	/** The conversation to go on with; null begins a new one. */
	readonly conversation: string | null;
}

export interface HeadlessUsage {
	/** All of it, whether known before or not. */
	readonly input_tokens: number;
	readonly output_tokens: number;
	/** The part of the input that was cheaper because it was known. */
	readonly cached_input_tokens: number;
}

/** The result of a call, as its caller gets it. */
export interface HeadlessAnswer {
	readonly text: string;
	/** To go on with it: `conversation` of the next call. */
	readonly conversation: string | null;
	readonly usage: HeadlessUsage | null;
	/** Null where the CLI does not tell. */
	readonly cost_usd: number | null;
	/** Tools that the CLI wanted and was not allowed, without anybody being asked. */
	readonly denied_tools: readonly string[];
}

/** What a CLI tells of a call's usage, whether it was answered or not. */
export type Spent = Pick<HeadlessAnswer, "usage" | "cost_usd">;

export const NOTHING_TOLD: Spent = Object.freeze({ usage: null, cost_usd: null });

/**
 * What was told of a call's usage, as a reading; null for nothing. `total` names what it is the sum of,
 * where the CLI only tells a sum that goes on from call to call.
 */
export function readingOf({ usage, cost_usd: cost }: Spent, total?: string): UsageReading | null {
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

export const TROUBLES = [
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
export type Trouble = (typeof TROUBLES)[number];

export type HeadlessEnd =
	| { readonly type: "answered"; readonly answer: HeadlessAnswer }
	| {
			readonly type: "failed";
			readonly trouble: Trouble;
			/** The CLI's own words. */
			readonly message: string;
			/** How long it says to wait. */
			readonly retryAfterMs: number | null;
	  };

/** A CLI that cannot do anything until somebody mends it: another attempt would fail alike. */
export interface Unusable {
	readonly unusable: string;
}

/** A CLI whose account has used up what it may. */
export interface Limited {
	readonly limited: string;
	/** When that ends; null where it is not told. */
	readonly resetInMs: number | null;
}

/**
 * The code in the protocol for each trouble: 4xx is the caller's, 5xx is tried again and counts for the
 * circuit breaker. Null: the agent itself is unusable.
 */
const CODES: Readonly<Record<Exclude<Trouble, "usage_limit">, number | null>> = {
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

const WHAT_TO_DO: Readonly<Partial<Record<Trouble, string>>> = {
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

/** Causes by which a prompt fails for the same reasons as a turn of a session. */
const BY_CAUSE: Readonly<Partial<Record<TurnCause, Trouble>>> = {
	auth: "auth",
	billing: "billing",
	overloaded: "overloaded",
	usage_limit: "rate_limit",
	// The request names a model that does not exist, or is too long: another try would fail alike.
	config: "bad_request",
	context_full: "bad_request",
	invalid_request: "bad_request",
	refused: "refusal",
};

/** What failed, from the status where the CLI reports it, and from the error text that it passes on. */
export function troubleOf(message: string, status: number | null = null): Trouble {
	if (status !== null && status >= 500) return troubleOfStatus(status);
	const { failure } = failureOf({ text: message, status, readReset: () => null });
	const trouble = BY_CAUSE[failure.cause];
	return trouble ?? (status === null ? "failure" : troubleOfStatus(status));
}

/** The trouble behind a status of a model's API whose cause is not known otherwise. */
function troubleOfStatus(status: number): Trouble {
	if (status === 529 || status === 503) return "overloaded";
	return status >= 400 && status < 500 ? "bad_request" : "failure";
}

export function failed(
	trouble: Trouble,
	message: string,
	retryAfterMs: number | null = null,
): HeadlessEnd {
	return { type: "failed", trouble, message: screenText(message).trim(), retryAfterMs };
}

/** Every line that is a JSON object; CLIs print other things between them. */
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

/** What is asked, or why nothing is started for it. */
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
	// It becomes an argument, and must not be taken for a flag.
	if (typeof conversation !== "string" || !CONVERSATION.test(conversation)) {
		return { code: 400, message: "`conversation` is not a valid conversation id" };
	}
	return { prompt, conversation };
}

/** The last line of a program's output, when it reports nothing better. */
export function lastLine(text: string): string {
	return screenText(text).trimEnd().split("\n").at(-1)?.trim() ?? "";
}

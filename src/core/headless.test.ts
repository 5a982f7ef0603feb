import { describe, expect, test } from "vitest";
import {
	failed,
	HEADLESS_FAILURES,
	type HeadlessFailure,
	headlessFailureOf,
	lastLine,
	NOTHING_REPORTED,
	parseEvents,
	parsePrompt,
	readingOf,
	renderHeadless,
} from "./headless.js";
import { ATTEMPT_ERROR_TRAITS, classifyProcessFailure, classifyResponse } from "./outcome.js";

const REQUEST = { request_id: "r-1" };

function outcomeOf(trouble: HeadlessFailure, retryAfterMs: number | null = null) {
	const reported = renderHeadless(REQUEST, failed(trouble, "the CLI's words", retryAfterMs));
	if ("unusable" in reported) {
		return classifyProcessFailure({ type: "unusable", detail: reported.unusable });
	}
	if ("limited" in reported) {
		const { limited: detail, resetInMs } = reported;
		return classifyProcessFailure({ type: "usage_limit", detail, resetInMs });
	}
	return classifyResponse("r-1", reported);
}

describe("a prompt that failed", () => {
	/** Whether another attempt follows, and whether it counts for the circuit breaker. */
	const MEANING: Readonly<Record<HeadlessFailure, readonly [string, boolean, boolean]>> = {
		auth: ["unusable", false, true],
		billing: ["unusable", false, true],
		config: ["unusable", false, true],
		usage_limit: ["usage_limit", true, false],
		rate_limit: ["backend_failure", true, true],
		overloaded: ["backend_failure", true, true],
		connection: ["backend_failure", true, true],
		failure: ["backend_failure", true, true],
		refusal: ["invalid_request", false, false],
		bad_request: ["invalid_request", false, false],
		conversation_gone: ["invalid_request", false, false],
	};

	test.each(HEADLESS_FAILURES)("by %s is retried and counted correctly", (trouble) => {
		const outcome = outcomeOf(trouble);
		if (outcome.ok) throw new Error("it failed");
		const { retryable, counts } = ATTEMPT_ERROR_TRAITS[outcome.error];
		expect([outcome.error, retryable, counts]).toEqual(MEANING[trouble]);
		expect(outcome.reason).toContain("the CLI's words");
	});

	test("is not retried before the time that the CLI reports", () => {
		expect(outcomeOf("usage_limit", 5_000)).toMatchObject({ retryAfterMs: 5_000 });
		expect(outcomeOf("usage_limit")).toMatchObject({ retryAfterMs: null });
		expect(outcomeOf("rate_limit", 5_000)).toMatchObject({ retryAfterMs: 5_000 });
		expect(outcomeOf("rate_limit")).toMatchObject({ retryAfterMs: null });
	});

	test("includes a fix if the operator has to act", () => {
		expect(outcomeOf("auth")).toMatchObject({ reason: expect.stringContaining("log in, or fix") });
	});

	test.each([
		[401, "auth"],
		[402, "billing"],
		[404, "bad_request"],
		[403, "auth"],
		[429, "rate_limit"],
		[529, "overloaded"],
		[503, "overloaded"],
		[413, "bad_request"],
		[500, "failure"],
	])("with the status %i is %s", (status, trouble) => {
		expect(headlessFailureOf("", status)).toBe(trouble);
	});

	test.each([
		['{"error":{"message":"too long","code":"context_length_exceeded"}}', null, "bad_request"],
		["unexpected status 404 Not Found: no such model", 404, "bad_request"],
		["Requested entity was not found.", null, "bad_request"],
		["Payment Required", 402, "billing"],
		["429 insufficient_quota", 429, "billing"],
		["Output blocked by content filtering policy", 400, "refusal"],
		["something broke", null, "failure"],
	])("with the text %s and the status %s is %s", (text, status, trouble) => {
		expect(headlessFailureOf(text, status)).toBe(trouble);
	});
});

test("an answer is the result of the call", () => {
	const answer = { text: "hi", conversation: "c-1", usage: null, cost_usd: null, denied_tools: [] };
	expect(renderHeadless(REQUEST, { type: "answered", answer })).toEqual({
		request_id: "r-1",
		status: "success",
		code: 0,
		result: answer,
	});
});

describe("a request to an agent CLI", () => {
	test.each([
		[{ prompt: "hi" }, { prompt: "hi", conversation: null }],
		[
			{ prompt: "hi", conversation: "abc-1" },
			{ prompt: "hi", conversation: "abc-1" },
		],
	])("%j is understood", (payload, expected) => {
		expect(parsePrompt({ action: "ask", payload })).toEqual(expected);
	});

	test.each([
		["fly", { prompt: "hi" }, 501],
		["ask", null, 400],
		["ask", { prompt: " " }, 400],
		["ask", { prompt: "hi", conversation: "--yolo" }, 400],
		["ask", { prompt: "hi", conversation: 7 }, 400],
	])("%s with %j is refused", (action, payload, code) => {
		expect(parsePrompt({ action, payload })).toMatchObject({ code });
	});
});

test("events are the lines that are JSON; other lines are ignored", () => {
	expect(parseEvents('Warning: x\n{"a":1}\n{"half\n\n{"b":2}')).toEqual([{ a: 1 }, { b: 2 }]);
});

test("the last line is the final text", () => {
	expect(lastLine("one\n two \n")).toBe("two");
	expect(lastLine("")).toBe("");
});

test.each([
	["nothing", NOTHING_REPORTED, null],
	[
		"the cost alone",
		{ usage: null, cost_usd: 0.5 },
		{ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, costUsd: 0.5 },
	],
	[
		"tokens, of which some were known",
		{ usage: { input_tokens: 10, output_tokens: 3, cached_input_tokens: 4 }, cost_usd: null },
		{ input: 6, output: 3, cacheRead: 4, cacheWrite: 0, costUsd: null },
	],
])("the usage of a call that reports %s", (_, spent, usage) => {
	expect(readingOf(spent)).toEqual(usage && { ...usage, key: "", isTotal: false });
	expect(readingOf(spent, "c")).toEqual(usage && { ...usage, key: "c", isTotal: true });
});

test.each<[string, number | null, HeadlessFailure]>([
	["no", 500, "failure"],
	["no", 503, "overloaded"],
	["no", 529, "overloaded"],
	["no", 418, "bad_request"],
	["no", 302, "failure"],
	["no", null, "failure"],
	["no", 401, "auth"],
	["no", 429, "rate_limit"],
])("a call that failed with %j and status %s: %s", (message, status, trouble) => {
	expect(headlessFailureOf(message, status)).toBe(trouble);
});

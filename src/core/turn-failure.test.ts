import { describe, expect, test } from "vitest";
import { failureOf } from "./turn-failure.js";

const causeOf = (text: string, status?: number) =>
	failureOf({ text, ...(status === undefined ? {} : { status }), readReset: () => 7 }).failure
		?.cause;

describe("the cause of a failed turn, from the error text that the CLI passes on", () => {
	test.each([
		["API Error: 401 invalid x-api-key", "auth"],
		["unexpected status 403 Forbidden: your organization has been disabled", "auth"],
		["402 Payment Required", "billing"],
		["Your credit balance is too low to access the API", "billing"],
		["429 insufficient_quota: You exceeded your current quota", "billing"],
		["You exceeded your current quota, please check your plan and billing details", "billing"],
		[
			'{"error":{"message":"quota: check your billing","status":"RESOURCE_EXHAUSTED"}}',
			"usage_limit",
		],
		["models/mock-1 is not found for API version v1beta", "config"],
		["You've hit your 5-hour limit · resets 3pm", "usage_limit"],
		["429 Too Many Requests", "usage_limit"],
		["404 model: claude-nope-9", "config"],
		["The model `gpt-nope` does not exist or you do not have access to it", "config"],
		["prompt is too long: 210000 tokens > 200000 maximum", "context_full"],
		["Your input exceeds the context window of this model", "context_full"],
		["This model's maximum context length is 128000 tokens", "context_full"],
		["The response was filtered due to the prompt triggering content management policy", "refused"],
		["Output blocked by content filtering policy", "refused"],
		["request blocked due to safety settings", "refused"],
		["529 Overloaded", "overloaded"],
		["stream disconnected before completion: connection closed", "overloaded"],
		["connect ECONNREFUSED 127.0.0.1:1", "overloaded"],
		["API Error: Request timed out", "overloaded"],
		["400 invalid_request_error: messages: at least one message is required", "invalid_request"],
		["Unexpected token < in JSON at position 0", "unknown"],
		["", "unknown"],
		['400 {"error":{"type":"invalid_request_error","code":"model_not_found"}}', "config"],
		['{"error":{"message":"no more","type":"tokens","code":"insufficient_quota"}}', "billing"],
		['[API Error: {"error":{"code":400,"status":"INVALID_ARGUMENT"}}]', "invalid_request"],
		['{"error":{"code":400,"details":[{"reason":"API_KEY_INVALID"}]}}', "auth"],
		['[API Error: {"error":{"code":503,"message":"busy","status":"X"}}]', "overloaded"],
		["Could not connect to local model provider", "overloaded"],
		["Please enable billing on your project", "billing"],
	])("%s: %s", (text, cause) => {
		expect(causeOf(text)).toBe(cause);
	});

	test.each([
		[402, "quota exceeded", "billing"],
		[404, "rate limited", "config"],
		[500, "401", "overloaded"],
		[413, "", "context_full"],
		[400, "prompt is too long", "context_full"],
		[400, "your credit balance is too low", "billing"],
		[400, "no", "invalid_request"],
		[403, "no", "auth"],
		[403, "blocked by content policy", "refused"],
		[429, "no", "usage_limit"],
		[429, "insufficient_quota", "billing"],
		[418, "teapot", "unknown"],
	])("status %i with the text %s: %s", (status, text, cause) => {
		expect(causeOf(text, status)).toBe(cause);
	});

	test("that the CLI names counts, unless the name is vague", () => {
		const of = (
			cause: "overloaded" | "invalid_request" | "unknown" | "usage_limit",
			text: string,
		) => failureOf({ text, cause, readReset: () => 7 }).failure?.cause;
		expect(of("overloaded", "401")).toBe("overloaded");
		expect(of("invalid_request", "prompt is too long")).toBe("context_full");
		expect(of("invalid_request", "no")).toBe("invalid_request");
		expect(of("unknown", "401")).toBe("auth");
		expect(of("usage_limit", '{"code": "insufficient_quota"}')).toBe("billing");
		expect(of("usage_limit", "come back later")).toBe("usage_limit");
	});
});

test("an unknown failure keeps the CLI's own text", () => {
	expect(failureOf({ text: "the flux  capacitor\nbroke", readReset: () => 7 })).toEqual({
		failure: { cause: "unknown", resetAtMs: null },
		detail: "the flux capacitor broke",
	});
});

test("the end of a limit is read from the text", () => {
	expect(failureOf({ text: "usage limit reached", readReset: () => 7 }).failure).toEqual({
		cause: "usage_limit",
		resetAtMs: 7,
	});
});

import { describe, expect, test } from "vitest";
import { failureOf } from "./turn-failure.js";

const causeOf = (text: string, status?: number) =>
	failureOf({ text, ...(status === undefined ? {} : { status }), readReset: () => null }).failure
		?.cause;

const WORDINGS: Readonly<Record<string, readonly string[]>> = {
	auth: [
		'API Error: 401 {"type":"error","error":{"type":"authentication_error","message":"OAuth token has been revoked."}}',
		"Your access token could not be refreshed. Please log out and sign in again.",
		"Your session has expired. Please sign in again.",
		"Missing bearer or basic authentication in header",
		"API key not valid. Please pass a valid API key.",
		"API key expired. Please renew the API key.",
		"Invalid API key · Please run /login",
		"Invalid authentication credentials",
		"You must be a member of an organization to use the API",
		"Access denied due to invalid subscription key or wrong API endpoint.",
		"Your organization has been disabled.",
		"[403] Your account has been suspended",
		"[403] Request blocked by Cloudflare. Sorry, you have been blocked",
		"[407] Proxy Authentication Required",
		"unexpected status 403 Forbidden: Country, region, or territory not supported, url: http://x",
		"[400] User location is not supported for the API use.",
		"401: token expired at 2026-11-18",
		"Please sign in again",
	],
	billing: [
		"[403] billing: account delinquent",
		"429 Top up your balance to continue.",
		"[429] The budget of this project is spent.",
		"[400] Budget has been exceeded! Current cost: 10.1, Max budget: 10.0",
		"[400] The billing account has no funds.",
		"Your credit balance is too low",
		"[429] You have exceeded your monthly spending limit. Increase it in billing settings.",
		"[429] Your prepayment credits are depleted. Please go to AI Studio",
		"Your account has been deactivated due to an overdue balance",
		"[403] Billing account for project is not found",
		"Key limit exceeded (total limit). Manage it using https://",
		"402 This request requires more credits",
		"Insufficient Balance",
		"Your team has run out of credits",
		"payment_failed: card declined",
		'[429] {"error":{"message":"Billing hard limit has been reached","type":"invalid_request_error","code":"billing_hard_limit_reached"}}',
		"[402] You have exceeded your premium request allowance",
	],
	usage_limit: [
		"[429] Too many tokens, please wait before trying again.",
		"Too many tokens per day, please wait before trying again.",
		"[429] Request too large for gpt-9 in organization org-1 on tokens per min (TPM): Limit 10000, Requested 12000.",
		"[429] Extra usage is required for long context requests.",
		"Nothing is left of this week's allowance: no requests are left.",
		"[400] You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
		"[429] Too many requests, please slow down",
		"You've reached your weekly limit. Resets Monday at 9am",
		"You've hit your usage limit. Upgrade to Pro or try again in 3 days 4 hours.",
		'[429] {"error":{"code":429,"message":"Resource exhausted. Please try again later.","status":"RESOURCE_EXHAUSTED"}}',
		"[429] Requests rate limit exceeded, please try again later.",
		"[429] You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.",
		"[429] Throttling.RateQuota: Requests rate limit exceeded",
		"[429] Free allocated quota exceeded.",
		"[429] Allocated quota exceeded, please increase your quota limit.",
		"[403] API rate limit exceeded for user ID 1.",
		"Quota will reset after 5h12m",
		"[429] concurrency limit exceeded for account",
		"Daily request limit exceeded",
		"You have no quota left",
	],
	context_full: [
		"[400] This model's maximum prompt length is 131072 but the request contains 141230 tokens.",
		"[400] Please reduce the length of the messages or completion.",
		"[400] The total number of tokens in this request exceeds what the model can take",
		"[400] Unable to submit request because the input token count is 1200000 but the model only supports up to 1048576.",
		"[400] The request has more input tokens than the model accepts.",
		"[400] The conversation no longer fits into the context window of this model.",
		'[400] {"error":{"message":"Input is too long for requested model."}}',
		"[400] input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000",
		"[400] This endpoint's maximum context length is 262144 tokens. However, you requested about 310000 tokens",
		"[400] Range of input length should be [1, 98304]",
		"[400] The input (250000 tokens) is longer than the model's context length (128000 tokens).",
		"[413] Request exceeds the maximum size",
		'413 {"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum allowed number of bytes."}}',
		"[400] The input token count exceeds the maximum number of tokens allowed 1048576.",
		"[400] Requested token count exceeds the model's maximum context length of 131072 tokens",
		"[400] string too long. Expected a string with maximum length 10485760",
		"Conversation too long. Press esc twice to go up a few messages",
		"Prompt is too long",
		"the request exceeds the available context size, try increasing it",
		"total tokens 143023 exceed model limit 131072",
	],
	refused: [
		"[400] Content Exists Risk",
		"[400] The request was rejected because it was considered high risk",
		"[400] The prompt was blocked by the guardrail of this deployment.",
		"[400] We could not process this text because of its content.",
		"[400] The content is not permitted by the terms of use.",
		"[400] Output blocked by content filtering policy",
		"[400] Your request was rejected as a result of our safety system.",
		'[400] {"error":{"code":"content_policy_violation","message":"no"}}',
		"[400] Input data may contain inappropriate content.",
		'[400] {"error":{"code":"data_inspection_failed","message":"x"}}',
		"Claude Code is unable to respond to this request, which appears to violate our Usage Policy",
		"[400] The model produced content blocked for SAFETY",
		"Response was blocked due to PROHIBITED_CONTENT",
		"[400] Content violates terms of service",
		"[400] This content was flagged for possible cybersecurity risk.",
		"Invalid prompt: we've limited access to this content for safety reasons.",
		"[451] Unavailable For Legal Reasons",
		"unexpected status 451 Unavailable For Legal Reasons: x",
	],
	overloaded: [
		"Provider returned error",
		"[424] Failed dependency",
		"unexpected EOF",
		"The server had an error processing your request",
		"[503] The model is overloaded. Please try again later.",
		"unexpected status 503 Service Unavailable: x",
		"unexpected status 520 <unknown status code>: x",
		"[520] <html>520: Web server is returning an unknown error</html>",
		"[501] not implemented",
		"501 Not Implemented",
		"API Error: 504 Gateway Timeout",
		"[408] Request Timeout",
		"408 Request Timeout",
		"[409] Conflict",
		"409 Conflict: the resource was updated by another request",
		"[425] Too Early",
		"[499] client closed request",
		"Deadline expired before operation could complete.",
		"upstream connect error or disconnect/reset before headers. reset reason: connection termination",
		"no healthy upstream",
		"The engine is currently overloaded",
		"The service is temporarily unavailable",
		"Temporary failure in name resolution",
		"getaddrinfo EAI_AGAIN api.x",
		"error decoding response body",
		"Selected model is at capacity. Please try a different model.",
		"We're currently experiencing high demand",
		"Connection error.",
		"Stream closed before response.completed",
		"The operation was aborted due to timeout",
		"UND_ERR_SOCKET other side closed",
		"net::ERR_INTERNET_DISCONNECTED",
		"EHOSTUNREACH",
		"ENETUNREACH",
	],
	config: [
		"[400] The provided model identifier is invalid.",
		"[400] mock-1 is not a valid model ID",
		"[400] No such model: mock-1",
		"[400] Invocation of model ID x with on-demand throughput isn't supported. Retry your request with the ARN of an inference profile",
		"[400] This model version was shut down.",
		"ProviderModelNotFoundError",
		"[400] The requested model 'gpt-9' does not exist.",
		"[400] model mock-1 is not supported when using Codex with a ChatGPT account",
		"[404] This model is deprecated and no longer available",
		'[400] {"detail":"Unsupported model"}',
		"[405] Method Not Allowed",
		"[410] model has been retired",
		"There's an issue with the selected model (mock). It may not exist or you may not have access to it.",
	],
	invalid_request: [
		"[400] `max_tokens` must be greater than `thinking.budget_tokens`",
		"[400] temperature must be between 0 and 1",
		"[400] Invalid JSON payload received. Unknown name",
		"[400] messages: text content blocks must be non-empty",
		"[422] Unprocessable",
		"[400] tools.0.custom.input_schema: JSON schema is invalid",
		"[400] `tool_use` ids were found without `tool_result` blocks",
		"[400] tools: the recursion limit is exceeded",
	],
	unknown: [
		"[418] teapot",
		`Unexpected token '<', "<html>" is not valid JSON`,
		"Request aborted by the user",
		"Maximum number of turns reached",
		"The response exceeded the 32000 output token maximum.",
		"Cannot read properties of undefined (reading 'choices')",
		"Failed to parse the event stream",
		"EDQUOT: disk quota exceeded, write",
		"ENOSPC: no space left on device, write",
		"spawn bash ENOENT",
		"Tool call limit reached",
		"The agent stopped",
		"No response from the model",
		"exit code 1",
	],
};

describe("the cause of a failed turn in a wording that is in no table", () => {
	test.each(
		Object.entries(WORDINGS).flatMap(([cause, texts]) => texts.map((text) => [cause, text])),
	)("is %s: %s", (cause, text) => {
		const [, status] = /^\[(\d+)\]/.exec(text ?? "") ?? [];
		const reported = (text ?? "").replace(/^\[\d+\] /, "");
		expect(causeOf(reported, status === undefined ? undefined : Number(status))).toBe(cause);
	});

	test("is not searched in the output of a CLI with its own texts", () => {
		const turn = { text: "The service is temporarily unavailable", readReset: () => null };
		expect(failureOf(turn).failure.cause).toBe("overloaded");
		expect(failureOf({ ...turn, texts: [] }).failure.cause).toBe("unknown");
	});

	test("is a usage limit, not billing, if it contains the reset time", () => {
		const text = "Your credits are used up. Buy more, or wait until 3pm.";
		expect(failureOf({ text, readReset: () => null }).failure.cause).toBe("billing");
		expect(failureOf({ text, readReset: () => 7 }).failure).toEqual({
			cause: "usage_limit",
			resetAtMs: 7,
		});
	});
});

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

	test.each<[number, string, string]>([
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
		...[501, 502, 503, 504, 505, 507, 520, 522, 525, 530, 599].map(
			(failing): [number, string, string] => [failing, "an unknown text", "overloaded"],
		),
		[408, "Request Timeout", "overloaded"],
		[409, "Conflict", "overloaded"],
		[425, "Too Early", "overloaded"],
		[405, "Method Not Allowed", "config"],
		[410, "this model was retired", "config"],
		[407, "Proxy Authentication Required", "auth"],
		[451, "Unavailable For Legal Reasons", "refused"],
		[500, '{"error":{"type":"insufficient_quota"}}', "billing"],
		[503, '{"error":{"status":"RESOURCE_EXHAUSTED"}}', "overloaded"],
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

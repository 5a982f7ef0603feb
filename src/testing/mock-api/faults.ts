/**
 * Error responses of model services in their own formats: the status, the fields that name the error,
 * and several texts of each. Pure data; the dialects put it into their bodies.
 */

import type { MockFailureKind, MockRequest } from "./script.js";

export interface VendorError {
	readonly status: number;
	/** `error.type`, or `error.status` in Gemini's bodies. */
	readonly type: string;
	/** `error.code` of OpenAI, the `reason` in the details of Gemini. */
	readonly code?: string;
	readonly messages: readonly string[];
}

type VendorErrors = Readonly<Record<MockFailureKind, VendorError>>;

const ANTHROPIC: VendorErrors = {
	auth: {
		status: 401,
		type: "authentication_error",
		messages: ["invalid x-api-key", "This key was revoked.", "OAuth token has expired."],
	},
	forbidden: {
		status: 403,
		type: "permission_error",
		messages: [
			"Your API key does not have permission to use the specified resource.",
			"This organization has been disabled.",
			"Request not allowed",
		],
	},
	rate_limit: {
		status: 429,
		type: "rate_limit_error",
		messages: [
			"This request would exceed your organization's rate limit of 40,000 input tokens per minute.",
			"Number of concurrent connections has exceeded your rate limit.",
		],
	},
	usage_limit: {
		status: 429,
		type: "rate_limit_error",
		messages: ["This request would exceed your account's rate limit. Please try again later."],
	},
	billing: {
		status: 402,
		type: "billing_error",
		messages: [
			"There is an issue with your billing or payment information.",
			"Your payment method was declined.",
		],
	},
	no_credit: {
		status: 400,
		type: "invalid_request_error",
		messages: [
			"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
		],
	},
	model_not_found: {
		status: 404,
		type: "not_found_error",
		messages: ["model: mock-1", "The requested resource could not be found."],
	},
	context_length: {
		status: 400,
		type: "invalid_request_error",
		messages: [
			"prompt is too long: 213423 tokens > 200000 maximum",
			"input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or `max_tokens` and try again",
		],
	},
	content_filter: {
		status: 400,
		type: "invalid_request_error",
		messages: ["Output blocked by content filtering policy"],
	},
	server_error: {
		status: 500,
		type: "api_error",
		messages: [
			"Internal server error",
			"An unexpected error has occurred internal to our systems.",
		],
	},
	overloaded: { status: 529, type: "overloaded_error", messages: ["Overloaded"] },
};

const OPENAI: VendorErrors = {
	auth: {
		status: 401,
		type: "invalid_request_error",
		code: "invalid_api_key",
		messages: [
			"Incorrect API key provided: mock-key. You can find your API key at https://platform.example/account/api-keys.",
			"Your authentication token has been invalidated. Please try signing in again.",
			"No auth credentials found",
		],
	},
	forbidden: {
		status: 403,
		type: "request_forbidden",
		code: "unsupported_country_region_territory",
		messages: [
			"Country, region, or territory not supported",
			"You are not allowed to sample from this model",
			"Project does not have access to this endpoint.",
		],
	},
	rate_limit: {
		status: 429,
		type: "tokens",
		code: "rate_limit_exceeded",
		messages: [
			"Rate limit reached for mock-1 in organization org-mock on tokens per min (TPM): Limit 30000, Used 29000, Requested 2500.",
			"Request was throttled. Slow down.",
		],
	},
	usage_limit: {
		status: 429,
		type: "usage_limit_reached",
		messages: ["The usage limit has been reached", "You have used up what your plan includes."],
	},
	billing: {
		status: 402,
		type: "billing_error",
		code: "payment_required",
		messages: [
			"Insufficient Balance",
			"This request requires more credits, or fewer max_tokens. To increase, visit https://router.example/settings/credits",
		],
	},
	no_credit: {
		status: 429,
		type: "insufficient_quota",
		code: "insufficient_quota",
		messages: [
			"You exceeded your current quota, please check your plan and billing details.",
			"Your account is not active, please check your billing details on our website.",
		],
	},
	model_not_found: {
		status: 404,
		type: "invalid_request_error",
		code: "model_not_found",
		messages: [
			"The model `mock-1` does not exist or you do not have access to it.",
			"No endpoints found for mock-1.",
		],
	},
	context_length: {
		status: 400,
		type: "invalid_request_error",
		code: "context_length_exceeded",
		messages: [
			"This model's maximum context length is 128000 tokens. However, your messages resulted in 141230 tokens. Please reduce the length of the messages.",
			"Your input exceeds the context window of this model. Please adjust your input and try again.",
		],
	},
	content_filter: {
		status: 400,
		type: "invalid_request_error",
		code: "content_filter",
		messages: [
			"The response was filtered due to the prompt triggering the content management policy. Please modify your prompt and retry.",
			"Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
		],
	},
	server_error: {
		status: 500,
		type: "server_error",
		messages: [
			"The server had an error while processing your request. Sorry about that!",
			"Something went wrong on our side.",
		],
	},
	overloaded: {
		status: 529,
		type: "overloaded_error",
		messages: ["The engine is currently overloaded, please try again later", "Overloaded"],
	},
};

const GEMINI: VendorErrors = {
	auth: {
		status: 401,
		type: "UNAUTHENTICATED",
		code: "ACCESS_TOKEN_EXPIRED",
		messages: [
			"Request had invalid authentication credentials. Expected OAuth 2 access token.",
			"API keys are not supported by this API.",
		],
	},
	forbidden: {
		status: 403,
		type: "PERMISSION_DENIED",
		code: "SERVICE_DISABLED",
		messages: [
			"The caller does not have permission",
			"Generative Language API has not been used in project 1 before or it is disabled.",
		],
	},
	rate_limit: {
		status: 429,
		type: "RESOURCE_EXHAUSTED",
		code: "RATE_LIMIT_EXCEEDED",
		messages: [
			"Resource has been exhausted (e.g. check quota).",
			"You exceeded your current quota. Quota exceeded for metric: generate_content_free_tier_requests",
		],
	},
	usage_limit: {
		status: 429,
		type: "RESOURCE_EXHAUSTED",
		code: "RATE_LIMIT_EXCEEDED",
		messages: [
			"You exceeded your current quota, please check your plan.",
			"Quota exceeded for quota metric 'Gemini requests' and limit 'requests per day'.",
		],
	},
	billing: {
		status: 402,
		type: "FAILED_PRECONDITION",
		code: "BILLING_DISABLED",
		messages: [
			"This API method requires billing to be enabled.",
			"Payment is overdue for this project.",
		],
	},
	no_credit: {
		status: 400,
		type: "FAILED_PRECONDITION",
		messages: [
			"User location is not supported without a paid plan. Please enable billing on your project in Google AI Studio.",
		],
	},
	model_not_found: {
		status: 404,
		type: "NOT_FOUND",
		messages: [
			"models/mock-1 is not found for API version v1beta, or is not supported for generateContent.",
			"Requested entity was not found.",
		],
	},
	context_length: {
		status: 400,
		type: "INVALID_ARGUMENT",
		messages: [
			"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
		],
	},
	content_filter: {
		status: 400,
		type: "INVALID_ARGUMENT",
		messages: [
			"The prompt could not be submitted. This prompt contains sensitive words that violate our Responsible AI practices.",
		],
	},
	server_error: {
		status: 500,
		type: "INTERNAL",
		messages: [
			"An internal error has occurred. Please retry or report it.",
			"Internal error encountered.",
		],
	},
	overloaded: {
		status: 529,
		type: "UNAVAILABLE",
		messages: ["The model is overloaded. Please try again later."],
	},
};

const BY_API: Readonly<Record<MockRequest["api"], VendorErrors>> = {
	anthropic: ANTHROPIC,
	"openai-responses": OPENAI,
	"openai-chat": OPENAI,
	gemini: GEMINI,
};

export function vendorError(api: MockRequest["api"], kind: MockFailureKind): VendorError {
	return BY_API[api][kind];
}

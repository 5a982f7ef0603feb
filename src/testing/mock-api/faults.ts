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
		messages: [
			"invalid x-api-key",
			"This key was revoked.",
			"OAuth token has expired.",
			"Invalid bearer token",
		],
	},
	forbidden: {
		status: 403,
		type: "permission_error",
		messages: [
			"Your API key does not have permission to use the specified resource.",
			"This organization has been disabled.",
			"Request not allowed",
			"OAuth authentication is currently not allowed for this organization.",
		],
	},
	rate_limit: {
		status: 429,
		type: "rate_limit_error",
		messages: [
			"This request would exceed your organization's rate limit of 40,000 input tokens per minute.",
			"Number of concurrent connections has exceeded your rate limit.",
			"Too many tokens, please wait before trying again.",
			"Request rate increased too quickly. Scale up more gradually to stay within your organization's acceleration limit.",
		],
	},
	usage_limit: {
		status: 429,
		type: "rate_limit_error",
		messages: [
			"This request would exceed your account's rate limit. Please try again later.",
			"The monthly allowance of this workspace is used up.",
			"Extra usage is required for this account until its window starts again.",
			"Please come back later.",
		],
	},
	billing: {
		status: 402,
		type: "billing_error",
		messages: [
			"There is an issue with your billing or payment information.",
			"Your payment method was declined.",
			"This account has an unpaid invoice.",
			"The card on file was charged back.",
		],
	},
	no_credit: {
		status: 400,
		type: "invalid_request_error",
		messages: [
			"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
			"All prepaid credits of this organization are used up.",
			"Your organization has no credits left.",
			"Purchase more credits before you send further requests.",
		],
	},
	model_not_found: {
		status: 404,
		type: "not_found_error",
		messages: [
			"model: mock-1",
			"The requested resource could not be found.",
			"This model was retired. See the list of current models.",
			"model: claude-mock-20240229",
		],
	},
	context_length: {
		status: 400,
		type: "invalid_request_error",
		messages: [
			"prompt is too long: 213423 tokens > 200000 maximum",
			"input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or `max_tokens` and try again",
			"Input tokens exceed the configured limit of 200000 tokens.",
			"The conversation no longer fits into the context window of this model.",
		],
	},
	content_filter: {
		status: 400,
		type: "invalid_request_error",
		messages: [
			"Output blocked by content filtering policy",
			"The safety classifier stopped this request.",
			"This request violates the usage policy.",
			"This prompt is not permitted by our usage guidelines.",
		],
	},
	server_error: {
		status: 500,
		type: "api_error",
		messages: [
			"Internal server error",
			"An unexpected error has occurred internal to our systems.",
			"Oops.",
			"The request could not be completed. Request id: req_011C.",
		],
	},
	overloaded: {
		status: 529,
		type: "overloaded_error",
		messages: [
			"Overloaded",
			"We are seeing more traffic than usual.",
			"All servers are busy.",
			"Please try again in a moment.",
		],
	},
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
			"Invalid token",
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
			"Your IP address is not on the allow list of this project.",
		],
	},
	rate_limit: {
		status: 429,
		type: "tokens",
		code: "rate_limit_exceeded",
		messages: [
			"Rate limit reached for mock-1 in organization org-mock on tokens per min (TPM): Limit 30000, Used 29000, Requested 2500.",
			"Request was throttled. Slow down.",
			"Too many concurrent requests for this key.",
			"You have sent 61 requests within one minute; 60 are allowed.",
		],
	},
	usage_limit: {
		status: 429,
		type: "usage_limit_reached",
		messages: [
			"The usage limit has been reached",
			"You have used up what your plan includes.",
			"Nothing is left of this week's allowance.",
			"The plan of this workspace covers no more messages today.",
		],
	},
	billing: {
		status: 402,
		type: "billing_error",
		code: "payment_required",
		messages: [
			"Insufficient Balance",
			"This request requires more credits, or fewer max_tokens. To increase, visit https://router.example/settings/credits",
			"The subscription of this team has lapsed.",
			"Please settle the open invoice.",
		],
	},
	no_credit: {
		status: 429,
		type: "insufficient_quota",
		code: "insufficient_quota",
		messages: [
			"You exceeded your current quota, please check your plan and billing details.",
			"Your account is not active, please check your billing details on our website.",
			"The budget of this project is spent.",
			"Top up your balance to continue.",
		],
	},
	model_not_found: {
		status: 404,
		type: "invalid_request_error",
		code: "model_not_found",
		messages: [
			"The model `mock-1` does not exist or you do not have access to it.",
			"No endpoints found for mock-1.",
			"Unknown model: mock-1",
			"This deployment was removed.",
		],
	},
	context_length: {
		status: 400,
		type: "invalid_request_error",
		code: "context_length_exceeded",
		messages: [
			"This model's maximum context length is 128000 tokens. However, your messages resulted in 141230 tokens. Please reduce the length of the messages.",
			"Your input exceeds the context window of this model. Please adjust your input and try again.",
			"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 301123 tokens.",
			"Requested 141230 tokens, but the window of this model has 131072.",
		],
	},
	content_filter: {
		status: 400,
		type: "invalid_request_error",
		code: "content_filter",
		messages: [
			"The response was filtered due to the prompt triggering the content management policy. Please modify your prompt and retry.",
			"Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
			"The prompt was blocked by the guardrail of this deployment.",
			"We could not process this text because of its content.",
		],
	},
	server_error: {
		status: 500,
		type: "server_error",
		messages: [
			"The server had an error while processing your request. Sorry about that!",
			"Something went wrong on our side.",
			"Oops.",
			"The worker crashed while it generated the answer. Request id: 7f3a.",
		],
	},
	overloaded: {
		status: 529,
		type: "overloaded_error",
		messages: [
			"The engine is currently overloaded, please try again later",
			"Overloaded",
			"All replicas are in use.",
			"Please try again in a moment.",
		],
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
			"The access token could not be verified.",
			"Please pass a valid credential.",
		],
	},
	forbidden: {
		status: 403,
		type: "PERMISSION_DENIED",
		code: "SERVICE_DISABLED",
		messages: [
			"The caller does not have permission",
			"Generative Language API has not been used in project 1 before or it is disabled.",
			"Requests from this referrer are blocked.",
			"Permission 'aiplatform.endpoints.predict' denied on resource.",
		],
	},
	rate_limit: {
		status: 429,
		type: "RESOURCE_EXHAUSTED",
		code: "RATE_LIMIT_EXCEEDED",
		messages: [
			"Resource has been exhausted (e.g. check quota).",
			"You exceeded your current quota. Quota exceeded for metric: generate_content_free_tier_requests",
			"Please retry in 12.5s.",
			"Too many requests per minute for this project.",
		],
	},
	usage_limit: {
		status: 429,
		type: "RESOURCE_EXHAUSTED",
		code: "RATE_LIMIT_EXCEEDED",
		messages: [
			"You exceeded your current quota, please check your plan.",
			"Quota exceeded for quota metric 'Gemini requests' and limit 'requests per day'.",
			"The daily allowance of this key is used up.",
			"No requests are left for today.",
		],
	},
	billing: {
		status: 402,
		type: "FAILED_PRECONDITION",
		code: "BILLING_DISABLED",
		messages: [
			"This API method requires billing to be enabled.",
			"Payment is overdue for this project.",
			"The billing account of this project was closed.",
			"The project has no active payment profile.",
		],
	},
	no_credit: {
		status: 400,
		type: "FAILED_PRECONDITION",
		messages: [
			"User location is not supported without a paid plan. Please enable billing on your project in Google AI Studio.",
			"Your prepayment credits are depleted.",
			"The billing account has no funds.",
			"The free trial credits of this project are used up.",
		],
	},
	model_not_found: {
		status: 404,
		type: "NOT_FOUND",
		messages: [
			"models/mock-1 is not found for API version v1beta, or is not supported for generateContent.",
			"Requested entity was not found.",
			"This model version was shut down.",
			"Publisher model mock-1 was not found or your project does not have access to it.",
		],
	},
	context_length: {
		status: 400,
		type: "INVALID_ARGUMENT",
		messages: [
			"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
			"The request has more input tokens than the model accepts.",
			"Unable to submit request because the input token count is 1200000 but the model only supports up to 1048576.",
			"The conversation no longer fits into the context window.",
		],
	},
	content_filter: {
		status: 400,
		type: "INVALID_ARGUMENT",
		messages: [
			"The prompt could not be submitted. This prompt contains sensitive words that violate our Responsible AI practices.",
			"The request was blocked because of PROHIBITED_CONTENT.",
			"Candidate was blocked due to SAFETY.",
			"The content is not permitted by the terms of use.",
		],
	},
	server_error: {
		status: 500,
		type: "INTERNAL",
		messages: [
			"An internal error has occurred. Please retry or report it.",
			"Internal error encountered.",
			"Oops.",
			"The operation was cancelled by the backend.",
		],
	},
	overloaded: {
		status: 529,
		type: "UNAVAILABLE",
		messages: [
			"The model is overloaded. Please try again later.",
			"This model is currently experiencing high demand.",
			"The service is currently unavailable.",
			"Please try again in a moment.",
		],
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

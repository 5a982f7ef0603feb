/**
 * The errors of model services, as data: what HTTP statuses, the names in response bodies and the texts of
 * error texts mean. Services, proxies and CLIs word the same failure differently, so names and statuses decide
 * first, then known phrases, then words that occur together in a sentence.
 */

import type { TextCause, TurnCause } from "./adapter.js";

/**
 * Phrases of model services, whichever CLI reports them. The first match wins, so causes that services
 * hide behind a common status come first: a content filter or an empty balance is often a 400 or a 429.
 */
export const SERVICE_TEXTS: readonly TextCause[] = [
	{
		// Errors of the host and limits of the CLI itself: no account is involved.
		match:
			"\\b(ENOSPC|EDQUOT|EMFILE|ENFILE|ENOMEM|EACCES|EROFS|ENOENT)\\b|disk quota|no space left|\\b(turns?|tool|calls?|iterations?|steps?|recursion|depth) limit",
		cause: "unknown",
		fix: null,
	},
	{
		// Google ends the text of a rate limit with "check your plan and billing details" as well, and a rate limit of
		// tokens on Amazon Bedrock begins like a prompt that is too long.
		match: "quota exceeded for (quota )?metric|/rate-limits|wait before (trying|sending)",
		cause: "usage_limit",
		fix: null,
	},
	{
		match:
			"\\b402\\b|payment required|billing_error|insufficient_quota|insufficient (credits?|balance|funds)|(credit|account) balance is|out of credits|enable billing|billing (to be enabled|is disabled|not enabled|not active)|check your (plan and )?billing|no credits (left|remaining)|spend(ing)? (limit|cap)",
		cause: "billing",
		fix: "Add credit to the account or change its plan, then run `reeve resume`.",
	},
	{
		match:
			"context[ _-]?(length|window|limit|size)|(prompt|input|conversation|request) (is |was )?too (long|large)|(maximum|exceeds?)[^.\\n]{0,40}(context|token (count|limit)|number of tokens)|too many (input )?tokens|reduce the length of|\\b413\\b",
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
			"\\b404\\b|requested (entity|resource|model)[^.\\n]{0,40}not|not_found_error|model_not_found|(unknown|invalid|unsupported|no such) model|issue with the selected model|no (models?|endpoints?|deployments?) (was |were )?found|models?\\b[^.\\n]{0,80}(not found|does not exist|is not (available|supported)|not exist)",
		cause: "config",
		fix: "Correct the model or the address of the service in the agent's settings.",
	},
	{ match: "rate.?limit|\\b429\\b|too many requests", cause: "usage_limit", fix: null },
	{
		match:
			"overloaded|server_error|\\b(408|5(00|02|03|04|20|21|22|23|24|29))\\b|service unavailable|bad gateway|internal server error|ECONNREFUSED|ENOTFOUND|ECONNRESET|EPIPE|ETIMEDOUT|EAI_AGAIN|E(HOST|NET)(UNREACH|DOWN)|(unable to|cannot|could not|failed to) (connect|reach)|connection (reset|refused|error|lost|closed|failed)|error sending request|network error|socket (connection was closed|hang up)|other side closed|premature close|fetch failed|provider returned (an )?error|server had an error|stream (disconnected|error|closed|ended)|timed? ?out|high demand|at capacity",
		cause: "overloaded",
		fix: null,
	},
	{
		match: "\\b4(00|22)\\b|invalid[_ ]request|bad request",
		cause: "invalid_request",
		fix: null,
	},
];

/**
 * Words that mean a cause if one sentence has both: what it is about, and what it says of it. Without `says`,
 * the subject alone is enough.
 */
export interface WordRule {
	readonly cause: TurnCause;
	readonly about: string;
	readonly says?: string;
}

const USED_UP =
	"exceed\\w*|reached|exhausted|depleted|hit|used( up)?|run out|ran out|no [\\w ]{0,20}(left|remaining)";
const INVALID =
	"invalid|incorrect|wrong|missing|required|expired|revoked|denied|fail\\w*|could not be|unable|again|not (valid|accepted|recognized|found)|insufficient|malformed";

/**
 * The general words of error texts, for texts that no phrase above matches. Only texts that a CLI itself
 * marks as an error are read this way, never a conversation. Texts that could be about anything match none.
 */
export const SERVICE_WORDS: readonly WordRule[] = [
	{
		cause: "billing",
		about:
			"billing|payments?|credits?|prepaid|prepayments?|balance|budget|funds|spend|spending|invoices?|credit card|card on file|overdue|key limit|top.?up",
		says: `${USED_UP}|too low|low|insufficient|fail\\w*|declined|limit|requires?|not (found|active|enabled)|negative|zero|expired|suspended|deactivated|due to|add|purchase|buy|spent|closed|unpaid|settle|charged back|delinquent|top.?up|has no|recharge|refill`,
	},
	{
		cause: "context_full",
		about:
			"inputs?|prompt|context|window|messages|conversation|(total|number of) tokens|payload|string|request|body",
		says: "too (long|large|big|many tokens)|(longer|larger|bigger) than|more (input )?tokens than|(only )?supports (only|up to)|(not|no longer) fit|length should be|exceeds? [^.\\n]{0,40}(limit|maximum|size|length|window|model)|maximum (allowed|length|size|prompt length)|requested \\d+ tokens",
	},
	{
		cause: "refused",
		about:
			"inappropriate|high risk|sensitive (content|words|information)|harmful|unsafe|moderat\\w+|safety|prohibited|violat\\w*|legal reasons|inspection|cybersecurity|usage guidelines",
	},
	{
		cause: "refused",
		about: "contents?|prompt|text|candidate|output|answer|response",
		says: "blocked|filtered|guardrails?|not (permitted|allowed)|because of its content|risk",
	},
	{ cause: "overloaded", about: "time limit|deadline|time ?outs?" },
	{
		cause: "usage_limit",
		about:
			"(rate|usage|requests?|tokens?|concurrency|session|hourly|daily|weekly|monthly|hour|day|week|month|plan|account)[\\w -]{0,20}limits?|quotas?|allowance",
		says: `${USED_UP}|resets?|(nothing|no [\\w ]{0,20}) (is|are) left|spent`,
	},
	{
		cause: "usage_limit",
		about:
			"throttl\\w*|slow down|rate limit\\w*|(requests?|tokens?|messages?|calls?) (within|per|in|an?|each)( an?| one| the| last)? (second|minute|hour|day|week|month)|(too many )?concurrent (requests|connections|calls)",
	},
	{
		cause: "auth",
		about:
			"(api|access|subscription|secret|auth\\w*|bearer|refresh|oauth)[ _-]?(keys?|tokens?)|credentials?|authentication|authorization|log ?in|sign ?in|oauth|session",
		says: `${INVALID}|disabled`,
	},
	{
		cause: "auth",
		about: "account|organi[sz]ation|workspace|project|user|access|permissions?",
		says: "disabled|suspended|deactivated|banned|on hold|denied|insufficient|must be a member|not (allowed|active|authorized|permitted|verified)|do(es)? not have|lacks?",
	},
	{
		cause: "auth",
		about: "country|region|territory|location",
		says: "not (supported|available|allowed)|unsupported|blocked",
	},
	{
		cause: "config",
		about: "models?|deployments?|endpoints?|engines?",
		says: "not (found|available|supported|exist)|does ?n.t exist|no longer|unknown|unsupported|deprecated|retired|decommissioned|removed|shut down|sunset",
	},
	{
		cause: "config",
		about: "model (id|identifier|name)s?",
		says: "invalid|valid|is ?n.t supported",
	},
	{
		cause: "config",
		about: "certificates?",
		says: "unable|self.signed|expired|invalid|verify|verification|unknown|untrusted",
	},
	{
		cause: "overloaded",
		about:
			"unavailable|upstream|disconnect\\w*|name resolution|dns|network|connection|unreachable|gateway|capacity|busy|server error|internal error|decoding response|incomplete (response|chunked)|unexpected eof|try again later|temporar\\w+|err_(internet|network|connection|name|timed)\\w*",
	},
];

/** Statuses with one meaning, whatever the text says. Every other status from 500 on is a failing service. */
export const BY_STATUS: Readonly<Record<number, TurnCause>> = {
	401: "auth",
	402: "billing",
	404: "config",
	405: "config",
	407: "auth",
	408: "overloaded",
	410: "config",
	413: "context_full",
	424: "overloaded",
	425: "overloaded",
	451: "refused",
	499: "overloaded",
};

/** Statuses that services use for several causes: the text decides, and this is the fallback. */
export const FALLBACK_BY_STATUS: Readonly<Record<number, TurnCause>> = {
	400: "invalid_request",
	403: "auth",
	// Another request was faster. The SDKs of the services repeat it.
	409: "overloaded",
	422: "invalid_request",
	429: "usage_limit",
};

/**
 * Names of errors in the response bodies of model services (`type`, `code`, `status`, `reason`). CLIs include the body
 * in their own text, or report the name separately. They are exact where status and text are not.
 */
export const BY_NAME: Readonly<Record<string, TurnCause>> = {
	insufficient_quota: "billing",
	billing_error: "billing",
	payment_required: "billing",
	billing_disabled: "billing",
	insufficient_balance: "billing",
	budget_exceeded: "billing",
	billing_hard_limit_reached: "billing",
	billing_not_active: "billing",
	context_length_exceeded: "context_full",
	request_too_large: "context_full",
	string_above_max_length: "context_full",
	content_filter: "refused",
	content_policy_violation: "refused",
	prohibited_content: "refused",
	responsibleaipolicyviolation: "refused",
	data_inspection_failed: "refused",
	model_not_found: "config",
	not_found_error: "config",
	not_found: "config",
	deploymentnotfound: "config",
	authentication_error: "auth",
	invalid_api_key: "auth",
	invalid_token: "auth",
	token_expired: "auth",
	permission_error: "auth",
	unauthenticated: "auth",
	permission_denied: "auth",
	api_key_invalid: "auth",
	account_deactivated: "auth",
	usage_limit_reached: "usage_limit",
	rate_limit_error: "usage_limit",
	rate_limit_exceeded: "usage_limit",
	resource_exhausted: "usage_limit",
	overloaded_error: "overloaded",
	timeout_error: "overloaded",
	server_error: "overloaded",
	api_error: "overloaded",
	unavailable: "overloaded",
	internal: "overloaded",
	deadline_exceeded: "overloaded",
};

/**
 * The result of one attempt at a task. Every end of a call, by a response or by a failed process,
 * becomes one outcome here; retry, breaker and callers use only outcomes.
 *
 * Keeps B6 (caller errors never count) and defines what T9 may never retry.
 */

/** A request to a call or worker agent: one JSON document on stdin. */
export interface ActionRequest {
	readonly request_id: string;
	readonly api_version: string;
	readonly tool: string;
	readonly action: string;
	readonly context: unknown;
	readonly payload: unknown;
	readonly plan_id: string;
	readonly task_id: string;
	readonly correlation_id: string;
}

/** The response of a call or worker agent: one JSON document on stdout. Success is status `success` and code 0. */
export interface ActionResponse {
	readonly request_id: string;
	readonly status: string;
	readonly code: number;
	readonly result?: unknown;
	readonly error?: unknown;
	readonly plan_id?: string;
	readonly task_id?: string;
	readonly correlation_id?: string;
	/** The delay that the agent requests before the next attempt. */
	readonly retry_after_ms?: number;
}

/** A failure as reported by the agent, stored with the attempt and returned to the caller. */
export interface AgentResponse {
	readonly status: string;
	readonly code: number;
	readonly result?: unknown;
	readonly error?: unknown;
	/** Set when `result` and `error` were too large to keep. */
	readonly truncated?: true;
}

export const ATTEMPT_ERRORS = [
	"invalid_request",
	"action_not_supported",
	"timeout",
	"backend_failure",
	"io",
	"internal",
	"spawn_error",
	"unusable",
	"usage_limit",
	"host_exhausted",
	"left_alive",
] as const;
/** How an attempt can fail. */
export type AttemptError = (typeof ATTEMPT_ERRORS)[number];

/** The six codes that callers see. */
export type CallerCode =
	| "validation_failed"
	| "planning_failed"
	| "execution_failed"
	| "agent_unavailable"
	| "timeout"
	| "internal";

export interface AttemptErrorTraits {
	readonly retryable: boolean;
	/** Whether it counts against the agent in its circuit breaker. */
	readonly counts: boolean;
	/** Whether the agent may have acted before it failed; false only if it certainly did not. */
	readonly mayHaveRun: boolean;
	readonly callerCode: CallerCode;
}

export const ATTEMPT_ERROR_TRAITS: Readonly<Record<AttemptError, AttemptErrorTraits>> = {
	invalid_request: {
		retryable: false,
		counts: false,
		mayHaveRun: false,
		callerCode: "validation_failed",
	},
	action_not_supported: {
		retryable: false,
		counts: false,
		mayHaveRun: false,
		callerCode: "validation_failed",
	},
	timeout: { retryable: true, counts: true, mayHaveRun: true, callerCode: "timeout" },
	backend_failure: {
		retryable: true,
		counts: true,
		mayHaveRun: true,
		callerCode: "execution_failed",
	},
	io: { retryable: true, counts: true, mayHaveRun: true, callerCode: "execution_failed" },
	// A fault of Reeve (the daemon died during the attempt), not of the agent.
	internal: { retryable: true, counts: false, mayHaveRun: true, callerCode: "internal" },
	// A missing or non-executable program stays that way until the operator fixes it.
	spawn_error: {
		retryable: false,
		counts: true,
		mayHaveRun: false,
		callerCode: "agent_unavailable",
	},
	// Not logged in or misconfigured, as detected by the program itself.
	unusable: {
		retryable: false,
		counts: true,
		mayHaveRun: false,
		callerCode: "agent_unavailable",
	},
	// Its account is parked until the limit lifts, and its requests wait too.
	usage_limit: {
		retryable: true,
		counts: false,
		mayHaveRun: true,
		callerCode: "agent_unavailable",
	},
	// Out of processes, files or memory: not the agent's fault, and nothing was started.
	host_exhausted: {
		retryable: true,
		counts: false,
		mayHaveRun: false,
		callerCode: "agent_unavailable",
	},
	// A second attempt would run next to the first (T6).
	left_alive: { retryable: false, counts: true, mayHaveRun: true, callerCode: "internal" },
};

/** How an attempt ended. */
export type Outcome =
	| { readonly ok: true; readonly result: unknown }
	| {
			readonly ok: false;
			readonly error: AttemptError;
			readonly reason: string;
			readonly retryAfterMs: number | null;
			/** The agent's response, if there was one. */
			readonly response?: AgentResponse;
			/** Set when a deadline of the caller passed that was shorter than the agent's own `timeout`. */
			readonly callersDeadline?: true;
	  };

/** How a process failed without any response. */
export type ProcessFailure =
	| { readonly type: "timeout"; readonly afterMs: number; readonly detail?: string }
	| { readonly type: "io"; readonly detail: string }
	/** The output is not one JSON response, or too large. */
	| { readonly type: "bad_answer"; readonly detail: string }
	/** The process exited without a response. */
	| { readonly type: "no_answer"; readonly detail: string }
	/** The program cannot be started, and a retry will not help. */
	| { readonly type: "spawn_error"; readonly detail: string }
	/** The program reports that it cannot work until the operator fixes it. */
	| { readonly type: "unusable"; readonly detail: string }
	/** The account that the program is logged in to has hit its usage limit. */
	| { readonly type: "usage_limit"; readonly detail: string; readonly resetInMs: number | null }
	/** The host currently cannot start any program. */
	| { readonly type: "host_exhausted"; readonly detail: string }
	/** The daemon that ran the attempt is gone. */
	| { readonly type: "interrupted" }
	/** Processes of the attempt are still running, or cannot be proven to be gone. */
	| { readonly type: "left_alive"; readonly detail: string }
	/** Its worker was killed because of another request. */
	| { readonly type: "displaced"; readonly detail: string };

const PROCESS_ERROR: Readonly<Record<ProcessFailure["type"], AttemptError>> = {
	timeout: "timeout",
	io: "io",
	bad_answer: "backend_failure",
	no_answer: "backend_failure",
	spawn_error: "spawn_error",
	unusable: "unusable",
	usage_limit: "usage_limit",
	host_exhausted: "host_exhausted",
	interrupted: "internal",
	left_alive: "left_alive",
	displaced: "internal",
};

/** Classifies an agent's response to the request with this id. */
export function classifyResponse(requestId: string, response: ActionResponse): Outcome {
	if (response.request_id !== requestId) {
		return failure(
			"backend_failure",
			`the response is for request ${response.request_id || "(no id)"}, not ${requestId}`,
		);
	}
	if (response.status === "success" && response.code === 0) {
		return { ok: true, result: response.result };
	}
	const reported = `agent returned ${response.status} with code ${response.code}`;
	const why = textOf(response.error);
	const reason = why === null ? reported : `${reported}: ${why}`;
	const failed = failure(errorOfCode(response.code), reason, response.retry_after_ms);
	return { ...failed, response: keptResponse(response) };
}

/** The maximum size of an agent's failure that is stored with an attempt (A6). */
export const RESPONSE_CHARS_MAX = 256 * 1_024;

function keptResponse({ status, code, result, error }: ActionResponse): AgentResponse {
	const shown = {
		...(result !== undefined && { result }),
		...(error !== undefined && { error }),
	};
	const isLarge = JSON.stringify(shown).length > RESPONSE_CHARS_MAX;
	return { status, code, ...(isLarge ? { truncated: true } : shown) };
}

/** The outcome of an attempt whose process failed before it responded. */
export function classifyProcessFailure(problem: ProcessFailure): Outcome {
	const retryAfterMs =
		problem.type === "usage_limit" ? (problem.resetInMs ?? undefined) : undefined;
	return failure(PROCESS_ERROR[problem.type], renderProcessFailure(problem), retryAfterMs);
}

/**
 * The outcome of an attempt under a caller's own deadline. If the agent's `timeout` is longer, a missing response is
 * the caller's choice and proves nothing about the agent. A 504 that the agent returned itself still counts.
 */
export function classifyDeadline(
	outcome: Outcome,
	deadline: { readonly timeoutMs: number; readonly agentTimeoutMs: number },
): Outcome {
	const isPassed = !outcome.ok && outcome.error === "timeout" && outcome.response === undefined;
	if (!isPassed || deadline.timeoutMs >= deadline.agentTimeoutMs) return outcome;
	return { ...outcome, callersDeadline: true };
}

/** Whether a failed attempt speaks against the agent, and so counts for its circuit breaker. */
export function countsAgainstAgent(outcome: Extract<Outcome, { ok: false }>): boolean {
	return outcome.callersDeadline !== true && ATTEMPT_ERROR_TRAITS[outcome.error].counts;
}

const WORDS_LENGTH_MAX = 500;

/** The agent's error text: a string, or the `message` of an object. */
function textOf(error: unknown): string | null {
	const message = typeof error === "object" && error !== null ? Object(error).message : error;
	return typeof message === "string" && message !== "" ? message.slice(0, WORDS_LENGTH_MAX) : null;
}

function errorOfCode(code: number): AttemptError {
	if (code === 501) return "action_not_supported";
	if (code === 504) return "timeout";
	return code >= 400 && code < 500 ? "invalid_request" : "backend_failure";
}

function renderProcessFailure(problem: ProcessFailure): string {
	if (problem.type === "timeout") {
		const why = problem.detail === undefined ? "" : `: ${problem.detail}`;
		return `no response within ${problem.afterMs} ms${why}`;
	}
	if (problem.type === "interrupted") return "the daemon stopped during the attempt";
	if (problem.type === "left_alive") return `cannot be killed: ${problem.detail}`;
	return problem.detail;
}

function failure(
	error: AttemptError,
	reason: string,
	retryAfterMs?: number,
): Extract<Outcome, { ok: false }> {
	const asked = typeof retryAfterMs === "number" && Number.isFinite(retryAfterMs);
	return { ok: false, error, reason, retryAfterMs: asked ? Math.max(0, retryAfterMs) : null };
}

/**
 * How failed attempts are retried. The result is a delay to be stored as a deadline, not a sleeping
 * loop, so it survives the daemon.
 *
 * Keeps T3 (attempts ≤ max), T9 (non-retryable is never retried) and S5 for the delays.
 */

import { backoffDelayMs, type Random } from "./backoff.js";
import { ATTEMPT_ERROR_TRAITS, type Outcome } from "./outcome.js";
import { renderElapsed } from "./units.js";

/** The number of attempts of a request and the delay between them. */
export interface RetrySettings {
	/** Total number of attempts, including the first. */
	readonly maxAttempts: number;
	readonly initialBackoffMs: number;
	readonly maxBackoffMs: number;
	/** Delays vary randomly by up to this fraction; 0 turns it off. */
	readonly jitter: number;
}

/** The default settings of retries. */
export const DEFAULT_RETRY: RetrySettings = Object.freeze({
	maxAttempts: 3,
	initialBackoffMs: 500,
	maxBackoffMs: 5_000,
	jitter: 0.2,
});

/** The longest delay that an agent can request. */
export const RETRY_AFTER_MS_MAX = 3_600_000;

/**
 * How long a task may take from its first attempt to its end if every attempt uses all of its time.
 * This is the deadline for waiting for a circuit.
 */
export function longestTaskMs(
	{ maxAttempts, initialBackoffMs, maxBackoffMs }: RetrySettings,
	timeoutMs: number,
): number {
	let waitsMs = 0;
	for (let attempt = 1; attempt < maxAttempts; attempt++) {
		waitsMs += Math.min(initialBackoffMs * 2 ** (attempt - 1), maxBackoffMs);
	}
	return maxAttempts * timeoutMs + waitsMs;
}

/** Whether another attempt follows, when, and why. */
export type RetryDecision =
	| { readonly type: "succeed"; readonly reason: string }
	| { readonly type: "retry"; readonly afterMs: number; readonly reason: string }
	| { readonly type: "dead_letter"; readonly reason: string };

/** The input of a retry decision. */
export interface AttemptFacts {
	/** The number of the attempt that ended, from 1. */
	readonly attempt: number;
	readonly outcome: Outcome;
	/** Whether running the action twice is harmless. */
	readonly idempotent: boolean;
	readonly random: Random;
}

/** Whether another attempt follows a failed one, and when. */
export function decideRetry(facts: AttemptFacts, settings: RetrySettings): RetryDecision {
	const { attempt, outcome, idempotent, random } = facts;
	if (outcome.ok) return { type: "succeed", reason: `succeeded on attempt ${attempt}` };
	const traits = ATTEMPT_ERROR_TRAITS[outcome.error];
	const why = `${outcome.error}: ${outcome.reason}`;
	if (!traits.retryable) return { type: "dead_letter", reason: `${why}; not retryable` };
	if (!idempotent && traits.mayHaveRun) {
		const reason = `${why}; it may have taken effect and is not idempotent, so the operator decides`;
		return { type: "dead_letter", reason };
	}
	if (attempt >= settings.maxAttempts) {
		return { type: "dead_letter", reason: `${why}; attempt ${attempt} of ${settings.maxAttempts}` };
	}
	const backoffMs = backoffDelayMs(
		{
			initialMs: settings.initialBackoffMs,
			capMs: settings.maxBackoffMs,
			jitter: settings.jitter,
		},
		attempt,
		random,
	);
	// The account decides how long a limit lasts, and the operator can end that wait.
	const asked = outcome.error === "usage_limit" ? null : outcome.retryAfterMs;
	const askedMs = Math.min(asked ?? 0, RETRY_AFTER_MS_MAX);
	const afterMs = Math.max(backoffMs, askedMs);
	const wait = `attempt ${attempt + 1} of ${settings.maxAttempts} in ${renderElapsed(afterMs)}`;
	return { type: "retry", afterMs, reason: `${why}; ${wait}` };
}

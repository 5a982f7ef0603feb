/** When to notify a person about an agent: it asks a question, or its turn has failed. */

import type { FailedTurnTimes, Retrying } from "./activity.js";
import type { TurnCause } from "./adapter.js";
import type { Activity } from "./states.js";

/** Whether every turn fails like this one until a person fixes the login, the payment or the settings. */
export function needsFix(failure: TurnCause | null): boolean {
	return failure === "auth" || failure === "billing" || failure === "config";
}

export interface AttentionState {
	/** Steady time at which its question appeared; null if there is none. */
	readonly asksSinceMs: number | null;
	/** Whether that was reported. */
	readonly isReported: boolean;
	/** The last failed turn, as of the previous check; undefined before the first check. */
	readonly failedTurn: FailedTurnTimes | null | undefined;
	/** The cause that was reported of it. */
	readonly cause?: TurnCause | null;
	/** Start of the retries that were reported last. */
	readonly retryingSinceMs?: number | null;
}

export const NO_ATTENTION: AttentionState = Object.freeze({
	asksSinceMs: null,
	isReported: false,
	failedTurn: undefined,
});

export interface AttentionFacts {
	readonly activity: Activity;
	readonly failedTurn: FailedTurnTimes | null;
	/** Why it failed. */
	readonly failure: TurnCause | null;
	/** The requests that its CLI is retrying; null if there are none. */
	readonly retrying?: Pick<Retrying, "sinceMs" | "lastMs"> | null;
	/** Whether the turn may have failed under an earlier daemon, which reported it. */
	readonly isAdopted: boolean;
	readonly nowMs: number;
}

/** By then, Reeve or an attentive user has answered the question. */
const ASKS_FOR_MS = 10_000;
/** A disruption that a CLI recovers from within this time is not reported. */
const RETRIES_FOR_MS = 30_000;

export function decideAttention(
	before: AttentionState,
	facts: AttentionFacts,
): {
	readonly state: AttentionState;
	readonly asks: boolean;
	readonly failed: boolean;
	readonly retries: boolean;
} {
	const { asksSinceMs, isReported, failedTurn, retryingSinceMs: reported = null } = before;
	const { nowMs } = facts;
	const isAsking = facts.activity === "waiting_input";
	const sinceMs = isAsking ? (asksSinceMs ?? nowMs) : null;
	const asks = sinceMs !== null && !(isReported && isAsking) && nowMs - sinceMs >= ASKS_FOR_MS;
	const isNew = isNewFailure(failedTurn, facts);
	const failed = isNew || isWorse(before, facts);
	// A retried turn is still the same turn.
	const lastFailed = facts.failedTurn ?? failedTurn ?? null;
	const { retrying = null } = facts;
	// Measured between failures, not until now: the response to a successful request may take long.
	const retryForMs = retrying === null ? 0 : retrying.lastMs - retrying.sinceMs;
	const retries = retryForMs >= RETRIES_FOR_MS && retrying?.sinceMs !== reported;
	return {
		state: {
			asksSinceMs: sinceMs,
			isReported: isAsking && (isReported || asks),
			failedTurn: lastFailed,
			cause: facts.failedTurn === null ? (before.cause ?? null) : facts.failure,
			retryingSinceMs: retries ? (retrying?.sinceMs ?? null) : reported,
		},
		asks,
		failed,
		retries,
	};
}

/**
 * The CLI tried the same turn again, and it failed in another way, which a person has to fix: what was reported
 * first would be retried, or pass.
 */
function isWorse(
	{ failedTurn: last, cause }: AttentionState,
	{ failedTurn, failure }: AttentionFacts,
): boolean {
	return last != null && failedTurn !== null && needsFix(failure) && failure !== cause;
}

/**
 * A turn that was submitted after the last known failure. A CLI may report several failures of one turn, and its
 * prompt in several places, one of them read later than the failure.
 */
function isNewFailure(
	last: AttentionState["failedTurn"],
	{ failedTurn, isAdopted }: AttentionFacts,
): boolean {
	if (failedTurn === null) return false;
	if (last === undefined) return !isAdopted;
	return last === null || failedTurn.askedAtMs > last.failedAtMs;
}

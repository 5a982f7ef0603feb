/** When a person should know of what an agent does: it asks something, or its turn has failed. */

import type { Retrying } from "./activity.js";
import type { TurnCause } from "./adapter.js";
import type { Activity } from "./states.js";

/** Whether every turn fails like this one until a person fixes the login, the payment or the settings. */
export function needsFix(failure: TurnCause | null): boolean {
	return failure === "auth" || failure === "billing" || failure === "config";
}

export interface AttentionState {
	/** Steady time since when it asks something; null while it does not. */
	readonly asksSinceMs: number | null;
	/** Whether that was told. */
	readonly told: boolean;
	/** The last turn that failed, as of the last look; undefined before the first look. */
	readonly failedTurn: number | null | undefined;
	/** When the retries began that were reported last. */
	readonly retryingSinceMs?: number | null;
}

export const NO_ATTENTION: AttentionState = Object.freeze({
	asksSinceMs: null,
	told: false,
	failedTurn: undefined,
});

export interface AttentionFacts {
	readonly activity: Activity;
	readonly failedTurn: number | null;
	/** The requests that its CLI retries by itself; null when it retries nothing. */
	readonly retrying?: Pick<Retrying, "sinceMs" | "lastMs"> | null;
	/** Whether the turn may have failed under an earlier daemon, which reported it. */
	readonly isAdopted: boolean;
	readonly nowMs: number;
}

/** Questions that Reeve answers itself are gone by then, and so are those of somebody who is there. */
const ASKS_FOR_MS = 10_000;
/** A disturbance that a CLI overcomes by itself within this time is not reported. */
const RETRIES_FOR_MS = 30_000;

export function decideAttention(
	{ asksSinceMs, told, failedTurn, retryingSinceMs: reported = null }: AttentionState,
	facts: AttentionFacts,
): {
	readonly state: AttentionState;
	readonly asks: boolean;
	readonly failed: boolean;
	readonly retries: boolean;
} {
	const { nowMs, isAdopted } = facts;
	const isAsking = facts.activity === "waiting_input";
	const sinceMs = isAsking ? (asksSinceMs ?? nowMs) : null;
	const asks = sinceMs !== null && !(told && isAsking) && nowMs - sinceMs >= ASKS_FOR_MS;
	const isNew = facts.failedTurn !== failedTurn && !(failedTurn === undefined && isAdopted);
	// A turn that is tried again is still the same turn.
	const lastFailed = facts.failedTurn ?? failedTurn ?? null;
	const { retrying = null } = facts;
	// Between failures, not until now: the answer to a request that went well may take long.
	const retryForMs = retrying === null ? 0 : retrying.lastMs - retrying.sinceMs;
	const retries = retryForMs >= RETRIES_FOR_MS && retrying?.sinceMs !== reported;
	return {
		state: {
			asksSinceMs: sinceMs,
			told: isAsking && (told || asks),
			failedTurn: lastFailed,
			retryingSinceMs: retries ? (retrying?.sinceMs ?? null) : reported,
		},
		asks,
		failed: facts.failedTurn !== null && isNew,
		retries,
	};
}

/** When a person should know of what an agent does: it asks something, or its turn has failed. */

import type { KnownCause } from "./adapter.js";
import type { Activity } from "./states.js";

/** Whether only a person can do something about why a turn failed: a login, or settings. */
export function isMendable(failure: KnownCause | null): boolean {
	return failure === "auth" || failure === "config";
}

export interface AttentionState {
	/** Steady time since when it asks something; null while it does not. */
	readonly asksSinceMs: number | null;
	/** Whether that was told. */
	readonly told: boolean;
	/** Why its last turn failed, as far as it was looked at; undefined before the first look. */
	readonly failure: KnownCause | null | undefined;
}

export const NO_ATTENTION: AttentionState = Object.freeze({
	...{ asksSinceMs: null, told: false, failure: undefined },
});

export interface AttentionFacts {
	readonly activity: Activity;
	readonly failure: KnownCause | null;
	/** Whether what failed may have failed before this was watched, and been told then. */
	readonly isAdopted: boolean;
	readonly nowMs: number;
}

/** Questions that Reeve answers itself are gone by then, and so are those of somebody who is there. */
const ASKS_FOR_MS = 10_000;

export function decideAttention(
	{ asksSinceMs, told, failure }: AttentionState,
	facts: AttentionFacts,
): { readonly state: AttentionState; readonly asks: boolean; readonly failed: boolean } {
	const { nowMs, isAdopted } = facts;
	const isAsking = facts.activity === "waiting_input";
	const sinceMs = isAsking ? (asksSinceMs ?? nowMs) : null;
	const asks = sinceMs !== null && !(told && isAsking) && nowMs - sinceMs >= ASKS_FOR_MS;
	const isNew = facts.failure !== failure && !(failure === undefined && isAdopted);
	return {
		state: { asksSinceMs: sinceMs, told: isAsking && (told || asks), failure: facts.failure },
		...{ asks, failed: facts.failure !== null && isNew },
	};
}

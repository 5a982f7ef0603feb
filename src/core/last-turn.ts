/** The last turn of an agent, as proof that the usage limit of its account was hit or has lifted. */

import type { KnownActivity } from "./activity.js";
import { type AgentSign, failedAttempts } from "./sign.js";

/** The outcome of an agent's last turn. */
export interface Turn {
	readonly atMs: number;
	/**
	 * The earliest time at which its last request to the service can have started; null if unknown. A
	 * response to a request from before the limit was hit proves nothing.
	 */
	readonly beganAtMs: number | null;
	/** Whether the turn before it hit the limit, so that this one must have started after that. */
	readonly afterLimit: boolean;
	/** The limit that it hit; null if it succeeded. */
	readonly limit: { readonly resetAtMs: number | null } | null;
}

/** The last turn whose relation to a limit is known. Reports of the CLI take precedence over its screen. */
export function lastTurn(
	signs: readonly AgentSign[],
	known: KnownActivity,
	readShownReset: () => number | null,
): Turn | null {
	const index = signs.findLastIndex(({ failure }) => failure !== undefined);
	const sign = signs[index];
	const { failure } = sign ?? {};
	const begin = { beganAtMs: null, afterLimit: false };
	if (sign !== undefined && failure?.cause === "usage_limit") {
		const asked = signs.slice(0, index).findLast(({ prompt }) => prompt !== undefined);
		return {
			atMs: sign.atMs,
			beganAtMs: asked?.atMs ?? null,
			afterLimit: false,
			limit: { resetAtMs: latestReset(signs, sign.atMs) },
		};
	}
	const good =
		sign !== undefined && failure === null ? goodTurn(signs.slice(0, index), sign) : null;
	const { attempt } = failedAttempts(signs).at(-1) ?? {};
	const shown = known.activity === "rate_limited" && known.source === "screen";
	// Text on the screen alone parks no account: a failed request must confirm it.
	if (!shown || attempt?.cause !== "usage_limit" || (good !== null && good.atMs > known.atMs)) {
		return good;
	}
	return {
		...begin,
		atMs: known.atMs,
		limit: { resetAtMs: attempt.resetAtMs ?? readShownReset() },
	};
}

/** Hook and record report one failed turn within this time. */
const ONE_TURN_MS = 5_000;

/** One report may contain the exact end of a limit, and another the same end truncated to the minute. */
function latestReset(signs: readonly AgentSign[], atMs: number): number | null {
	const ends = signs
		.filter((each) => each.failure?.cause === "usage_limit" && atMs - each.atMs < ONE_TURN_MS)
		.flatMap(({ failure }) => failure?.resetAtMs ?? []);
	return ends.length === 0 ? null : Math.max(...ends);
}

/** A request follows a prompt or the end of a tool. */
function goodTurn(before: readonly AgentSign[], { atMs }: AgentSign): Turn {
	const begin = before.findLastIndex(
		({ prompt, inTool }) => prompt !== undefined || inTool === false,
	);
	// A hook and the record report the success of one turn.
	const outcome = before.findLast(
		({ failure }, index) =>
			failure !== undefined && (begin < 0 || index < begin || failure !== null),
	);
	const afterLimit = outcome?.failure?.cause === "usage_limit";
	return { atMs, beganAtMs: before[begin]?.atMs ?? null, afterLimit, limit: null };
}

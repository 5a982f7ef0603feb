/**
 * Whether Reeve asks an agent to continue after a turn that failed for external reasons: the service
 * was overloaded or unreachable, or the account hit its limit. The decision uses the CLI's own records,
 * so a later daemon decides the same.
 */

import type { TurnCause } from "./adapter.js";
import { backoffDelayMs, type Random } from "./backoff.js";
import type { AgentSign } from "./sign.js";

export interface TurnRetrySettings {
	/** How many consecutive turns may be retried; 0 turns it off. */
	readonly maxAttempts: number;
	readonly initialBackoffMs: number;
	readonly maxBackoffMs: number;
	/** The message to send. */
	readonly prompt: string;
}

export const DEFAULT_TURN_RETRY: TurnRetrySettings = Object.freeze({
	maxAttempts: 5,
	initialBackoffMs: 15_000,
	maxBackoffMs: 300_000,
	prompt: "Continue.",
});

export interface TurnRetry {
	/** When the turn failed; wall time. It identifies the failure. */
	readonly failedAtMs: number;
	/** When the agent is asked to continue; wall time. After a limit, its account decides as well. */
	readonly atMs: number;
}

const RETRIED: ReadonlySet<TurnCause> = new Set(["overloaded", "usage_limit"]);
/** Reports of one failed turn by a hook and by the transcript are at most this far apart. */
const ONE_TURN_MS = 5_000;
/** Agents that failed together do not retry together. */
const JITTER = 0.3;

export function decideTurnRetry(
	signs: readonly AgentSign[],
	{ maxAttempts, initialBackoffMs, maxBackoffMs }: Omit<TurnRetrySettings, "prompt">,
	random: Random,
): TurnRetry | null {
	const index = signs.findLastIndex(({ failure }) => failure !== undefined);
	const last = signs[index];
	const cause = last?.failure?.cause;
	if (last === undefined || cause === undefined || !RETRIED.has(cause) || maxAttempts === 0)
		return null;
	// Another turn has started since: by a person, by the CLI itself, or by the retry.
	const isOver = signs
		.slice(index + 1)
		.some(({ activity, prompt }) => activity === "busy" || prompt !== undefined);
	if (isOver) return null;
	const failedAtMs = last.atMs;
	// The account decides how long to wait for a limit, and how often to try.
	if (cause === "usage_limit") return { failedAtMs, atMs: failedAtMs };
	const attempts = failuresInARow(signs);
	if (attempts > maxAttempts) return null;
	const settings = { initialMs: initialBackoffMs, capMs: maxBackoffMs, jitter: JITTER };
	return { failedAtMs, atMs: failedAtMs + backoffDelayMs(settings, attempts, random) };
}

/**
 * Several failures after one prompt are the CLI's own retries of that turn. Half of an answer before the failure is no
 * success: a service that drops every answer would be asked forever. A turn in which a tool ran has achieved something.
 */
function failuresInARow(signs: readonly AgentSign[]): number {
	let count = 0;
	let beforeMs = Number.POSITIVE_INFINITY;
	let isOtherTurn = true;
	let hasWorked = false;
	for (const { failure, prompt, inTool, atMs } of signs.toReversed()) {
		hasWorked ||= inTool === true;
		const isHalf = failure === null && !isOtherTurn && !hasWorked;
		if (prompt !== undefined) {
			isOtherTurn = true;
			hasWorked = false;
		}
		if (failure === undefined || isHalf) continue;
		if (failure === null || failure.cause !== "overloaded") break;
		if (isOtherTurn && beforeMs - atMs >= ONE_TURN_MS) {
			count++;
			isOtherTurn = false;
		}
		beforeMs = Math.min(beforeMs, atMs);
	}
	return count;
}

/** Something that an agent's CLI let be known of itself, in our words: a hook, a line of its record. */

import type { TurnCause } from "./adapter.js";
import type { Activity } from "./states.js";

export const SIGN_SOURCES = ["hook", "transcript", "screen"] as const;
/** Where a sign came from, best first: what a CLI says on purpose, what it writes down, what it shows. */
export type SignSource = (typeof SIGN_SOURCES)[number];

/** What a sign means, as far as its adapter understands it. */
export interface SignMeaning {
	/** What the agent does from now on; left out where the sign does not tell. */
	readonly activity?: Activity;
	/** Why its turn failed; null for a turn that went well. Left out where the sign does not tell. */
	readonly failure?: { readonly cause: TurnCause; readonly resetAtMs: number | null } | null;
	/**
	 * A request of the turn has failed, and the CLI may make it again by itself; null for one that went
	 * well. The turn goes on either way.
	 */
	readonly attempt?: FailedAttempt | null;
	/** A request of the turn was made. When another one follows without anything in between, it has failed. */
	readonly requested?: true;
	/** The conversation that it is about. */
	readonly conversation?: string;
	/** A prompt that was submitted. */
	readonly prompt?: string;
	/** Whether a tool runs from here on, which may be silent for long. */
	readonly inTool?: boolean;
	/** In the CLI's own words, shortened. */
	readonly detail?: string;
}

export interface FailedAttempt {
	readonly cause: TurnCause;
	readonly resetAtMs: number | null;
	/** Where one record stands for several failures in a row: how many, and when the first one was (wall time). */
	readonly count?: number;
	readonly sinceMs?: number;
}

export interface AgentSign extends SignMeaning {
	readonly source: SignSource;
	/** What the CLI calls it. */
	readonly name: string;
	/** Wall time. */
	readonly atMs: number;
}

/**
 * Requests of the turn that is under way which have failed since one of them last went well. A tool runs because a
 * request went well.
 */
export function failedAttempts(signs: readonly AgentSign[]): readonly AgentSign[] {
	const since = signs.findLastIndex(
		({ attempt, failure, prompt, inTool }) =>
			attempt === null || failure !== undefined || prompt !== undefined || inTool !== undefined,
	);
	const turn = signs.slice(since + 1);
	const told = turn.filter(({ attempt }) => attempt != null);
	if (told.length > 0) return told;
	const [, ...repeated] = turn.filter(({ requested }) => requested);
	return repeated.map((sign) => ({ ...sign, attempt: { cause: "unknown", resetAtMs: null } }));
}

/** Causes that a CLI gives when it does not know better. */
const VAGUE: ReadonlySet<TurnCause> = new Set(["unknown", "invalid_request"]);

/**
 * Signs in which a failed turn has the cause of its last failed request, where the CLI itself names none: the
 * report of a request has the status of the service, and the end of the turn often only a sentence.
 */
export function refineFailures(signs: readonly AgentSign[]): readonly AgentSign[] {
	return signs.map((sign, index) => {
		if (sign.failure == null || !VAGUE.has(sign.failure.cause)) return sign;
		const attempt = failedAttempts(signs.slice(0, index)).at(-1)?.attempt;
		if (attempt == null) return sign;
		const { cause, resetAtMs } = attempt;
		return { ...sign, failure: { cause, resetAtMs } };
	});
}

const DETAIL_LENGTH_MAX = 300;

/** As much of a CLI's words as is shown to people. */
export function shorten(text: string): string {
	const line = text.replaceAll(/\s+/g, " ").trim();
	return line.length <= DETAIL_LENGTH_MAX ? line : `${line.slice(0, DETAIL_LENGTH_MAX)}…`;
}

/** A sign is a report from an agent's CLI in Reeve's terms: an event of a hook, or a line of its transcript. */

import type { TurnCause } from "./adapter.js";
import type { Activity } from "./states.js";

export const SIGN_SOURCES = ["hook", "transcript", "screen"] as const;
/** Sources of signs, most reliable first: hooks, transcript, screen. */
export type SignSource = (typeof SIGN_SOURCES)[number];

/** The meaning of a sign, as far as its adapter understands it. */
export interface SignMeaning {
	/** The agent's activity from now on; omitted if the sign does not report it. */
	readonly activity?: Activity;
	/** Why its turn failed; null for a successful turn. Omitted if the sign does not report it. */
	readonly failure?: { readonly cause: TurnCause; readonly resetAtMs: number | null } | null;
	/**
	 * A request of the turn failed, and the CLI may retry it; null for a successful request. The turn
	 * continues in both cases.
	 */
	readonly attempt?: FailedAttempt | null;
	/** The turn sent a request. If another one follows without anything in between, it has failed. */
	readonly requested?: true;
	/** The conversation of the sign. */
	readonly conversation?: string;
	/** A submitted prompt. */
	readonly prompt?: string;
	/** The CLI asks a person; its choices are on the screen. */
	readonly question?: { readonly kind: "permission" | "choice"; readonly text: string };
	/** The first sentence of the answer with which a turn ended. */
	readonly answer?: string;
	/** Whether a tool is running from now on, which may be silent for a long time. */
	readonly inTool?: boolean;
	/** The CLI's own text, shortened. */
	readonly detail?: string;
}

export interface FailedAttempt {
	readonly cause: TurnCause;
	readonly resetAtMs: number | null;
	/** If one record represents several consecutive failures: how many, and when the first one happened (wall time). */
	readonly count?: number;
	readonly sinceMs?: number;
}

export interface AgentSign extends SignMeaning {
	readonly source: SignSource;
	/** The CLI's name for it. */
	readonly name: string;
	/** Wall time. */
	readonly atMs: number;
}

/** Failed requests of the current turn since the last successful one. A tool run implies a successful request. */
export function failedAttempts(signs: readonly AgentSign[]): readonly AgentSign[] {
	const since = signs.findLastIndex(
		({ attempt, failure, prompt, inTool }) =>
			attempt === null || failure !== undefined || prompt !== undefined || inTool !== undefined,
	);
	const turn = signs.slice(since + 1);
	const reported = turn.filter(({ attempt }) => attempt != null);
	if (reported.length > 0) return reported;
	const [, ...repeated] = turn.filter(({ requested }) => requested);
	return repeated.map((sign) => ({ ...sign, attempt: { cause: "unknown", resetAtMs: null } }));
}

/** Causes that a CLI reports if it has no better information. */
const VAGUE: ReadonlySet<TurnCause> = new Set(["unknown", "invalid_request"]);

/**
 * Gives a failed turn the cause of its last failed request, if the CLI reports none: the report of a
 * request has the HTTP status, and the end of the turn often only a sentence.
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

/** The part of a CLI's text that is shown to users. */
export function shorten(text: string): string {
	const line = text.replaceAll(/\s+/g, " ").trim();
	return line.length <= DETAIL_LENGTH_MAX ? line : `${line.slice(0, DETAIL_LENGTH_MAX)}…`;
}

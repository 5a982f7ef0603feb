/** Whether an agent has completed its turn and waits, and the first sentence of its answer. */

import type { KnownActivity } from "./activity.js";
import { type AgentSign, shorten } from "./sign.js";

export interface Finish {
	/** Wall time; identifies the turn. */
	readonly atMs: number;
	readonly text: string | null;
}

type Seen = Pick<KnownActivity, "activity" | "atMs">;

/**
 * The completed turn after which nothing was submitted; null if there is none. Reports of the CLI
 * decide. Where it does not report the end of a turn, the screen shows it: a CLI with a transcript
 * waits on two consecutive screens after its last response, any other was busy before.
 */
export function lastFinish(signs: readonly AgentSign[], before: Seen, known: Seen): Finish | null {
	const isEnd = ({ activity, failure }: AgentSign) => activity === "ready" && failure === null;
	if (signs.some(isEnd) || signs.some(({ source }) => source === "hook")) {
		return finishAt(signs, signs.findLastIndex(isEnd));
	}
	if (known.activity !== "ready") return null;
	const answered = signs.findLastIndex(({ failure }) => failure === null);
	if (answered >= 0) return before.activity === "ready" ? finishAt(signs, answered) : null;
	const hasFailed = signs.some(({ failure }) => failure !== undefined);
	return before.activity === "busy" && !hasFailed ? { atMs: known.atMs, text: null } : null;
}

function finishAt(signs: readonly AgentSign[], end: number): Finish | null {
	const { atMs } = signs[end] ?? {};
	const later = signs.slice(end + 1);
	const isOver = later.some(
		({ activity, prompt, failure }) => activity === "busy" || prompt !== undefined || failure,
	);
	if (atMs === undefined || isOver) return null;
	const asked = signs.findLastIndex(({ prompt }) => prompt !== undefined);
	const reply = signs.slice(asked + 1).findLast(({ answer }) => answer !== undefined)?.answer;
	return { atMs, text: reply ?? null };
}

/** The first sentence of an answer, for notifications and lists. Empty if there is no text. */
export function firstSentence(text: string): string {
	const line = text
		.replaceAll(/```[\s\S]*?(```|$)/gu, " ")
		.replaceAll(/[*_`#>]+/gu, "")
		.split("\n")
		.map((each) => each.trim())
		.find((each) => each !== "");
	return shorten(/^.*?[.!?](?=\s|$)/u.exec(line ?? "")?.[0] ?? line ?? "");
}

/** The answer of a sign, if there is any text. */
export function answerOf(text: unknown): Pick<AgentSign, "answer"> {
	const answer = typeof text === "string" ? firstSentence(text) : "";
	return answer === "" ? {} : { answer };
}

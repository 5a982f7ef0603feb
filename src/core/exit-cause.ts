/**
 * Why an agent ended, from all that is known of it: what was asked, what its last turn came to, its
 * exit code, its last words. What a CLI says on purpose counts more than what it prints, and an exit
 * code alone counts least: some CLIs exit with 0 whatever happened, others with numbers that look like
 * signals and are none.
 */

import { type AdapterProfile, type KnownCause, SERVICE_TEXTS, type TextCause } from "./adapter.js";
import type { ExitCause, ExitReport } from "./exit.js";
import { type AgentSign, type SignMeaning, shorten } from "./sign.js";

export interface ExitEvidence {
	/** Oldest first. */
	readonly signs: readonly AgentSign[];
	readonly lastWords: string;
	/** When the run ended, in wall time. */
	readonly atMs: number;
	/** The end of a limit as a text tells it, in wall time; null when it does not. */
	readonly readReset: (text: string) => number | null;
}

export type ExitVerdict = Pick<ExitReport, "cause" | "detail" | "resetInMs">;

/** A failed turn explains an exit that follows it soon; an agent that waited for hours ended otherwise. */
const EXPLAINS_WITHIN_MS = 600_000;

export function judgeExit(
	{ exits }: AdapterProfile,
	report: ExitReport,
	evidence: ExitEvidence,
): ExitVerdict {
	const { cause, detail, resetInMs } = report;
	// What the backend has seen for itself is not judged again.
	if (cause !== "unknown") return { cause, detail, resetInMs };
	if (report.askedBy !== null) return verdict("killed_by_us");
	// An agent that lived through a failed turn did not die by a signal because of it.
	const failure = report.signal === null ? lastFailure(evidence) : null;
	if (failure !== null) return failure;
	if (exits === null) return { cause, detail, resetInMs };
	if (report.signal !== null) return verdict("crash");
	const ended = exits.codes.find(({ code }) => code === report.code);
	const readsWords = report.code !== 0 || exits.zeroLies;
	const said = readsWords ? findText(exits.texts, evidence.lastWords) : null;
	// A code that was given a meaning is believed; the words may still tell what to do about it.
	if (ended !== undefined) {
		const words = said?.text.cause === ended.cause ? said : null;
		return fromWords(ended.cause, words, evidence);
	}
	if (said !== null) return fromWords(said.text.cause, said, evidence);
	if (report.code === 0) return verdict("completed");
	return verdict(report.code === null ? "unknown" : "crash");
}

/** How the last turn failed, if nothing good came after it. */
function lastFailure({ signs, atMs }: ExitEvidence): ExitVerdict | null {
	const last = signs.findLast(({ failure }) => failure !== undefined);
	const { failure } = last ?? {};
	if (last === undefined || !failure || atMs - last.atMs > EXPLAINS_WITHIN_MS) return null;
	const resetInMs = failure.resetAtMs === null ? null : Math.max(0, failure.resetAtMs - atMs);
	return { cause: failure.cause, detail: last.detail ?? null, resetInMs };
}

interface Said {
	readonly text: TextCause;
	readonly line: string;
}

/** The first text of the table that occurs, with the line it occurs in. */
function findText(texts: readonly TextCause[], words: string): Said | null {
	const lines = words.split(/[\r\n]+/);
	for (const text of texts) {
		const pattern = new RegExp(text.match, "iu");
		const line = lines.findLast((each) => pattern.test(each));
		if (line !== undefined) return { text, line };
	}
	return null;
}

/** What a failed turn means, from the words in which a service told it. */
export function failureOf(
	words: string,
	readReset: (text: string) => number | null,
	texts: readonly TextCause[] = SERVICE_TEXTS,
): Pick<SignMeaning, "failure" | "detail"> {
	const said = findText(texts, words);
	// A failure that nobody can name is no reason to park or halt anybody.
	if (said === null) return { detail: shorten(words) };
	const { cause } = said.text;
	const resetAtMs = cause === "usage_limit" ? readReset(words) : null;
	return { failure: { cause, resetAtMs }, detail: shorten(words) };
}

function fromWords(cause: KnownCause, said: Said | null, evidence: ExitEvidence): ExitVerdict {
	if (said === null) return verdict(cause);
	const { fix } = said.text;
	const words = shorten(said.line);
	const resetAtMs = cause === "usage_limit" ? evidence.readReset(said.line) : null;
	return {
		cause,
		detail: fix === null ? words : `${words}. ${fix}`,
		resetInMs: resetAtMs === null ? null : Math.max(0, resetAtMs - evidence.atMs),
	};
}

function verdict(cause: ExitCause): ExitVerdict {
	return { cause, detail: null, resetInMs: null };
}

/**
 * Why a turn failed, from the HTTP status and the error text of a CLI. Only text that the CLI itself
 * marks as an error is used: the text of a conversation may mention any of this.
 */

import type { TextCause, TurnCause } from "./adapter.js";
import { compilePattern } from "./pattern.js";
import {
	BY_NAME,
	BY_STATUS,
	FALLBACK_BY_STATUS,
	SERVICE_TEXTS,
	SERVICE_WORDS,
} from "./service-errors.js";
import { type SignMeaning, shorten } from "./sign.js";

/** Causes by precision: if a body names two, the first one in this list is used. */
const EXACT_FIRST: readonly TurnCause[] = [
	...(["billing", "context_full", "refused", "config", "auth"] as const),
	...(["usage_limit", "overloaded"] as const),
];

const NAME = /\\?"(?:type|code|status|reason)\\?"\s*:\s*\\?"([\w.]+)\\?"/gi;
const STATUS_FIELD = /\\?"(?:code|status|status_?code)\\?"\s*:\s*(\d{3})\b/i;
/** As CLIs and proxies print it: at the start of the text, or after a word that introduces it. */
const STATUS_TEXT =
	/(?:^\s*|\b(?:status(?: code)?|http(?:\/\d(?:\.\d)?)?|error|failed with|returned)[:=]? *\(?)([45]\d\d)\b(?! *(?:tokens|ms|s\b|%|,\d))/i;

/** The cause named in the response body; null if there is none. */
function namedCause(body: string): TurnCause | null {
	const causes = [...body.matchAll(NAME)].map(
		([, name = ""]) => BY_NAME[name.toLowerCase()] ?? findWords(name),
	);
	return EXACT_FIRST.find((cause) => causes.includes(cause)) ?? null;
}

/** `QuotaExceeded` and `quota_exceeded` as words. */
function spaced(text: string): string {
	return text.replaceAll(/([a-z])([A-Z])/g, "$1 $2").replaceAll(/(\w)[_.](?=\w)/g, "$1 ");
}

function statusIn(text: string): number {
	return Number((STATUS_FIELD.exec(text) ?? STATUS_TEXT.exec(text))?.[1] ?? 0);
}

export interface FailedTurn {
	/** The error text of the CLI. */
	readonly text: string;
	/** The HTTP status, if the CLI reports it separately. */
	readonly status?: number | null;
	/** The response body of the service, if the CLI reports it separately. */
	readonly body?: string;
	/** A cause reported by the CLI; the text may refine a vague one. */
	readonly cause?: TurnCause | undefined;
	readonly texts?: readonly TextCause[];
	/** When a limit lifts, from a text. */
	readonly readReset: (text: string) => number | null;
}

/** The meaning of a failed turn; `unknown` with its text if nothing matches. */
export function failureOf(
	turn: FailedTurn,
): Pick<SignMeaning, "detail"> & { readonly failure: NonNullable<SignMeaning["failure"]> } {
	const cause = causeOf(turn);
	const resetAtMs = cause === "usage_limit" ? resetOf(turn) : null;
	const detail = shorten(turn.text);
	return { failure: { cause, resetAtMs }, ...(detail === "" ? {} : { detail }) };
}

/** The fields of the body are exact; the text may be rounded. */
function resetOf({ text, body = text, readReset }: FailedTurn): number | null {
	return readReset(body) ?? readReset(text);
}

/** The cause in the error text of a CLI or its service. */
export function causeOfText(text: string): TurnCause {
	return causeOf({ text, readReset: () => null });
}

function causeOf(turn: FailedTurn): TurnCause {
	const { text, body = text, cause } = turn;
	const named = namedCause(body);
	// Some CLIs report an account without credit as a limit; it does not lift by itself.
	if (cause === "usage_limit") return named === "billing" ? "billing" : cause;
	if (cause !== undefined && cause !== "unknown" && cause !== "invalid_request") return cause;
	const status = turn.status || statusIn(body) || statusIn(text);
	const certain = BY_STATUS[status] ?? (status >= 500 ? ofFailingService(named) : named);
	if (certain != null) return certain;
	const otherwise = FALLBACK_BY_STATUS[status] ?? cause ?? "unknown";
	const found = textCause(turn, status);
	if (found === null || found === "unknown") return otherwise;
	const isVague = found === "invalid_request" && otherwise !== "unknown";
	return isVague || (status === 429 && !OF_TOO_MANY.includes(found)) ? otherwise : found;
}

/** The causes of a 429. It is about the requests before this one, so not about the size, text or model of this one. */
const OF_TOO_MANY: readonly TurnCause[] = ["usage_limit", "billing", "overloaded", "auth"];

/** A gateway that fails as a whole may still name the reason that lies with the request or the account. */
function ofFailingService(named: TurnCause | null): TurnCause {
	return named === null || named === "usage_limit" ? "overloaded" : named;
}

/** The cause in the text; null if it has none. */
function textCause(turn: FailedTurn, status: number): TurnCause | null {
	const { texts = SERVICE_TEXTS } = turn;
	// The status was read already; here it would hide what the words say.
	const text = status === 0 ? turn.text : turn.text.replaceAll(`${status}`, "");
	const phrase = findText(texts, text)?.text.cause;
	// A failed turn did not complete, so a matching text must mean something else.
	const isPhrase = phrase !== undefined && phrase !== "completed" && phrase !== "crash";
	if (isPhrase && phrase !== "invalid_request") return withoutPayment(phrase, turn);
	const words = texts.some(isServiceText) ? findWords(text) : null;
	// A bad request is about the request: "limit" and "connection" mean something else in its text.
	const isAside = status === 400 || status === 422 || phrase === "invalid_request";
	if (words === null || (isAside && (words === "usage_limit" || words === "overloaded"))) {
		return isPhrase ? phrase : null;
	}
	return withoutPayment(words, turn);
}

/** An account that works again at a given time needs no payment. */
function withoutPayment(cause: TurnCause, turn: FailedTurn): TurnCause {
	return cause === "billing" && resetOf(turn) !== null ? "usage_limit" : cause;
}

/** `exits.service_texts: false` turns off the words together with the phrases. */
const isServiceText = ({ match }: TextCause) => match === SERVICE_TEXTS[0]?.match;

const SENTENCE_END = /[.!?](?:\s+|$)|[\r\n]+/;

/** The cause of the first rule of which one sentence has all words. */
function findWords(text: string): TurnCause | null {
	const sentences = spaced(text).split(SENTENCE_END);
	const found = SERVICE_WORDS.find(({ about, says }) =>
		sentences.some((each) => hasWord(each, about) && (says === undefined || hasWord(each, says))),
	);
	return found?.cause ?? null;
}

function hasWord(sentence: string, words: string): boolean {
	return compilePattern(`\\b(${words})\\b`, { ignoreCase: true }).test(sentence);
}

export interface FoundText {
	readonly text: TextCause;
	readonly line: string;
}

/** The first text of the table that occurs, with its line. */
export function findText(texts: readonly TextCause[], words: string): FoundText | null {
	const lines = words.split(/[\r\n]+/);
	for (const text of texts) {
		const pattern = compilePattern(text.match, { ignoreCase: true });
		const line = lines.findLast((each) => pattern.test(each));
		if (line !== undefined) return { text, line };
	}
	return null;
}

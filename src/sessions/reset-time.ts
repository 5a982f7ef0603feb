/**
 * Reads the time at which a usage limit lifts from the text that a CLI prints, or from the fields of a
 * response body in it. Fields come first: printed times are rounded, often have no date, and use any time zone.
 */

import { parsePrintedTime, type ZoneOffset } from "./printed-time.js";

const UNIT_MS: Readonly<Record<string, number>> = {
	ms: 1,
	s: 1_000,
	m: 60_000,
	h: 3_600_000,
	d: 86_400_000,
	w: 604_800_000,
	秒: 1_000,
	分: 60_000,
	小: 3_600_000,
	天: 86_400_000,
};

/** Messages about limits are a line or two. */
const TEXT_LENGTH_MAX = 2_000;
/** Later than any time in seconds, earlier than any in milliseconds. */
const SECONDS_MAX = 100_000_000_000;

/** The words that introduce when an account works again. */
const TIME_WORD =
	"(?<![a-z])(?:reset(?:s|ting)?|again|retry(?:ing)?|wait|available|access|until|till|renew(?:s|ed)?|refresh(?:es|ed)?|back|lift(?:s|ed)?|resum(?:e|es|ed)|restored?|replenish(?:es|ed)?|unlock(?:s|ed)?|cool ?down)";

const STAMP = "\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d+)?)?(?:Z|[+-]\\d{2}:?\\d{2})";
/** Both forms of HTTP, with a year of four or of two digits. */
const HTTP_DATE =
	"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*, \\d{1,2}[ -][a-z]{3}[ -](?:\\d{4}|\\d{2}) [\\d:]{8} GMT";

/** Fields of response bodies: when a limit lifts, and in how long. */
const AT_FIELD = new RegExp(
	`"[\\w-]*?(?:resets?[_-]?(?:at|on|time|date|time_?stamp|requests|tokens)?|(?:retry|available)[_-]?at)\\\\?"\\s*:\\s*\\\\?"?(\\d{10,13}|${STAMP})`,
	"iu",
);
const IN_FIELD =
	/"([\w-]*?(?:resets?[_-]?(?:in|after|delay)|retry[_-]?(?:after|delay|in)|ratelimit-reset[\w-]*)(?:[_-]?sec(?:ond)?s|[_-]?ms)?)\\?"\s*:\s*\\?"?((?:\d{1,9}(?:\.\d+)?\s*[a-z]*\s*){1,6})/iu;

/** A time that a word introduces, or that is in a field whose name has the word. */
const REPORTED_STAMP = new RegExp(
	`(?:reset|retry|again|until|available|renew|refresh)[^\\n]{0,60}?\\b(${STAMP}|${HTTP_DATE})`,
	"iu",
);
/** Not at the start of a line, where logs have the time of the line itself. */
const BARE_STAMP = new RegExp(`[^\\n\\[]{3}\\b(${STAMP}|${HTTP_DATE})`, "giu");
const EPOCH =
	/(?:\||\b(?:resets?|again|until|available)\b[^\n]{0,20}?)\s*((?:1[6-9]\d{8}|2\d{9})(?:\d{3})?)\b/iu;

const NUMBER = "\\d+(?:\\.\\d+)?";
const SPANS = `(?:${NUMBER}\\s*[a-z]+(?:\\(s\\))?[\\s,]*(?:and\\s+|&\\s*)?)+`;
const LEAD =
	"(?:in|after|for|within|about|approximately|approx\\.?|around|roughly|at least|less than|under|up to|the next|another)";
const SPAN = new RegExp(
	`${TIME_WORD}(?:(?<=reset) time)?(?:[\\s:=(-]*${LEAD})*[\\s:=(~≈<]+(${SPANS})`,
	"giu",
);
/** `2 hours 5 minutes remaining`. */
const SPAN_BEFORE = new RegExp(`\\b(${SPANS})(?:from now|remaining|left\\b|until\\b)`, "giu");
const PART =
	/(\d+(?:\.\d+)?)\s*(weeks?|days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|ms|milliseconds?|[wdhms])(?![a-z])/giu;
const CHINESE_SPAN = /(\d+)\s*(天|小时|分钟?|秒)(?=[\d\s]*(?:天|小时|分钟?|秒|之?后))/gu;
/** `reset in: 02:15:30`. */
const COUNTDOWN = new RegExp(
	`${TIME_WORD} in:?\\s+(\\d+):(\\d{2})(?::(\\d{2}))?\\b(\\s*min)?`,
	"iu",
);
const ONE_UNIT = new RegExp(
	`${TIME_WORD} in (?:about |less than |under )?(?:an?|one) (minute|hour|day|week)\\b`,
	"iu",
);
const SECONDS_ONLY =
	/\bretry[-_ ]?(?:after|in)(?:[-_ ]?seconds)?\s*[:=]?\s*(\d{1,7})(?![\d:/-]|\.\d|\s*[a-z])/iu;

/**
 * The wall time at which the limit lifts; null if the text contains none. `atMs` is when the text was
 * printed, not when it is read: a daemon may read it hours later.
 */
export function parseResetTime(whole: string, atMs: number, offsetOf: ZoneOffset): number | null {
	// Agents write the text, and the expressions take quadratic time.
	const text = whole.slice(0, TEXT_LENGTH_MAX);
	return (
		parseFields(text, atMs) ??
		parseStamp(text) ??
		parseSpan(text, atMs) ??
		parsePrintedTime(text, atMs, offsetOf, TIME_WORD) ??
		parseBareStamp(text, atMs)
	);
}

function parseFields(text: string, atMs: number): number | null {
	const at = AT_FIELD.exec(text)?.[1];
	if (at !== undefined) return /^\d+$/.test(at) ? timeOfEpoch(Number(at)) : timeOf(at);
	const [, name = "", amount] = IN_FIELD.exec(text) ?? [];
	if (amount === undefined) return null;
	const inMs = /ms$/i.test(name) ? 1 : 1_000;
	const ms = /^[\d.\s]+$/.test(amount) ? Number(amount) * inMs : lengthOf(amount);
	// Some bodies have 0 next to the text that has the time.
	return ms > 0 ? atMs + ms : null;
}

function timeOfEpoch(value: number): number {
	return value < SECONDS_MAX ? value * 1_000 : value;
}

function timeOf(stamp: string): number | null {
	const ms = Date.parse(stamp);
	return Number.isNaN(ms) ? null : ms;
}

function parseStamp(text: string): number | null {
	const stamp = REPORTED_STAMP.exec(text)?.[1];
	if (stamp !== undefined) return timeOf(stamp);
	const epoch = EPOCH.exec(text)?.[1];
	return epoch === undefined ? null : timeOfEpoch(Number(epoch));
}

/** A complete time ahead, in a text whose words are unknown. */
function parseBareStamp(text: string, atMs: number): number | null {
	const times = [...text.matchAll(BARE_STAMP)].map(([, stamp = ""]) => timeOf(stamp));
	return times.find((time) => time !== null && time > atMs) ?? null;
}

/** `try again in 3 hours 20 minutes`. */
function parseSpan(text: string, atMs: number): number | null {
	const countdown = COUNTDOWN.exec(text);
	if (countdown !== null) {
		const [first = 0, second = 0, third = 0] = countdown
			.slice(1, 4)
			.map((each) => Number(each ?? 0));
		const isShort = countdown[4] !== undefined && countdown[3] === undefined;
		const seconds = isShort ? first * 60 + second : (first * 60 + second) * 60 + third;
		return atMs + seconds * 1_000;
	}
	const one = ONE_UNIT.exec(text)?.[1];
	if (one !== undefined) return atMs + (UNIT_MS[one.slice(0, 1).toLowerCase()] ?? 0);
	const spans = [...text.matchAll(SPAN), ...text.matchAll(SPAN_BEFORE)];
	const lengths = [...spans.map(([, span = ""]) => lengthOf(span)), chineseLength(text)];
	const seconds = Number(SECONDS_ONLY.exec(text)?.[1] ?? 0);
	const ms = lengths.find((length) => length > 0) ?? seconds * 1_000;
	return ms > 0 ? atMs + ms : null;
}

function lengthOf(span: string): number {
	return sumOf(span.matchAll(PART));
}

/** `请在 2 小时 5 分钟后重试`. */
function chineseLength(text: string): number {
	return sumOf(text.matchAll(CHINESE_SPAN));
}

function sumOf(parts: Iterable<RegExpExecArray>): number {
	let ms = 0;
	for (const [, amount, unit = ""] of parts) ms += Number(amount) * msOf(unit);
	return ms;
}

function msOf(unit: string): number {
	const name = unit.toLowerCase();
	const isMs = name === "ms" || name.startsWith("milli");
	return UNIT_MS[isMs ? "ms" : name.slice(0, 1)] ?? 0;
}

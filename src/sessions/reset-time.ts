/**
 * Reads the time at which a usage limit lifts from the text that a CLI prints, or from the fields of a
 * response body in it. Fields come first: printed times are rounded, often have no date, and use any time zone.
 */

/** Minutes that a zone's clocks are ahead of UTC at a moment; null for an unknown zone. */
export type ZoneOffset = (zone: string | null, atMs: number) => number | null;

const UNIT_MS: Readonly<Record<string, number>> = {
	ms: 1,
	s: 1_000,
	m: 60_000,
	h: 3_600_000,
	d: 86_400_000,
	w: 604_800_000,
};

const DAY_MS = 86_400_000;
/** Messages about limits are a line or two. */
const TEXT_LENGTH_MAX = 2_000;
/**
 * A time of day that passed less than this before it was printed means today, not tomorrow: clocks
 * differ by seconds, printed minutes are rounded, and limits lift late.
 */
const JUST_PASSED_MS = 3_600_000;
/** Later than any time in seconds, earlier than any in milliseconds. */
const SECONDS_MAX = 100_000_000_000;

/** Fields of response bodies: when a limit lifts, and in how long. */
const AT_FIELD =
	/"(?:resets?_?(?:at|time|date)|retry_?at|x-ratelimit-reset|reset)\\?"\s*:\s*\\?"?(\d{10,13}|\d{4}-[\dT:.+Z-]+)/iu;
const IN_FIELD =
	/"(resets?_?in(?:_?seconds|_?ms)?|retry[_-]?(?:after|delay)(?:_?seconds|_?ms)?)\\?"\s*:\s*\\?"?(\d+(?:\.\d+)?)(ms|s)?\b/iu;

const TIME_WORD = "(?:resets?|again|retry|wait|available|access|until|renews?)";
const NUMBER = "\\d+(?:\\.\\d+)?";
const SPAN = new RegExp(
	`(?:${TIME_WORD}(?:[ -]?after)?|retry-after)\\s*(?:in|after|for)?:?\\s+(?:about |approximately |~ ?|another )?((?:${NUMBER}\\s*[a-z]+[\\s,]*(?:and\\s+)?)+)`,
	"iu",
);
const PART =
	/(\d+(?:\.\d+)?)\s*(weeks?|days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|ms|milliseconds?|[wdhms])(?![a-z])/giu;
/** `reset in: 02:15:30`. */
const COUNTDOWN = new RegExp(`${TIME_WORD} in:?\\s+(\\d+):(\\d{2})(?::(\\d{2}))?\\b`, "iu");
const MINUTE_WORDS = new RegExp(`${TIME_WORD} in (?:less than )?a (minute|hour|day|week)\\b`, "iu");
const SECONDS_ONLY = /\bretry-?after:?\s+(\d{1,7})\b(?![\d:])/iu;

const STAMP = /\b(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2}))/u;
const HTTP_DATE = /\b((?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT)/u;
const EPOCH = /(?:\||\b(?:resets?|again|until|available)\b[^\n]{0,20}?)\s*(1[6-9]\d{8}|2\d{9})\b/iu;

const MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec";
const MONTH =
	"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\\.?";
const DAYS = "sun|mon|tue|wed|thu|fri|sat";
const MONTH_DAY = new RegExp(
	`\\b${MONTH}\\s+(\\d{1,2})(?:st|nd|rd|th)?(?:,?\\s+(\\d{4}))?\\b`,
	"iu",
);
const DAY_MONTH = new RegExp(
	`\\b(\\d{1,2})(?:st|nd|rd|th)?\\.?\\s+${MONTH},?(?:\\s+(\\d{4}))?\\b`,
	"iu",
);
const YEAR_FIRST = /\b(\d{4})[-/](\d{2})[-/](\d{2})\b/u;
const DOTTED = /\b(\d{1,2})\.(\d{1,2})\.(\d{4})\b/u;
const SLASHED = /\b(\d{1,2})\/(\d{1,2})\/(\d{4})\b/u;
const WEEKDAY =
	/\b((?:sun|mon|fri)(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs?(?:day)?)?|sat(?:urday)?)\b/iu;

const CLOCK = new RegExp(
	`${TIME_WORD}\\b[^\\n]*?\\b(?:(\\d{1,2})(?::(\\d{2}))?(?::\\d{2})?\\s*([ap])\\.?m\\.?(?![a-z])|(\\d{1,2}):(\\d{2})\\b|(noon|midnight)\\b)`,
	"iu",
);
const NAMED_ZONE = /\(([A-Za-z_]+(?:\/[A-Za-z0-9_+-]+)*)\)/u;
const OFFSET_ZONE = /(?<!\/)\b(?:UTC|GMT)\s*([+-]\d{1,2})(?::?(\d{2}))?/u;
const SHORT_ZONE =
	/(?:\d|[ap]\.?m\.?)\s*\(?(UTC|GMT|Z|EST|EDT|CST|CDT|MST|MDT|PST|PDT|PT|ET|CT|MT|CET|CEST|EET|EEST|BST|IST|JST|AEST|AEDT)\b/iu;

/** Minutes ahead of UTC, or a zone for names that have a summer time. */
const SHORT_ZONES: Readonly<Record<string, number | string>> = {
	...{ utc: 0, gmt: 0, z: 0, est: -300, edt: -240, cst: -360, cdt: -300, mst: -420, mdt: -360 },
	...{ pst: -480, pdt: -420, cet: 60, cest: 120, eet: 120, eest: 180, bst: 60, ist: 330 },
	...{ jst: 540, aest: 600, aedt: 660, pt: "America/Los_Angeles", et: "America/New_York" },
	...{ ct: "America/Chicago", mt: "America/Denver" },
};

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
		parseClock(text, atMs, offsetOf)
	);
}

function parseFields(text: string, atMs: number): number | null {
	const at = AT_FIELD.exec(text)?.[1];
	if (at !== undefined) return /^\d+$/.test(at) ? timeOfEpoch(Number(at)) : timeOf(at);
	const [, name = "", amount, unit] = IN_FIELD.exec(text) ?? [];
	if (amount === undefined) return null;
	const inMs = unit === "ms" || /_?ms$/i.test(name) ? 1 : 1_000;
	const ms = Number(amount) * inMs;
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
	const stamp = STAMP.exec(text)?.[1] ?? HTTP_DATE.exec(text)?.[1];
	if (stamp !== undefined) return timeOf(stamp);
	const epoch = EPOCH.exec(text)?.[1];
	return epoch === undefined ? null : timeOfEpoch(Number(epoch));
}

/** `try again in 3 hours 20 minutes`. */
function parseSpan(text: string, atMs: number): number | null {
	const countdown = COUNTDOWN.exec(text);
	if (countdown !== null) {
		const [, first, second, third] = countdown.map(Number);
		const minutes = (first ?? 0) * 60 + (second ?? 0);
		return atMs + minutes * 60_000 + (third || 0) * 1_000;
	}
	const one = MINUTE_WORDS.exec(text)?.[1];
	if (one !== undefined) return atMs + (UNIT_MS[one.slice(0, 1).toLowerCase()] ?? 0);
	const seconds = SECONDS_ONLY.exec(text)?.[1];
	const span = SPAN.exec(text)?.[1];
	let ms = 0;
	for (const [, amount, unit = ""] of (span ?? "").matchAll(PART))
		ms += Number(amount) * msOf(unit);
	if (ms === 0 && seconds !== undefined) ms = Number(seconds) * 1_000;
	return ms > 0 ? atMs + ms : null;
}

function msOf(unit: string): number {
	const name = unit.toLowerCase();
	const isMs = name === "ms" || name.startsWith("milli");
	return UNIT_MS[isMs ? "ms" : name.slice(0, 1)] ?? 0;
}

/** `resets 3pm (America/Bogota)`, `try again at Nov 17th, 2026 3:30 PM`. */
function parseClock(text: string, printedAtMs: number, offsetOf: ZoneOffset): number | null {
	const timeMs = timeOfDay(text);
	if (timeMs === null) return null;
	const offsetMinutes = offsetIn(text, printedAtMs, offsetOf);
	if (offsetMinutes === null) return null;
	const shiftMs = offsetMinutes * 60_000;
	const localMs = printedAtMs + shiftMs;
	const today = Math.floor(localMs / DAY_MS) * DAY_MS;
	const date = dateIn(text, localMs, today, timeMs);
	if (date !== null) return date + timeMs - shiftMs;
	return nearestAfter(today + timeMs - shiftMs, printedAtMs - JUST_PASSED_MS);
}

function timeOfDay(text: string): number | null {
	const [, hour12, minute12, half, hour24, minute24, named] = CLOCK.exec(text) ?? [];
	if (named !== undefined) return named.toLowerCase() === "noon" ? DAY_MS / 2 : 0;
	if (hour12 === undefined && hour24 === undefined) return null;
	const hour =
		hour12 === undefined
			? Number(hour24)
			: (Number(hour12) % 12) + (half?.toLowerCase() === "p" ? 12 : 0);
	const minute = Number(minute12 ?? minute24 ?? 0);
	if (hour > 23 || minute > 59 || Number(hour12 ?? 0) > 12) return null;
	return (hour * 60 + minute) * 60_000;
}

/** The zone that the text names; without one, that of the CLI's own clock. */
function offsetIn(text: string, atMs: number, offsetOf: ZoneOffset): number | null {
	const offset = OFFSET_ZONE.exec(text);
	if (offset !== null) {
		const [, hours = "0", minutes = "0"] = offset;
		return Number(hours) * 60 + (hours.startsWith("-") ? -1 : 1) * Number(minutes);
	}
	const short = SHORT_ZONES[SHORT_ZONE.exec(text)?.[1]?.toLowerCase() ?? ""];
	if (typeof short === "number") return short;
	return offsetOf(short ?? NAMED_ZONE.exec(text)?.[1] ?? null, atMs);
}

/** The first time with this time of day that is not before `fromMs`. */
function nearestAfter(timeOfDayMs: number, fromMs: number): number {
	return timeOfDayMs - Math.floor((timeOfDayMs - fromMs) / DAY_MS) * DAY_MS;
}

/** Midnight of the day that the text names, in local time; null if it names none. */
function dateIn(text: string, localMs: number, today: number, timeMs: number): number | null {
	const [, year, month, day] = YEAR_FIRST.exec(text) ?? [];
	if (year !== undefined) return Date.UTC(Number(year), Number(month) - 1, Number(day));
	const [, dotDay, dotMonth, dotYear] = DOTTED.exec(text) ?? [];
	if (dotYear !== undefined) {
		return Date.UTC(Number(dotYear), Number(dotMonth) - 1, Number(dotDay));
	}
	const [, first, second, slashYear] = SLASHED.exec(text) ?? [];
	if (slashYear !== undefined) {
		// The month comes first, unless it cannot.
		const [monthOf, dayOf] = Number(first) > 12 ? [second, first] : [first, second];
		return Date.UTC(Number(slashYear), Number(monthOf) - 1, Number(dayOf));
	}
	return namedDate(text, localMs, timeMs) ?? relativeDay(text, localMs, today, timeMs);
}

function namedDate(text: string, localMs: number, timeMs: number): number | null {
	const [, name, day, year] = MONTH_DAY.exec(text) ?? [];
	if (name !== undefined) return dateOf(name, Number(day), year, localMs, timeMs);
	const [, dayFirst, nameSecond, yearLast] = DAY_MONTH.exec(text) ?? [];
	if (nameSecond === undefined) return null;
	return dateOf(nameSecond, Number(dayFirst), yearLast, localMs, timeMs);
}

function dateOf(
	name: string,
	day: number,
	year: string | undefined,
	localMs: number,
	timeMs: number,
): number {
	const month = MONTHS.split("|").indexOf(name.slice(0, 3).toLowerCase());
	const thisYear = new Date(localMs).getUTCFullYear();
	const inYear = (of: number) => Date.UTC(of, month, day);
	if (year !== undefined) return inYear(Number(year));
	// A date without a year that has passed is in the next year.
	const isPast = inYear(thisYear) + timeMs < localMs - DAY_MS;
	return inYear(isPast ? thisYear + 1 : thisYear);
}

/** `tomorrow`, `Thursday`. */
function relativeDay(text: string, localMs: number, today: number, timeMs: number): number | null {
	if (/\btomorrow\b/i.test(text)) return today + DAY_MS;
	const name = WEEKDAY.exec(text)?.[1];
	if (name === undefined) return null;
	const weekday = DAYS.split("|").indexOf(name.slice(0, 3).toLowerCase());
	const ahead = (weekday - new Date(localMs).getUTCDay() + 7) % 7;
	const isPast = ahead === 0 && today + timeMs < localMs - JUST_PASSED_MS;
	return today + (isPast ? 7 : ahead) * DAY_MS;
}

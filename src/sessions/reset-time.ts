/**
 * Reads the time at which a usage limit lifts from the text that a CLI prints. This is the last
 * resort: printed times are rounded, have no date and use any time zone. Prefer structured data.
 */

/** Minutes that a zone's clocks are ahead of UTC at a moment; null for an unknown zone. */
export type ZoneOffset = (zone: string | null, atMs: number) => number | null;

const UNIT_MS: Readonly<Record<string, number>> = {
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
const SPAN =
	/(?:resets?|again|retry|wait|available)\s*(?:in|after)?:?\s+((?:\d+\s*[a-z]+[\s,]*(?:and\s+)?)+)/iu;
const PART = /(\d+)\s*(weeks?|days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|[wdhms])(?![a-z])/giu;
const STAMP = /\b(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2}))/u;
const EPOCH = /\|\s*(1[6-9]\d{8}|2\d{9})\b/u;
const MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec";
const DATE = new RegExp(`(${MONTHS})[a-z]*\\s+(\\d{1,2})(?:st|nd|rd|th)?(?:,?\\s+(\\d{4}))?`, "iu");
const CLOCK =
	/(?:resets?|again|until|available)\b[^\n]*?\b(\d{1,2})(?::(\d{2}))?\s*([ap])\.?m\.?(?![a-z])|(?:resets?|again|until|available)\b[^\n]*?\b(\d{1,2}):(\d{2})\b/iu;
const ZONE = /\(([A-Za-z_]+(?:\/[A-Za-z_+-]+)*|UTC)\)/u;

/**
 * The wall time at which the limit lifts; null if the text contains none. `atMs` is when the text was
 * printed, not when it is read: a daemon may read it hours later.
 */
export function parseResetTime(whole: string, atMs: number, offsetOf: ZoneOffset): number | null {
	// Agents write the text, and the expressions take quadratic time.
	const text = whole.slice(0, TEXT_LENGTH_MAX);
	const stamp = STAMP.exec(text)?.[1];
	if (stamp !== undefined) return Number.isNaN(Date.parse(stamp)) ? null : Date.parse(stamp);
	const epoch = EPOCH.exec(text)?.[1];
	if (epoch !== undefined) return Number(epoch) * 1_000;
	return parseSpan(text, atMs) ?? parseClock(text, atMs, offsetOf);
}

/** `try again in 3 hours 20 minutes`. */
function parseSpan(text: string, atMs: number): number | null {
	const span = SPAN.exec(text)?.[1];
	if (span === undefined) return null;
	let ms = 0;
	for (const [, amount, unit = ""] of span.matchAll(PART)) {
		ms += Number(amount) * (UNIT_MS[unit.slice(0, 1).toLowerCase()] ?? 0);
	}
	return ms > 0 ? atMs + ms : null;
}

/** `resets 3pm (America/Bogota)`, `try again at Nov 17th, 2026 3:30 PM`. */
function parseClock(text: string, printedAtMs: number, offsetOf: ZoneOffset): number | null {
	const found = CLOCK.exec(text);
	if (found === null) return null;
	const [, hour12, minute12, half, hour24, minute24] = found;
	const hour =
		hour12 === undefined
			? Number(hour24)
			: (Number(hour12) % 12) + (half?.toLowerCase() === "p" ? 12 : 0);
	const minute = Number(minute12 ?? minute24 ?? 0);
	if (hour > 23 || minute > 59 || Number(hour12 ?? 0) > 12) return null;
	const offsetMinutes = offsetOf(ZONE.exec(text)?.[1] ?? null, printedAtMs);
	if (offsetMinutes === null) return null;
	const shiftMs = offsetMinutes * 60_000;
	const timeMs = (hour * 60 + minute) * 60_000;
	const date = DATE.exec(text);
	if (date !== null) return dateOf(date, printedAtMs + shiftMs, timeMs) - shiftMs;
	const today = Math.floor((printedAtMs + shiftMs) / DAY_MS) * DAY_MS;
	return nearestAfter(today + timeMs - shiftMs, printedAtMs - JUST_PASSED_MS);
}

/** The first time with this time of day that is not before `fromMs`. */
function nearestAfter(timeOfDayMs: number, fromMs: number): number {
	return timeOfDayMs - Math.floor((timeOfDayMs - fromMs) / DAY_MS) * DAY_MS;
}

function dateOf(date: RegExpExecArray, localMs: number, timeMs: number): number {
	const [, name = "", day, year] = date;
	const month = MONTHS.split("|").indexOf(name.slice(0, 3).toLowerCase());
	const thisYear = new Date(localMs).getUTCFullYear();
	const inYear = (of: number) => Date.UTC(of, month, Number(day)) + timeMs;
	if (year !== undefined) return inYear(Number(year));
	// A date without a year that has passed is in the next year.
	return inYear(thisYear) < localMs - DAY_MS ? inYear(thisYear + 1) : inYear(thisYear);
}

/**
 * Reads a time of day, with or without a date and a zone, as people write it: `3pm (America/Bogota)`,
 * `Nov 20, 09:00 UTC`, `tomorrow at noon`. Only what follows a word that introduces it counts.
 */

/** Minutes that a zone's clocks are ahead of UTC at a moment; null for an unknown zone. */
export type ZoneOffset = (zone: string | null, atMs: number) => number | null;

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/**
 * A time of day that passed less than this before it was printed means today, not tomorrow: clocks
 * differ by seconds, printed minutes are rounded, and limits lift late.
 */
const JUST_PASSED_MS = 3_600_000;

const MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec";
const MONTH =
	"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\\.?";
const DAYS = "sun|mon|tue|wed|thu|fri|sat";
const MONTH_DAY = new RegExp(
	`\\b${MONTH}\\s+(\\d{1,2})(?![\\d:])(?:st|nd|rd|th)?(?:,?\\s+(\\d{4}))?\\b`,
	"iu",
);
const DAY_MONTH = new RegExp(
	`\\b(\\d{1,2})(?:st|nd|rd|th)?\\.?(?:\\s+of)?\\s+${MONTH},?(?:\\s+(\\d{4}))?\\b`,
	"iu",
);
const YEAR_FIRST = /\b(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?![\d])/u;
const DOTTED = /\b(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})\b/u;
const SLASHED = /\b(\d{1,2})\/(\d{1,2})\/(\d{4}|\d{2})\b/u;
/** Not `3/10 requests`. */
const NO_YEAR = /\b(?:resets?|on|until|again|back)\s+(\d{1,2})\/(\d{1,2})(?![\d/])/iu;
const WEEKDAY =
	/\b((?:sun|mon|fri)(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs?(?:day)?)?|sat(?:urday)?)\b/iu;

const CLOCK =
	"(?:\\b|(?<=\\dT))(?:(\\d{1,2})(?::(\\d{2}))?(?::\\d{2})?\\s*([ap])\\.?m\\b|(\\d{1,2}):(\\d{2})\\b|(noon|midnight)\\b)";
/** The end of the name of a field: `reset_at`. */
const FIELD = "(?:[_-]?(?:at|on|time|date))?";
/** The distance between the word and a date without a time of day. */
const NEAR_LENGTH_MAX = 30;

/** `15:00 +0530`. */
const NUMERIC_ZONE = /:\d{2}(?:\.\d+)?\s?([+-]\d{2}):?(\d{2})?\b(?!:)/u;
const NAMED_ZONE = /\(([A-Za-z_]+(?:\/[A-Za-z0-9_+-]+)*)\)/u;
const BARE_ZONE = /\b([A-Z][A-Za-z]+(?:\/[A-Z][A-Za-z0-9_+-]+){1,2})(?![\w/])/u;
const OFFSET_ZONE = /(?<!\/)\b(?:UTC|GMT)\s*([+-]\d{1,2})(?::?(\d{2}))?/u;
const SHORT_ZONE =
	/(?:\d|[ap]\.?m\.?)\s*(?:in )?\(?(UTC|GMT|Z|EST|EDT|CST|CDT|MST|MDT|PST|PDT|PT|ET|CT|MT|AKST|AKDT|HST|WET|WEST|CET|CEST|EET|EEST|MSK|BST|IST|SGT|HKT|KST|JST|AEST|AEDT|NZST|NZDT)\b/iu;
const ZONE_WORDS = /\b(pacific|mountain|central|eastern)(?: standard| daylight)? time\b/iu;

/** Minutes ahead of UTC, or a zone for names that have a summer time. */
const SHORT_ZONES: Readonly<Record<string, number | string>> = {
	utc: 0,
	gmt: 0,
	z: 0,
	est: -300,
	edt: -240,
	cst: -360,
	cdt: -300,
	mst: -420,
	mdt: -360,
	pst: -480,
	pdt: -420,
	akst: -540,
	akdt: -480,
	hst: -600,
	wet: 0,
	west: 60,
	cet: 60,
	cest: 120,
	eet: 120,
	eest: 180,
	msk: 180,
	bst: 60,
	ist: 330,
	sgt: 480,
	hkt: 480,
	kst: 540,
	jst: 540,
	aest: 600,
	aedt: 660,
	nzst: 720,
	nzdt: 780,
	pt: "America/Los_Angeles",
	et: "America/New_York",
	ct: "America/Chicago",
	mt: "America/Denver",
	pacific: "America/Los_Angeles",
	eastern: "America/New_York",
	central: "America/Chicago",
	mountain: "America/Denver",
};

/** The local times of one text, as moments. */
interface Zone {
	/** The local time when the text was printed. */
	readonly localMs: number;
	readonly utcOf: (localMs: number) => number;
}

/**
 * The moment that the text names after one of these words (a regular expression); null if it names none, or a zone that is unknown.
 */
export function parsePrintedTime(
	text: string,
	printedAtMs: number,
	offsetOf: ZoneOffset,
	words: string,
): number | null {
	const timeMs = timeOfDay(text, words);
	const near = timeMs === null ? nearWord(text, words) : text;
	if (near === null) return null;
	const zone = zoneOf(near, printedAtMs, offsetOf);
	if (zone === null) return null;
	const date = dateIn(near, zone.localMs, timeMs ?? 0);
	if (date !== null) return zone.utcOf(date + (timeMs ?? 0));
	return timeMs === null ? null : nearestAfter(timeMs, zone, printedAtMs - JUST_PASSED_MS);
}

function timeOfDay(text: string, words: string): number | null {
	const found = new RegExp(`${words}${FIELD}\\b[^\\n]*?(?:\\n[^\\n]*?)?(?:${CLOCK})`, "iu").exec(
		text,
	);
	if (found === null) return null;
	const [, hour12, minute12, half, hour24, minute24, named] = found;
	if (named !== undefined) return named.toLowerCase() === "noon" ? DAY_MS / 2 : 0;
	const hours =
		hour12 === undefined
			? Number(hour24)
			: (Number(hour12) % 12) + (half?.toLowerCase() === "p" ? 12 : 0);
	const minutes = Number(minute12 ?? minute24 ?? 0);
	if (hours > 24 || minutes > 59 || Number(hour12 ?? 0) > 12) return null;
	return (hours * 60 + minutes) * MINUTE_MS;
}

/** The rest of the sentence after the word; a date without a time of day is only looked for there. */
function nearWord(text: string, words: string): string | null {
	const found = new RegExp(
		`${words}${FIELD}\\b((?:[^\\n.!?]|\\.(?=\\s?\\d)){1,${NEAR_LENGTH_MAX}})`,
		"iu",
	).exec(text);
	return found?.[1] ?? null;
}

/** The zone that the text names; without one, that of the CLI's own clock. Null if it names an unknown one. */
function zoneOf(text: string, printedAtMs: number, offsetOf: ZoneOffset): Zone | null {
	const fixed = fixedOffset(text);
	const name = fixed === null ? zoneName(text, printedAtMs, offsetOf) : null;
	const offsetAt = (atMs: number) => fixed ?? offsetOf(name, atMs);
	const nowMinutes = offsetAt(printedAtMs);
	if (nowMinutes === null) return null;
	// A clock change may lie between the two.
	const utcOf = (localMs: number) => {
		const guessMs = localMs - nowMinutes * MINUTE_MS;
		return localMs - (offsetAt(guessMs) ?? nowMinutes) * MINUTE_MS;
	};
	return { localMs: printedAtMs + nowMinutes * MINUTE_MS, utcOf };
}

function fixedOffset(text: string): number | null {
	const [, hours, minutes = "0"] = OFFSET_ZONE.exec(text) ?? NUMERIC_ZONE.exec(text) ?? [];
	if (hours !== undefined && Math.abs(Number(hours)) <= 14) {
		return Number(hours) * 60 + (hours.startsWith("-") ? -1 : 1) * Number(minutes);
	}
	const short = shortZone(text);
	return typeof short === "number" ? short : null;
}

function shortZone(text: string): number | string | undefined {
	const name = SHORT_ZONE.exec(text)?.[1] ?? ZONE_WORDS.exec(text)?.[1];
	return SHORT_ZONES[name?.toLowerCase() ?? ""];
}

function zoneName(text: string, atMs: number, offsetOf: ZoneOffset): string | null {
	const short = shortZone(text);
	if (typeof short === "string") return short;
	const isKnown = (name: string | undefined) => name !== undefined && offsetOf(name, atMs) !== null;
	const named = NAMED_ZONE.exec(text)?.[1];
	// `(Pro)` and `(weekly)` are no zones.
	if (named !== undefined && (named.includes("/") || isKnown(named))) return named;
	const bare = BARE_ZONE.exec(text)?.[1];
	return bare !== undefined && isKnown(bare) ? bare : null;
}

/** The first time with this time of day that is not before `fromMs`. */
function nearestAfter(timeOfDayMs: number, { localMs, utcOf }: Zone, fromMs: number): number {
	const today = Math.floor(localMs / DAY_MS) * DAY_MS;
	const [last, ...earlier] = [1, 0, -1].map((days) => utcOf(today + days * DAY_MS + timeOfDayMs));
	return earlier.toReversed().find((atMs) => atMs >= fromMs) ?? last ?? fromMs;
}

/** Midnight of the day that the text names, in local time; null if it names none. */
function dateIn(text: string, localMs: number, timeMs: number): number | null {
	return (
		numericDate(text, localMs, timeMs) ??
		namedDate(text, localMs, timeMs) ??
		relativeDay(text, localMs, timeMs)
	);
}

function numericDate(text: string, localMs: number, timeMs: number): number | null {
	const [, year, , month, day] = YEAR_FIRST.exec(text) ?? [];
	if (year !== undefined) return Date.UTC(Number(year), Number(month) - 1, Number(day));
	const [, dotDay, dotMonth, dotYear] = DOTTED.exec(text) ?? [];
	if (dotYear !== undefined) {
		return Date.UTC(Number(dotYear), Number(dotMonth) - 1, Number(dotDay));
	}
	const [, first, second, last] = SLASHED.exec(text) ?? [];
	if (first !== undefined && second !== undefined && last !== undefined) {
		const inYear = Number(last) + (last.length === 2 ? 2_000 : 0);
		return nearestAhead(bothOrders(first, second, inYear), localMs - timeMs);
	}
	const [, one, other] = NO_YEAR.exec(text) ?? [];
	if (one === undefined || other === undefined) return null;
	const thisYear = new Date(localMs).getUTCFullYear();
	const orders = [thisYear, thisYear + 1].flatMap((inYear) => bothOrders(one, other, inYear));
	return nearestAhead(orders, localMs - timeMs);
}

/** With slashes, some countries write the month first, and others the day. */
function bothOrders(first: string, second: string, year: number): readonly number[] {
	const orders = [[first, second] as const, [second, first] as const];
	return orders.flatMap(([month, day]) => {
		const isDate = Number(month) >= 1 && Number(month) <= 12 && Number(day) >= 1;
		return isDate && Number(day) <= 31 ? [Date.UTC(year, Number(month) - 1, Number(day))] : [];
	});
}

/** A limit lifts in the future, and rather soon. */
function nearestAhead(dates: readonly number[], fromMs: number): number | null {
	const ahead = dates.filter((date) => date >= fromMs - JUST_PASSED_MS);
	return ahead.length > 0 ? Math.min(...ahead) : (dates[0] ?? null);
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
function relativeDay(text: string, localMs: number, timeMs: number): number | null {
	const today = Math.floor(localMs / DAY_MS) * DAY_MS;
	if (/\btomorrow\b/i.test(text)) return today + DAY_MS;
	const name = WEEKDAY.exec(text)?.[1];
	if (name === undefined) return null;
	const weekday = DAYS.split("|").indexOf(name.slice(0, 3).toLowerCase());
	const ahead = (weekday - new Date(localMs).getUTCDay() + 7) % 7;
	const isPast = ahead === 0 && today + timeMs < localMs - JUST_PASSED_MS;
	return today + (isPast ? 7 : ahead) * DAY_MS;
}

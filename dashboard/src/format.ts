/** Numbers, times and foreign text as the page shows them. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** An age: `48 s`, `4 min`, `2 h 10 min`, `3 d 4 h`. */
export function renderAge(ms: number): string {
	const age = Math.max(0, ms);
	if (age < MINUTE) return `${Math.floor(age / SECOND)} s`;
	if (age < HOUR) return `${Math.floor(age / MINUTE)} min`;
	return age < DAY ? twoUnits(age, HOUR, "h", MINUTE, "min") : twoUnits(age, DAY, "d", HOUR, "h");
}

/** How long something took: `0.4 s`, `29.5 s`, `1 min 53 s`, `3 h 12 min`. */
export function renderTook(ms: number): string {
	const took = Math.max(0, ms);
	if (took < 10 * SECOND) return `${Math.round(took / 100) / 10} s`;
	if (took < MINUTE) return `${Math.round(took / SECOND)} s`;
	return took < HOUR ? twoUnits(took, MINUTE, "min", SECOND, "s") : renderAge(took);
}

/** The time that is left: `24 s`, `1 min 12 s`, `1 h 12 min`. */
export function renderLeft(ms: number): string {
	const left = Math.max(0, Math.ceil(ms / SECOND) * SECOND);
	if (left < MINUTE) return `${left / SECOND} s`;
	return left < HOUR ? twoUnits(left, MINUTE, "min", SECOND, "s") : renderAge(left);
}

function twoUnits(ms: number, large: number, L: string, small: number, s: string): string {
	const rest = Math.floor((ms % large) / small);
	return `${Math.floor(ms / large)} ${L}${rest === 0 ? "" : ` ${rest} ${s}`}`;
}

const two = (value: number) => String(value).padStart(2, "0");

/** `14:28`, or `14:28:07`. */
export function renderClock(ms: number, seconds = false): string {
	const at = new Date(ms);
	const clock = `${two(at.getHours())}:${two(at.getMinutes())}`;
	return seconds ? `${clock}:${two(at.getSeconds())}` : clock;
}

const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** A day: `Mon`. */
export function renderDay(ms: number): string {
	return DAYS[new Date(ms).getDay()] ?? "";
}

/** A time with its date, unless that is today: `14:28:07`, `Sun 17:06:20`, `2 Nov 17:06:20`. */
export function renderWhen(ms: number, nowMs: number, seconds = true): string {
	const clock = renderClock(ms, seconds);
	const at = new Date(ms);
	if (at.toDateString() === new Date(nowMs).toDateString()) return clock;
	if (Math.abs(nowMs - ms) < 6 * DAY) return `${renderDay(ms)} ${clock}`;
	return `${at.getDate()} ${MONTHS[at.getMonth()]} ${clock}`;
}

/** `$9.64`, `$12,345.67`. */
export function renderUsd(usd: number): string {
	const [whole = "0", cents = "00"] = usd.toFixed(2).split(".");
	return `$${group(whole)}.${cents}`;
}

function group(digits: string): string {
	return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `812`, `48 k`, `4.2 M`. */
export function renderCount(value: number): string {
	if (value < 1_000) return String(value);
	if (value < 100_000) return `${Math.round(value / 1_000)} k`;
	if (value < 100_000_000) return `${(value / 1_000_000).toFixed(1)} M`;
	return `${group(String(Math.round(value / 1_000_000)))} M`;
}

/** `21 MB`, `2.1 GB`. */
export function renderBytes(bytes: number): string {
	if (bytes < 1_000) return `${bytes} B`;
	if (bytes < 1_000_000) return `${Math.round(bytes / 1_000)} kB`;
	if (bytes < 1_000_000_000) return `${Math.round(bytes / 1_000_000)} MB`;
	const giga = bytes / 1_000_000_000;
	return `${giga < 100 ? giga.toFixed(1) : Math.round(giga)} GB`;
}

/** `1 agent`, `3 agents`. */
export function countOf(count: number, noun: string, plural = `${noun}s`): string {
	return `${count} ${count === 1 ? noun : plural}`;
}

/** A sentence starts with a capital, unless that is the name of an agent: `web:db is halted`. */
export function sentence(text: string): string {
	if (/^[^\s:]+:[^\s:]/.test(text)) return text;
	return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * Foreign text as text: control characters and marks that change the direction become visible symbols, so that they
 * neither hide nor reorder anything.
 */
export function visible(text: string): string {
	return text.replace(HIDDEN, (c) => {
		const code = c.charCodeAt(0);
		if (code < 0x20) return String.fromCharCode(0x2400 + code);
		return code === 0x7f ? "\u2421" : "\ufffd";
	});
}

const HIDDEN =
	// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to replace.
	/[\0-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** The same on one line. */
export function visibleLine(text: string): string {
	return visible(text.replace(/\s*\n\s*/g, " "));
}

/** The name of an agent inside its project. */
export function nameOf(id: string): string {
	return id.slice(id.indexOf(":") + 1);
}

/** `/home/ada/code/shop/reeve.yaml` → `~/code/shop`. */
export function folderOf(path: string): string {
	return path.replace(/\/[^/]*$/, "").replace(/^\/(home\/[^/]+|Users\/[^/]+|root)(?=\/|$)/, "~");
}

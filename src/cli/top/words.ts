/** Times, amounts and marks of `reeve top`, in the same format as on the web page. */

import type { StatusStyle, StatusTone } from "../../core/agent-status.js";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** An age in whole units, two at most: `48 s`, `4 min`, `3 h 4 min`, `2 d 1 h`. */
export function renderAge(ms: number): string {
	const age = Math.max(0, ms);
	if (age < MINUTE) return `${Math.floor(age / SECOND)} s`;
	if (age < HOUR) return `${Math.floor(age / MINUTE)} min`;
	return age < DAY ? pair(age, HOUR, "h", MINUTE, "min") : pair(age, DAY, "d", HOUR, "h");
}

/** A countdown: `24 s`, `1 min 12 s`, `1 h 12 min`. */
export function renderCountdown(ms: number): string {
	const left = Math.ceil(Math.max(0, ms) / SECOND) * SECOND;
	if (left < MINUTE) return `${left / SECOND} s`;
	if (left < HOUR) return pair(left, MINUTE, "min", SECOND, "s");
	return left < DAY ? pair(left, HOUR, "h", MINUTE, "min") : pair(left, DAY, "d", HOUR, "h");
}

function pair(ms: number, large: number, one: string, small: number, other: string): string {
	const rest = Math.floor((ms % large) / small);
	return `${Math.floor(ms / large)} ${one}${rest === 0 ? "" : ` ${rest} ${other}`}`;
}

/** `15:40`, with the date if it is another day. */
export function renderClock(ms: number, nowMs: number): string {
	const at = new Date(ms);
	const two = (value: number) => String(value).padStart(2, "0");
	const clock = `${two(at.getHours())}:${two(at.getMinutes())}`;
	const isToday = at.toDateString() === new Date(nowMs).toDateString();
	return isToday ? clock : `${two(at.getMonth() + 1)}-${two(at.getDate())} ${clock}`;
}

/** Reasons name times in UTC; people read the clock of this terminal. */
export function localTimes(text: string, nowMs: number): string {
	return text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (time) =>
		renderClock(Date.parse(time), nowMs),
	);
}

/** `688M`, `1.4G`. */
export function renderMemory(bytes: number): string {
	const mib = bytes / 2 ** 20;
	return mib < 1_000 ? `${Math.round(mib)}M` : `${(mib / 1_024).toFixed(1)}G`;
}

/** One column wide in most fonts; the plain ones are for terminals without UTF-8, and CJK locales. */
const MARKS: Readonly<Record<StatusStyle["shape"], readonly [mark: string, plain: string]>> = {
	diamond: ["◆", "?"],
	octagon_keyhole: ["✖", "X"],
	octagon_bar: ["✖", "X"],
	octagon_cross: ["✖", "X"],
	triangle: ["▲", "!"],
	disc_check: ["✔", "v"],
	disc: ["●", "*"],
	half: ["○", "o"],
	ring: ["○", "o"],
	dashed_ring: ["○", "o"],
	arrow: ["↻", "@"],
	clock: ["◔", "~"],
	dots: ["◔", "~"],
	moon: ["☾", "z"],
	square: ["□", "-"],
	square_check: ["□", "-"],
	ring_square: ["□", "-"],
};

/** How this terminal shows text. */
export interface Theme {
	readonly utf8: boolean;
	readonly colors: boolean;
	mark(shape: StatusStyle["shape"]): string;
	/** Text that this terminal can show. */
	text(text: string): string;
	/** The parameters of an SGR sequence; empty for the default. */
	tone(tone: StatusTone): string;
}

const TONES: Readonly<Record<StatusTone, string>> = {
	red: "31",
	amber: "33",
	green: "32",
	blue: "34",
	grey: "90",
};

const PLAIN: Readonly<Record<string, string>> = {
	"…": "...",
	"·": "-",
	"─": "-",
	"↻": "@",
	"–": "-",
};

export function createTheme(env: NodeJS.ProcessEnv): Theme {
	const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "";
	const utf8 = /utf-?8/i.test(locale);
	const marks = utf8 && !/^(zh|ja|ko)/i.test(locale);
	const colors = !env["NO_COLOR"] && env["TERM"] !== "dumb";
	return {
		utf8,
		colors,
		mark: (shape) => MARKS[shape][marks ? 0 : 1],
		text: (text) =>
			utf8 ? text : text.replace(/[^\x20-\x7e]/gu, (letter) => PLAIN[letter] ?? "?"),
		tone: (tone) => (colors ? TONES[tone] : ""),
	};
}

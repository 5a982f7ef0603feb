/**
 * Guesses the meaning of an invalid duration, size or share: `1.5s`, `5 min`, `2GB`, `cpu: 2`. Each
 * function returns the corrected text, or null.
 */

import { parseDuration, parseSize, renderDuration, renderSize } from "../core/units.js";

const DURATION_WORDS: Readonly<Record<string, string>> = {
	ms: "ms|msec|msecs|millis|millisecond|milliseconds",
	s: "s|sec|secs|second|seconds",
	m: "m|min|mins|minute|minutes",
	h: "h|hr|hrs|hour|hours",
	d: "d|day|days",
};
const SIZE_WORDS: Readonly<Record<string, string>> = {
	B: "b|byte|bytes",
	KiB: "k|kb|kib",
	MiB: "m|mb|mib",
	GiB: "g|gb|gib",
	TiB: "t|tb|tib",
};

/** Longer texts are not typos. */
const LENGTH_MAX = 40;
const PART = /\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*/iy;

/** `1.5s` → `1500ms`, `5 min` → `5m`, `1h30m` → `90m`, `30` → `30s`. */
export function guessDuration(text: string): string | null {
	const parts = partsOf(text, DURATION_WORDS, "s");
	const [only] = parts ?? [];
	if (parts === null || only === undefined) return null;
	const msOf = (unit: string) => parseDuration(`1${unit}`) ?? 0;
	if (parts.length === 1 && Number.isSafeInteger(only.amount * msOf(only.unit))) {
		if (Number.isInteger(only.amount)) return `${only.amount}${only.unit}`;
	}
	const totalMs = parts.reduce((sum, { amount, unit }) => sum + amount * msOf(unit), 0);
	return isExact(totalMs) ? renderDuration(totalMs) : null;
}

/** `2GB` → `2GiB`, `1.5GiB` → `1536MiB`, `512` → `512MiB`, a bare number of bytes → its size. */
export function guessSize(text: string): string | null {
	const bare = /^\d+$/.test(text);
	// A large number without a unit is in bytes, a small one in MiB.
	const unitOfBare = bare && Number(text) >= 2 ** 20 ? "B" : "MiB";
	const [only, ...more] = partsOf(text, SIZE_WORDS, unitOfBare) ?? [];
	if (only === undefined || more.length > 0) return null;
	const bytes = only.amount * (parseSize(`1${only.unit}`) ?? 0);
	if (!isExact(bytes)) return null;
	return Number.isInteger(only.amount) && !bare ? `${only.amount}${only.unit}` : renderSize(bytes);
}

/** `2` CPUs → `200%`, `0.5` → `50%`, `200` and `200 %` → `200%`. */
export function guessPercent(text: string): string | null {
	const [, digits, sign] = /^\s*(\d{1,6}(?:\.\d{1,6})?)\s*(%?)\s*$/.exec(text) ?? [];
	if (digits === undefined) return null;
	const number = Number(digits);
	// Small numbers are CPUs, not percent: a limit of a few percent is unlikely.
	const percent = Math.round(sign === "%" || number > 16 ? number : number * 100);
	return percent > 0 ? `${percent}%` : null;
}

/** `10%` and `10` → `0.1`. */
export function guessFraction(text: string): string | null {
	const [, digits] = /^\s*(\d{1,3}(?:\.\d{1,3})?)\s*%?\s*$/.exec(text) ?? [];
	if (digits === undefined) return null;
	const number = Number(digits);
	if (!text.includes("%") && number <= 1) return String(number);
	return number <= 100 ? String(Number((number / 100).toFixed(5))) : null;
}

/** `$5`, `5 USD` and `"5"` are 5. */
export function guessAmount(text: string): string | null {
	const [, digits] = /^\s*\$?\s*(\d{1,6}(?:\.\d{1,4})?)\s*(?:\$|usd)?\s*$/i.exec(text) ?? [];
	return digits !== undefined && Number(digits) > 0 ? digits : null;
}

interface Part {
	readonly amount: number;
	readonly unit: string;
}

function partsOf(
	text: string,
	words: Readonly<Record<string, string>>,
	unitOfBare: string,
): readonly Part[] | null {
	if (text.length > LENGTH_MAX) return null;
	const parts: Part[] = [];
	PART.lastIndex = 0;
	while (PART.lastIndex < text.length) {
		const [, amount, word] = PART.exec(text) ?? [];
		if (amount === undefined || word === undefined) return null;
		const known = Object.entries(words).find(([, each]) =>
			each.split("|").includes(word.toLowerCase()),
		);
		if (known === undefined && word !== "") return null;
		parts.push({ amount: Number(amount), unit: known?.[0] ?? unitOfBare });
	}
	return parts;
}

function isExact(value: number): boolean {
	return Number.isSafeInteger(value) && value > 0;
}

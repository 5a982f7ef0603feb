/**
 * Replaces the secret values of agents' environments in text that Reeve stores or sends (A5, A10). An agent may print
 * its API key in an error message; that message then reaches events, the database, the daemon's log and notifications.
 *
 * Only values that look like secrets are replaced: `production` or a path in an env file would make messages unreadable
 * and hide nothing. The name of the variable decides first, then the value.
 */

/** Shorter values are too often ordinary words. At the edge of a truncated text, this many characters count as the value. */
const LENGTH_MIN = 8;
/** Bounds memory (A6). More than any fleet has; beyond it the oldest are dropped. */
const VALUES_MAX = 20_000;
/** A response of an agent may be nested without limit. Parts below this depth are omitted. */
const DEPTH_MAX = 100;
const TOO_DEEP = "[omitted: nested too deeply]";
const SECRET_NAME =
	/(KEY|TOKEN|SECRET|PASSW(OR)?D|PASSPHRASE|CREDENTIAL|COOKIE|DSN)S?$|(^|_)(KEYS?|TOKENS?|SECRETS?|PASS|PASSWORD|PWD|AUTH|PAT|CREDENTIALS?|PRIVATE|WEBHOOK)(_|$)/i;
const PATH = /^(~|\.{1,2})?\/[^\s=+]*$/;
const FILE = /^(~|\.{0,2})\/\S*\.[a-z]{2,5}$/i;

export interface Redactor {
	/** Remembers a value if it looks like a secret. */
	addValue(name: string, value: string): void;
	/** The text with every known value replaced by the name of its variable. */
	redact(text: string): string;
}

/** The values with one start: the longest that matches is found by its length, not by comparing each. */
interface SameStart {
	readonly values: Set<string>;
	/** How many values have a length. */
	readonly lengths: Map<number, number>;
}

interface Match {
	readonly value: string;
	readonly length: number;
}

export function createRedactor(): Redactor {
	/** The name of the variable of each value, the oldest value first. */
	const names = new Map<string, string>();
	/**
	 * The values by their first and by their last characters: learning a value and scanning a text take the same time
	 * however many values are known and however many of them begin alike, as the keys of one provider do.
	 */
	const byStart = new Map<string, SameStart>();
	const byEnd = new Map<string, Set<string>>();
	let longest = 0;

	function add(name: string, value: string): void {
		if (value.length < LENGTH_MIN || names.has(value)) return;
		names.set(value, name);
		longest = Math.max(longest, value.length);
		const same = byStart.get(startOf(value)) ?? { values: new Set(), lengths: new Map() };
		same.values.add(value);
		same.lengths.set(value.length, (same.lengths.get(value.length) ?? 0) + 1);
		byStart.set(startOf(value), same);
		byEnd.set(endOf(value), (byEnd.get(endOf(value)) ?? new Set()).add(value));
		const [oldest] = names.keys();
		if (names.size > VALUES_MAX && oldest !== undefined) forget(oldest);
	}

	function forget(value: string): void {
		names.delete(value);
		const same = byStart.get(startOf(value));
		const left = (same?.lengths.get(value.length) ?? 0) - 1;
		same?.values.delete(value);
		if (left > 0) same?.lengths.set(value.length, left);
		else same?.lengths.delete(value.length);
		if (same?.values.size === 0) byStart.delete(startOf(value));
		const ending = byEnd.get(endOf(value));
		ending?.delete(value);
		if (ending?.size === 0) byEnd.delete(endOf(value));
	}

	/** The longest known value at this position; at the end of the text, a truncated one counts. */
	function matchAt(text: string, textEnd: number, at: number): Match | null {
		const same = byStart.get(text.slice(at, at + LENGTH_MIN));
		if (same === undefined) return null;
		let length = 0;
		for (const each of same.lengths.keys()) {
			if (each <= length || at + each > text.length) continue;
			if (names.has(text.slice(at, at + each))) length = each;
		}
		if (length > 0) return { value: text.slice(at, at + length), length };
		const rest = textEnd - at;
		if (rest < LENGTH_MIN || rest >= longest) return null;
		for (const value of same.values) {
			if (value.startsWith(text.slice(at, textEnd))) return { value, length: rest };
		}
		return null;
	}

	/** The longest end of a value at the start of a text whose beginning was truncated. */
	function cutStart(text: string): Match | null {
		const from = /^(…|\.\.\.)/.exec(text)?.[0].length ?? 0;
		for (let end = Math.min(text.length, from + longest); end >= from + LENGTH_MIN; end--) {
			for (const value of byEnd.get(text.slice(end - LENGTH_MIN, end)) ?? []) {
				if (value.endsWith(text.slice(from, end))) return { value, length: end };
			}
		}
		return null;
	}

	function redact(text: string): string {
		if (names.size === 0 || text.length < LENGTH_MIN) return text;
		const textEnd = text.replace(/(…|\.\.\.)$/, "").length;
		let result = "";
		let done = 0;
		const replace = (at: number, { value, length }: Match) => {
			result += `${text.slice(done, at)}[redacted ${names.get(value)}]`;
			done = at + length;
		};
		const first = cutStart(text);
		if (first !== null) replace(0, first);
		for (let at = done; at + LENGTH_MIN <= text.length; at++) {
			const found = matchAt(text, textEnd, at);
			if (found === null) continue;
			replace(at, found);
			at = done - 1;
		}
		return done === 0 ? text : result + text.slice(done);
	}

	return {
		addValue(name, value) {
			for (const secret of secretsIn(name, value)) {
				add(name, secret);
				add(name, encodeURIComponent(secret.replaceAll(/\p{Cs}/gu, "\ufffd")));
				// As it appears in JSON within a text.
				add(name, JSON.stringify(secret).slice(1, -1));
			}
		},
		redact,
	};
}

const startOf = (value: string): string => value.slice(0, LENGTH_MIN);
const endOf = (value: string): string => value.slice(-LENGTH_MIN);

/** Redacts every string in a value. Keys and other values are unchanged, up to the maximum depth. */
export function redactDeep<T>(value: T, redact: Redactor["redact"], depthMax = DEPTH_MAX): T {
	if (typeof value === "string") return redact(value) as T;
	if (typeof value !== "object" || value === null) return value;
	if (depthMax === 0) return TOO_DEEP as T;
	const inner = (each: unknown) => redactDeep(each, redact, depthMax - 1);
	// Most values hold no secret, and then need no copy: this runs for everything that is stored.
	if (Array.isArray(value)) {
		const items = value.map(inner);
		return items.every((item, index) => item === value[index]) ? value : (items as T);
	}
	const changed: [string, unknown][] = [];
	for (const [key, each] of Object.entries(value)) {
		const redacted = inner(each);
		if (redacted !== each) changed.push([key, redacted]);
	}
	return changed.length === 0 ? value : ({ ...value, ...Object.fromEntries(changed) } as T);
}

/** The parts of a value that must not be shown: all of it, its lines, the password of a URL. */
export function secretsIn(name: string, value: string): readonly string[] {
	const trimmed = value.trim().replace(/^(["'])(.*)\1$/s, "$2");
	if (trimmed.includes("\n")) {
		const lines = trimmed.split("\n").map((line) => line.trim());
		return lines.filter((line) => line.length >= 16 && !line.startsWith("-----"));
	}
	const password = /^[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:([^/\s@]+)@/i.exec(trimmed)?.[1];
	if (password !== undefined) return [trimmed, password];
	if (SECRET_NAME.test(name) ? FILE.test(trimmed) : isOrdinary(trimmed)) return [];
	return [trimmed];
}

/** Paths, words, numbers, host names and combinations of them: nothing that looks random. */
function isOrdinary(value: string): boolean {
	if (PATH.test(value)) return true;
	return value.split(/[^A-Za-z0-9]+/).every((piece) => {
		if (piece.length <= 2 || /^\d{1,9}$/.test(piece)) return true;
		return piece.length <= 20 && /^([A-Z]+|[a-z]*([A-Z][a-z]+)*)$/.test(piece);
	});
}

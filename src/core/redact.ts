/**
 * Replaces the secret values of agents' environments in text that Reeve stores or sends (A5, A10). An
 * agent may print its API key in an error message; that message then reaches events, the database, the
 * daemon's log and notifications.
 *
 * Only values that look like secrets are replaced: `production` or a path in an env file would make
 * messages unreadable and hide nothing. The name of the variable decides first, then the value.
 */

/** Shorter values are too often ordinary words. */
const LENGTH_MIN = 8;
/** At the edge of a truncated text, this many characters of a value count as the value. */
const CUT_LENGTH_MIN = 8;
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

export function createRedactor(): Redactor {
	/**
	 * The values by their first four characters, so that a text is scanned once regardless of their
	 * number.
	 */
	const byStart = new Map<string, string[]>();
	const names = new Map<string, string>();

	function add(name: string, value: string): void {
		if (value.length < LENGTH_MIN || names.has(value)) return;
		names.set(value, name);
		const start = value.slice(0, 4);
		byStart.set(
			start,
			[...(byStart.get(start) ?? []), value].sort((a, b) => b.length - a.length),
		);
		const [oldest] = names.keys();
		if (names.size > VALUES_MAX && oldest !== undefined) forget(oldest);
	}

	function forget(value: string): void {
		names.delete(value);
		const start = value.slice(0, 4);
		const rest = (byStart.get(start) ?? []).filter((each) => each !== value);
		if (rest.length === 0) byStart.delete(start);
		else byStart.set(start, rest);
	}

	/** The longest known value at this position; at the end of the text, a truncated one counts. */
	function matchAt(text: string, at: number): { value: string; length: number } | null {
		const values = byStart.get(text.slice(at, at + 4));
		if (values === undefined) return null;
		for (const value of values) {
			if (text.startsWith(value, at)) return { value, length: value.length };
		}
		const rest = text.slice(at).replace(/(…|\.\.\.)$/, "");
		if (rest.length < CUT_LENGTH_MIN) return null;
		const cut = values.find((value) => value.startsWith(rest));
		return cut === undefined ? null : { value: cut, length: rest.length };
	}

	/** The end of a value at the start of a text whose beginning was truncated. */
	function cutStart(text: string): { value: string; length: number } | null {
		const from = /^(…|\.\.\.)/.exec(text)?.[0].length ?? 0;
		const probe = text.slice(from, from + CUT_LENGTH_MIN);
		if (probe.length < CUT_LENGTH_MIN) return null;
		for (const value of names.keys()) {
			const at = value.indexOf(probe, 1);
			if (at === -1) continue;
			const rest = value.slice(at);
			if (text.startsWith(rest, from)) return { value, length: from + rest.length };
		}
		return null;
	}

	function redact(text: string): string {
		if (names.size === 0 || text.length < CUT_LENGTH_MIN) return text;
		let result = "";
		let done = 0;
		const replace = (at: number, { value, length }: { value: string; length: number }) => {
			result += `${text.slice(done, at)}[redacted ${names.get(value)}]`;
			done = at + length;
		};
		const first = cutStart(text);
		if (first !== null) replace(0, first);
		for (let at = done; at + 4 <= text.length; at++) {
			const found = matchAt(text, at);
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

/** Redacts every string in a value. Keys and other values are unchanged, up to the maximum depth. */
export function redactDeep<T>(value: T, redact: Redactor["redact"], depthMax = DEPTH_MAX): T {
	if (typeof value === "string") return redact(value) as T;
	if (typeof value !== "object" || value === null) return value;
	if (depthMax === 0) return TOO_DEEP as T;
	const inner = (each: unknown) => redactDeep(each, redact, depthMax - 1);
	if (Array.isArray(value)) return value.map(inner) as T;
	return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, inner(each)])) as T;
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

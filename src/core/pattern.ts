/**
 * Patterns from fleet files and adapters, matched against text that agents control. They are compiled
 * with RE2, whose time grows linearly with the text: with a backtracking engine, a single screen could
 * block the daemon forever. RE2 has no lookarounds and no backreferences.
 */

// biome-ignore lint/style/noRestrictedImports: pure, and the one engine that is safe for such patterns
import { RE2JS } from "re2js";
import { messageOf } from "./message-of.js";

export interface Pattern {
	test(text: string): boolean;
	/** The match of the first group; null without a match. */
	capture(text: string): string | null;
	/** Where each match ends. */
	ends(text: string): readonly number[];
}

export interface PatternOptions {
	readonly ignoreCase?: boolean;
	/** `^` and `$` match at newlines. */
	readonly multiline?: boolean;
}

/** More text than any screen contains; the end is the newest part (A6). */
const TEXT_LENGTH_MAX = 262_144;
const COMPILED_MAX = 1_000;
const SOURCE_LENGTH_MAX = 2_000;
/**
 * The time also grows with the size of the compiled pattern, which repeats like `[ab]{999}` multiply: one line of a log
 * could block the daemon for a minute.
 */
const PROGRAM_SIZE_MAX = 1_000;

const compiled = new Map<string, Pattern>();

/** The compiled pattern; throws an error that quotes an invalid one. */
export function compilePattern(source: string, options: PatternOptions = {}): Pattern {
	const { ignoreCase = false, multiline = false } = options;
	const key = `${ignoreCase ? "i" : ""}${multiline ? "m" : ""}/${source}`;
	const known = compiled.get(key);
	if (known !== undefined) return known;
	const flags = (ignoreCase ? RE2JS.CASE_INSENSITIVE : 0) | (multiline ? RE2JS.MULTILINE : 0);
	const pattern = createPattern(parse(source, flags));
	if (compiled.size >= COMPILED_MAX) compiled.clear();
	compiled.set(key, pattern);
	return pattern;
}

/** Why a text is not a valid pattern; null if it is. */
export function patternProblem(source: string): string | null {
	if (/\(\?<?[=!]/.test(source)) return "lookaheads and lookbehinds are not supported";
	if (/\\[1-9]|\\k</.test(source)) return "backreferences are not supported";
	if (source.length > SOURCE_LENGTH_MAX) return `longer than ${SOURCE_LENGTH_MAX} characters`;
	try {
		const size = RE2JS.compile(translate(source)).programSize();
		return size > PROGRAM_SIZE_MAX ? "too large: its repeats multiply to too many steps" : null;
	} catch (error) {
		const message = messageOf(error);
		return message.replace(/^.*?regexp: /, "");
	}
}

function parse(source: string, flags: number): RE2JS {
	try {
		return RE2JS.compile(translate(source), flags);
	} catch {
		// Fleet files are validated, but a daemon of another version may have accepted other patterns.
		const why = patternProblem(source) ?? "it cannot be compiled";
		throw new Error(`the pattern ${JSON.stringify(source)} cannot be used: ${why}`);
	}
}

function createPattern(regexp: RE2JS): Pattern {
	const bounded = (text: string) => text.slice(-TEXT_LENGTH_MAX);
	return {
		test: (text) => regexp.matcher(bounded(text)).find(),
		capture(text) {
			const matcher = regexp.matcher(bounded(text));
			return matcher.find() ? matcher.group(1) : null;
		},
		ends(text) {
			const within = bounded(text);
			const matcher = regexp.matcher(within);
			const ends: number[] = [];
			while (matcher.find()) ends.push(text.length - within.length + matcher.end());
			return ends;
		},
	};
}

/** Characters that JavaScript counts as whitespace and RE2 does not; CLIs print U+00A0 after their prompts. */
const OTHER_SPACES = "\\x{a0}\\x{feff}\\p{Z}\\v";

/** Translates JavaScript syntax to RE2 syntax. */
function translate(source: string): string {
	let isClass = false;
	return RE2JS.translateRegExp(source).replaceAll(/\\.|\[|\]/gsu, (token) => {
		if (token === "[") isClass = true;
		if (token === "]") isClass = false;
		if (token === "\\s") return isClass ? `\\s${OTHER_SPACES}` : `[\\s${OTHER_SPACES}]`;
		return token === "\\S" && !isClass ? `[^\\s${OTHER_SPACES}]` : token;
	});
}

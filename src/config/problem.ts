/**
 * A problem in a file, with its position. It is written for the author of the file: what is wrong, what
 * was expected, and what to write instead.
 *
 * Keeps A5: quoted text is escaped and shortened, and a key is never shown beyond a `=`, since
 * `TOKEN=secret` is a common mistake.
 */

import type { Path } from "./outline.js";

/** A position in the text; both numbers count from 1. */
export interface Position {
	readonly line: number;
	readonly column: number;
}

export interface Problem extends Position {
	readonly file: string;
	/** The key, such as `projects.web.agents.coder.command[0]`; empty for the whole file. */
	readonly path: string;
	readonly message: string;
	readonly expected: string | null;
	readonly hint: string | null;
}

/** A problem without its file. */
export type Finding = Omit<Problem, "file">;

/** The text of a problem, without its location. */
export interface Explanation {
	readonly message: string;
	readonly expected?: string | null;
	readonly hint?: string | null;
}

/** More problems than this are not listed (A6). */
export const PROBLEMS_MAX = 500;
const QUOTED_LENGTH_MAX = 64;

const START: Position = { line: 1, column: 1 };

export function finding(at: Position | null, path: Path, reported: Explanation): Finding {
	const { line, column } = at ?? START;
	const { message, expected = null, hint = null } = reported;
	return { line, column, path: renderPath(path), message, expected, hint };
}

/** Sorted by position and without duplicates: an anchor or `defaults` may cause the same problem for many agents. */
export function problemsOf(file: string, findings: readonly Finding[]): readonly Problem[] {
	const sorted = findings.toSorted((a, b) => a.line - b.line || a.column - b.column);
	const seen = new Set<string>();
	const unique = sorted.filter((each) => {
		const mistake = `${each.line}:${each.column}:${each.message}`;
		if (seen.has(mistake)) return false;
		seen.add(mistake);
		return true;
	});
	const listed = unique.slice(0, PROBLEMS_MAX);
	const next = unique[PROBLEMS_MAX];
	if (next !== undefined) {
		const message = `${unique.length - PROBLEMS_MAX} or more problems are not shown`;
		listed.push({ ...next, path: "", message, expected: null, hint: "fix these first" });
	}
	return listed.map((each) => ({ file, ...each }));
}

/** `file:line:column: path: message`, then the expected value and a hint, if any. */
export function renderProblem(problem: Problem): string {
	const place = `${escapeText(problem.file)}:${problem.line}:${problem.column}`;
	const about = problem.path === "" ? [place] : [place, problem.path];
	const lines = [[...about, problem.message].join(": ")];
	if (problem.expected !== null) lines.push(`  expected ${problem.expected}`);
	if (problem.hint !== null) lines.push(`  hint: ${problem.hint}`);
	return lines.join("\n");
}

/** The same in one line, for logs and lists. */
export function renderProblemLine(problem: Problem): string {
	return renderProblem(problem).replaceAll(/\n\s*/g, "; ");
}

/** `projects.web.agents.coder.command[0]`; a key with unusual characters is quoted. */
export function renderPath(path: Path): string {
	let rendered = "";
	for (const step of path) {
		if (typeof step === "number") rendered += `[${step}]`;
		else if (/^[\w-]{1,64}$/.test(step)) rendered += rendered === "" ? step : `.${step}`;
		else rendered += `["${showText(step.replace(/=.*$/s, "=…"))}"]`;
	}
	return rendered;
}

/** Text from the file, made safe to show in a message. */
export function quote(text: string): string {
	return `\`${showText(text)}\``;
}

/** `a`, `b` or `c`, each quoted. */
export function quoteList(words: readonly string[], joiner: "and" | "or"): string {
	const quoted = words.map(quote);
	const last = quoted.pop() ?? "";
	return quoted.length === 0 ? last : `${quoted.join(", ")} ${joiner} ${last}`;
}

/** Without quotes: control characters escaped, shortened. */
export function showText(text: string): string {
	const short = text.length <= QUOTED_LENGTH_MAX ? text : `${text.slice(0, QUOTED_LENGTH_MAX)}…`;
	return escapeText(short);
}

/** Unescaped control characters, or those that reorder text, would let a file manipulate the reader's terminal. */
export function escapeText(text: string): string {
	return text.replace(
		/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
		(char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
	);
}

/**
 * What is wrong with a file, and where. A problem is for the person who wrote the file: it names the
 * place, says what was expected, and hints at what to write instead.
 *
 * Keeps A5: what is quoted is escaped and cut short, and a key is never shown beyond a `=`, since
 * `TOKEN=secret` is a common slip.
 */

import type { Path } from "./outline.js";

/** A place in the text; both numbers count from 1. */
export interface Position {
	readonly line: number;
	readonly column: number;
}

export interface Problem extends Position {
	readonly file: string;
	/** Which key it is about, such as `projects.web.agents.coder.command[0]`; empty for the file. */
	readonly path: string;
	readonly message: string;
	readonly expected: string | null;
	readonly hint: string | null;
}

/** A problem before it is known which file it is in. */
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

export function finding(at: Position | null, path: Path, said: Explanation): Finding {
	const { line, column } = at ?? START;
	const { message, expected = null, hint = null } = said;
	return { line, column, path: renderPath(path), message, expected, hint };
}

/** Sorted by position, one mistake once: an anchor or `defaults` may bring it up for many agents. */
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

/** `file:line:column: path: message`, then what was expected and a hint, where there are any. */
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

/** Without the quotes: control characters escaped, cut short. */
export function showText(text: string): string {
	const short = text.length <= QUOTED_LENGTH_MAX ? text : `${text.slice(0, QUOTED_LENGTH_MAX)}…`;
	return escapeText(short);
}

/** Control characters and those that reorder text would let a file write on the reader's terminal. */
export function escapeText(text: string): string {
	return text.replace(
		/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
		(char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
	);
}

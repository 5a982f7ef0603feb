/**
 * The rules of a `.gitignore` file. Matching takes time proportional to the lengths of pattern and name: a repository
 * may be someone else's, and a regular expression made from its patterns could take forever.
 */

/** One character of a file name, as a pattern describes it. */
type Token =
	| { readonly type: "literal"; readonly char: string }
	| { readonly type: "any" }
	| { readonly type: "star" }
	| { readonly type: "class"; readonly negated: boolean; readonly ranges: readonly Range[] };

type Range = readonly [from: string, to: string];

/** One part of a pattern between slashes; `**` stands for any number of folders. */
type Part = readonly Token[] | "**";

export interface IgnoreRule {
	/** It takes back an earlier rule (`!`). */
	readonly negated: boolean;
	readonly foldersOnly: boolean;
	/** It describes the path from the folder of the file, and not a name in any folder below it. */
	readonly anchored: boolean;
	readonly parts: readonly Part[];
}

/** Longer lines are skipped: no path is that long. */
const LINE_LENGTH_MAX = 4_096;
const RULES_MAX = 10_000;

export function parseGitignore(text: string): readonly IgnoreRule[] {
	const rules: IgnoreRule[] = [];
	for (const line of text.replace(/^\uFEFF/, "").split("\n")) {
		const rule = line.length > LINE_LENGTH_MAX ? null : parseRule(line.replace(/\r$/, ""));
		if (rule !== null && rules.length < RULES_MAX) rules.push(rule);
	}
	return rules;
}

/**
 * The decision of the rules of one file about a path relative to its folder; null if no rule matches. The last rule
 * that matches counts. The folders above the path are not considered.
 */
export function decideIgnored(
	rules: readonly IgnoreRule[],
	path: string,
	isFolder: boolean,
): boolean | null {
	const names = path.split("/");
	const rule = rules.findLast((each) => isMatch(each, names, isFolder));
	return rule === undefined ? null : !rule.negated;
}

function parseRule(line: string): IgnoreRule | null {
	if (line.startsWith("#")) return null;
	const negated = line.startsWith("!");
	let pattern = withoutTrailingSpaces(negated ? line.slice(1) : line);
	const foldersOnly = pattern.endsWith("/");
	if (foldersOnly) pattern = pattern.slice(0, -1);
	const anchored = pattern.includes("/");
	if (pattern.startsWith("/")) pattern = pattern.slice(1);
	if (pattern === "") return null;
	const parts: Part[] = [];
	for (const text of anchored ? pattern.split("/") : [pattern]) {
		// Git's `**` is only special as a whole part.
		const part = anchored && text === "**" ? "**" : parsePart(text);
		if (part === null) return null;
		parts.push(part);
	}
	return { negated, foldersOnly, anchored, parts };
}

/** A space that ends the line counts only after a backslash. */
function withoutTrailingSpaces(line: string): string {
	let end = line.length;
	while (end > 0 && line[end - 1] === " ") {
		let slashes = 0;
		while (line[end - 2 - slashes] === "\\") slashes += 1;
		if (slashes % 2 === 1) break;
		end -= 1;
	}
	return line.slice(0, end);
}

/** Null for a pattern that matches nothing, such as one with an open bracket. */
function parsePart(text: string): readonly Token[] | null {
	const tokens: Token[] = [];
	for (let at = 0; at < text.length; at++) {
		const char = text[at] as string;
		if (char === "*") {
			if (tokens.at(-1)?.type !== "star") tokens.push({ type: "star" });
		} else if (char === "?") tokens.push({ type: "any" });
		else if (char === "[") {
			const found = parseClass(text, at + 1);
			if (found === null) return null;
			tokens.push(found.token);
			at = found.end;
		} else if (char === "\\") {
			at += 1;
			if (at === text.length) return null;
			tokens.push({ type: "literal", char: text[at] as string });
		} else tokens.push({ type: "literal", char });
	}
	return tokens;
}

const NAMED_CLASSES: Readonly<Record<string, readonly Range[]>> = {
	alpha: [
		["a", "z"],
		["A", "Z"],
	],
	digit: [["0", "9"]],
	alnum: [
		["a", "z"],
		["A", "Z"],
		["0", "9"],
	],
	lower: [["a", "z"]],
	upper: [["A", "Z"]],
	space: [
		[" ", " "],
		["\t", "\r"],
	],
	xdigit: [
		["0", "9"],
		["a", "f"],
		["A", "F"],
	],
	punct: [
		["!", "/"],
		[":", "@"],
		["[", "`"],
		["{", "~"],
	],
};

/** The class whose bracket was opened right before `from`, and where it is closed. */
function parseClass(text: string, from: number): { token: Token; end: number } | null {
	let at = from;
	const negated = text[at] === "!" || text[at] === "^";
	if (negated) at += 1;
	const first = at;
	const ranges: Range[] = [];
	for (; at < text.length; at++) {
		if (text[at] === "]" && at > first)
			return { token: { type: "class", negated, ranges }, end: at };
		const named = /^\[:([a-z]+):\]/.exec(text.slice(at, at + 12));
		if (named !== null) {
			ranges.push(...(NAMED_CLASSES[named[1] as string] ?? []));
			at += named[0].length - 1;
			continue;
		}
		if (text[at] === "\\") at += 1;
		const low = text[at];
		if (low === undefined) return null;
		if (text[at + 1] !== "-" || text[at + 2] === undefined || text[at + 2] === "]") {
			ranges.push([low, low]);
			continue;
		}
		at += text[at + 2] === "\\" ? 3 : 2;
		const high = text[at];
		if (high === undefined) return null;
		ranges.push([low, high]);
	}
	return null;
}

function isMatch(rule: IgnoreRule, names: readonly string[], isFolder: boolean): boolean {
	if (rule.foldersOnly && !isFolder) return false;
	if (rule.anchored) return matchesParts(rule.parts, names);
	const [part] = rule.parts;
	return part !== undefined && matchesPart(part, names.at(-1) ?? "");
}

/** A trailing `**` stands for at least one name; every other one for any number, also none. */
function matchesParts(parts: readonly Part[], names: readonly string[]): boolean {
	// The positions in `names` that the parts so far can lead to.
	let reached: ReadonlySet<number> = new Set([0]);
	for (const [index, part] of parts.entries()) {
		const next = new Set<number>();
		if (part === "**") {
			const least = Math.min(...reached) + (index === parts.length - 1 ? 1 : 0);
			for (let at = least; at <= names.length; at++) next.add(at);
		} else {
			for (const at of reached) {
				const name = names[at];
				if (name !== undefined && matchesPart(part, name)) next.add(at + 1);
			}
		}
		if (next.size === 0) return false;
		reached = next;
	}
	return reached.has(names.length);
}

function matchesPart(part: Part, name: string): boolean {
	if (part === "**") return true;
	let at = 0;
	let token = 0;
	let star = -1;
	let starAt = 0;
	while (at < name.length) {
		const wanted = part[token];
		if (wanted?.type === "star") {
			star = token;
			starAt = at;
			token += 1;
		} else if (wanted !== undefined && matchesChar(wanted, name[at] as string)) {
			token += 1;
			at += 1;
		} else if (star >= 0) {
			// The last star takes one more character; an earlier one never has to.
			starAt += 1;
			at = starAt;
			token = star + 1;
		} else return false;
	}
	while (part[token]?.type === "star") token += 1;
	return token === part.length;
}

function matchesChar(token: Token, char: string): boolean {
	if (token.type === "literal") return token.char === char;
	if (token.type !== "class") return true;
	return token.ranges.some(([from, to]) => from <= char && char <= to) !== token.negated;
}

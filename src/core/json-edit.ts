/**
 * Adds values to the text of a JSON file that belongs to the user. Only the new text is inserted:
 * order, layout, comments, number formats and existing values are preserved.
 */

export type JsonAddition =
	/** Sets the value at this path, unless it exists. A value that equals `instead` counts as missing. */
	| {
			readonly path: readonly string[];
			readonly value: unknown;
			readonly instead?: string | number | boolean | null;
	  }
	/** Appends to the list at this path, unless the list contains it; creates a missing list. */
	| { readonly path: readonly string[]; readonly add: unknown };

/**
 * The new text; null if nothing is missing. An addition whose path leads through another kind of value
 * is skipped. Throws if the text cannot be parsed, without quoting it, because settings contain
 * secrets.
 */
export function addToJson(text: string | null, additions: readonly JsonAddition[]): string | null {
	const before = text ?? "{}\n";
	let now = before;
	for (const addition of additions) now = insert(now, parse(now), addition);
	return text !== null && now === before ? null : now;
}

/** Whether there is a value at this path. Throws if the text cannot be parsed. */
export function hasInJson(text: string, path: readonly string[]): boolean {
	let at = parse(text);
	for (const key of path) {
		if (!isMap(at) || !Object.hasOwn(at, key)) return false;
		at = at[key];
	}
	return true;
}

function parse(text: string): unknown {
	if (text.trim() === "") throw new Error("it is empty");
	let value: unknown;
	try {
		value = JSON.parse(withoutComments(text));
	} catch {
		throw new Error("it is not valid JSON");
	}
	if (!isMap(value)) throw new Error("it does not contain a JSON object");
	return value;
}

type JsonMap = Record<string, unknown>;

const isMap = (value: unknown): value is JsonMap =>
	typeof value === "object" && value !== null && !Array.isArray(value);

const STRING_OR_COMMENT = /"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;

/** Replaces comments and a byte order mark with spaces, so that all positions stay the same. */
function withoutComments(text: string): string {
	return text
		.replace(/^\uFEFF/, " ")
		.replace(STRING_OR_COMMENT, (token) =>
			token.startsWith('"') ? token : token.replaceAll(/[^\n]/g, " "),
		);
}

function insert(text: string, root: unknown, addition: JsonAddition): string {
	const { path } = addition;
	let at = root;
	let depth = 0;
	for (const key of path) {
		if (!isMap(at)) return text;
		if (!Object.hasOwn(at, key)) break;
		at = at[key];
		depth++;
	}
	const isThere = depth === path.length;
	if (isThere && "instead" in addition && at === addition.instead) {
		const { start, end } = findNode(withoutComments(text), path);
		return text.slice(0, start) + JSON.stringify(addition.value) + text.slice(end);
	}
	if (isThere && !("add" in addition && Array.isArray(at) && !holds(at, addition.add))) return text;
	const rest = path.slice(depth);
	const node = findNode(withoutComments(text), path.slice(0, depth));
	const value = "add" in addition ? [addition.add] : addition.value;
	const member = isThere ? { value: (value as unknown[])[0] } : nest(rest, value);
	return insertInto(text, node, member);
}

const holds = (list: readonly unknown[], value: unknown) =>
	list.some((each) => JSON.stringify(each) === JSON.stringify(value));

interface Member {
	/** Omitted in a list. */
	readonly key?: string;
	readonly value: unknown;
}

/** The first missing key, with everything below it. */
function nest([key = "", ...rest]: readonly string[], value: unknown): Member {
	const inner = rest.reduceRight<unknown>((below, each) => ({ [each]: below }), value);
	return { key, value: inner };
}

/** A value in the text: a map or a list from its opening to its closing bracket, or any other value. */
interface Node {
	readonly start: number;
	readonly end: number;
	/** The position after its last member; null if it is empty. */
	readonly lastEnd: number | null;
	readonly depth: number;
}

function insertInto(text: string, { start, end, lastEnd, depth }: Node, member: Member): string {
	const unit = /\{[^\S\n]*\r?\n([ \t]+)"/.exec(text)?.[1] ?? (text.includes("\n  ") ? "  " : null);
	const isNew = text.trim() === "{}";
	const step = unit ?? (isNew ? "  " : null);
	const newline = text.includes("\r\n") ? "\r\n" : "\n";
	// A short list on one line stays on one line.
	const isFlat = step === null || (lastEnd !== null && !text.slice(start, end).includes("\n"));
	const indent = isFlat ? "" : newline + step.repeat(depth + 1);
	const key =
		member.key === undefined ? "" : `${JSON.stringify(member.key)}:${step === null ? "" : " "}`;
	const written = JSON.stringify(member.value, null, isFlat ? undefined : step) ?? "null";
	const entry = key + (isFlat ? written : written.replaceAll("\n", indent));
	if (lastEnd !== null) {
		const space = isFlat && step !== null ? " " : "";
		return `${text.slice(0, lastEnd)},${indent || space}${entry}${text.slice(lastEnd)}`;
	}
	const outer = isFlat ? "" : newline + step.repeat(depth);
	return `${text.slice(0, start + 1)}${indent}${entry}${outer}${text.slice(start + 1).trimStart()}`;
}

const STRING = /"(?:[^"\\]|\\.)*"/y;
const SCALAR = /[^\s,\]}]+/y;
const BLANK = /\s*/y;

/** The value at this path, in a valid text that contains it. */
function findNode(text: string, path: readonly string[]): Node {
	let position = 0;
	let found: Node | null = null;
	const skip = (pattern: RegExp) => {
		pattern.lastIndex = position;
		const [token = ""] = pattern.exec(text) ?? [];
		position += token.length;
		return token;
	};
	/** `wanted` is the rest of the path; null off the path. */
	const read = (wanted: readonly string[] | null, depth: number): void => {
		skip(BLANK);
		const opening = text[position];
		const start = position;
		if (opening !== "{" && opening !== "[") {
			skip(opening === '"' ? STRING : SCALAR);
			if (wanted?.length === 0) found = { start, end: position, lastEnd: null, depth };
			return;
		}
		position++;
		let lastEnd: number | null = null;
		for (skip(BLANK); !"}]".includes(text[position] ?? "}"); skip(BLANK)) {
			if (text[position] === ",") {
				position++;
				continue;
			}
			let below: readonly string[] | null = null;
			if (opening === "{") {
				const key = JSON.parse(skip(STRING)) as string;
				skip(BLANK);
				position++;
				if (wanted?.[0] === key) below = wanted.slice(1);
			}
			read(below, depth + 1);
			lastEnd = position;
		}
		const end = position++;
		// The last of several equal keys wins, as in parsers.
		if (wanted?.length === 0) found = { start, end, lastEnd, depth };
	};
	read(path, 0);
	if (found === null) throw new Error("it is not valid JSON");
	return found;
}

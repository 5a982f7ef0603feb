/**
 * Reads the part of YAML that nearly every fleet file keeps to, many times faster than the YAML parser, which keeps all
 * of a document's details: maps and lists by indentation, lists and maps in brackets on one line, quoted text without
 * escapes, words, numbers and comments. It gives up on anything else, above all on mistakes: those are for the parser,
 * which explains them. What it reads, it reads exactly like the parser.
 */

import type { Path } from "./outline.js";
import type { Position } from "./problem.js";
import type { Entry, Tree } from "./tree.js";

export type ReadScalar = (
	value: string | number | boolean,
	written: string,
	at: Position,
	path: Path,
) => Tree;

/** More is left to the parser, with its own limits. */
const NODES_MAX = 50_000;
const DEPTH_MAX = 20;

const PLAIN_TEXT = /^[\n\x20-\x7e]*$/;
/** A directive, or the border of a document. */
const DOCUMENT_LINE = /^(?:%|---|\.\.\.)/m;
const KEY = /([A-Za-z_][\w.-]{0,99}):(?= |$)/y;
const FLOW_KEY = /([A-Za-z_][\w.-]{0,99}): +/y;
const QUOTED = /"([^"\\]*)"|'([^']*)'/y;
/** Outside of brackets, text may contain brackets, and a colon before another character. */
const WORDS =
	/(?:[\w./$~]|-(?=[\w-]))(?:[\w./$~+=@%^(){},-]|:(?=[\w/.-])| +(?=[\w./$~+=@%^(){},-]))*/y;
const FLOW_WORDS = /(?:[\w./$~]|-(?=[\w-]))(?:[\w./$~+=@%^()-]| +(?=[\w./$~+=@%^()-]))*/y;
const END = / *(?: #.*)?$/y;
const NUMBER = /^(?:0|[1-9]\d{0,14}|(?:0|[1-9]\d{0,5})\.\d{1,6})$/;
/** Words that are no text for the parser. */
const NO_TEXT = /^(?:[-+.\d][-+.\deE]*|0[ox].*|[-+]?\.(?:inf|nan)|~|null|true|false)$/i;

/** Null for anything that is not plain. */
export function readPlainYaml(text: string, readScalar: ReadScalar): Tree | null {
	if (!PLAIN_TEXT.test(text) || DOCUMENT_LINE.test(text)) return null;
	const reader = new PlainReader(text, readScalar);
	return reader.readAll();
}

/** A line with contents. */
interface Line {
	readonly number: number;
	readonly indent: number;
	readonly text: string;
}

class PlainReader {
	readonly #readScalar: ReadScalar;
	readonly #lines: readonly Line[];
	#next = 0;
	#nodes = 0;
	/** Of the line that is read now. */
	#line: Line = { number: 0, indent: 0, text: "" };
	#column = 0;

	constructor(text: string, readScalar: ReadScalar) {
		this.#readScalar = readScalar;
		this.#lines = text.split("\n").flatMap((line, index) => {
			const indent = line.search(/[^ ]/);
			if (indent === -1 || line[indent] === "#") return [];
			return [{ number: index + 1, indent, text: line }];
		});
	}

	readAll(): Tree | null {
		const [first] = this.#lines;
		if (first === undefined) return null;
		const tree = this.#readBlock(first.indent, []);
		return this.#next === this.#lines.length ? tree : null;
	}

	/** The lines from the next one on that have this indentation. */
	#readBlock(indent: number, path: Path): Tree | null {
		const first = this.#lines[this.#next];
		if (first === undefined || path.length > DEPTH_MAX) return null;
		const at = { line: first.number, column: indent + 1 };
		const isList = first.text.startsWith("- ", indent);
		const entries = new Map<string, Entry>();
		const items: Tree[] = [];
		for (;;) {
			const line = this.#lines[this.#next];
			if (line === undefined || line.indent < indent) break;
			if (line.indent > indent) return null;
			this.#next += 1;
			this.#line = line;
			this.#column = indent;
			const isRead = isList ? this.#readItem(items, path) : this.#readEntry(entries, path);
			if (!isRead) return null;
		}
		if (++this.#nodes > NODES_MAX) return null;
		return isList ? { type: "list", at, items } : { type: "map", at, entries };
	}

	#readEntry(entries: Map<string, Entry>, path: Path): boolean {
		const { indent } = this.#line;
		const keyAt = this.#position();
		const key = this.#take(KEY)?.[1];
		if (key === undefined || !isKey(key) || entries.has(key)) return false;
		const inner = [...path, key];
		const value = this.#isAtEnd() ? this.#readBelow(indent, inner) : this.#readLine(inner);
		if (value !== null) entries.set(key, { keyAt, keyFaulty: false, value });
		return value !== null;
	}

	#readItem(items: Tree[], path: Path): boolean {
		if (this.#take(/-(?= )/y) === null) return false;
		const value = this.#readLine([...path, items.length]);
		if (value !== null) items.push(value);
		return value !== null;
	}

	#readBelow(indent: number, path: Path): Tree | null {
		const below = this.#lines[this.#next];
		return below === undefined || below.indent <= indent
			? null
			: this.#readBlock(below.indent, path);
	}

	/** The value at the end of this line. */
	#readLine(path: Path): Tree | null {
		this.#take(/ +/y);
		const value = this.#readValue(path, WORDS);
		return value !== null && this.#isAtEnd() ? value : null;
	}

	#readValue(path: Path, words: RegExp): Tree | null {
		if (++this.#nodes > NODES_MAX || path.length > DEPTH_MAX) return null;
		const at = this.#position();
		if (this.#take(/\[ */y) !== null) return this.#readItems(at, path);
		if (this.#take(/\{ */y) !== null) return this.#readEntries(at, path);
		const quoted = this.#take(QUOTED);
		if (quoted !== null) {
			const text = quoted[1] ?? quoted[2] ?? "";
			return this.#readScalar(text, text, at, path);
		}
		const word = this.#take(words)?.[0];
		if (word === undefined) return null;
		if (NUMBER.test(word)) return this.#readScalar(Number(word), word, at, path);
		if (word === "true" || word === "false") {
			return this.#readScalar(word === "true", word, at, path);
		}
		return NO_TEXT.test(word) ? null : this.#readScalar(word, word, at, path);
	}

	#readItems(at: Position, path: Path): Tree | null {
		const items: Tree[] = [];
		if (this.#take(/\]/y) !== null) return { type: "list", at, items };
		for (;;) {
			const value = this.#readValue([...path, items.length], FLOW_WORDS);
			if (value === null) return null;
			items.push(value);
			if (this.#take(/ *\]/y) !== null) return { type: "list", at, items };
			if (this.#take(/ *, */y) === null) return null;
		}
	}

	#readEntries(at: Position, path: Path): Tree | null {
		const entries = new Map<string, Entry>();
		if (this.#take(/\}/y) !== null) return { type: "map", at, entries };
		for (;;) {
			const keyAt = this.#position();
			const key = this.#take(FLOW_KEY)?.[1];
			if (key === undefined || !isKey(key) || entries.has(key)) return null;
			const value = this.#readValue([...path, key], FLOW_WORDS);
			if (value === null) return null;
			entries.set(key, { keyAt, keyFaulty: false, value });
			if (this.#take(/ *\}/y) !== null) return { type: "map", at, entries };
			if (this.#take(/ *, */y) === null) return null;
		}
	}

	#position(): Position {
		return { line: this.#line.number, column: this.#column + 1 };
	}

	#take(pattern: RegExp): RegExpExecArray | null {
		pattern.lastIndex = this.#column;
		const found = pattern.exec(this.#line.text);
		if (found !== null) this.#column = pattern.lastIndex;
		return found;
	}

	/** Only a comment is left. */
	#isAtEnd(): boolean {
		END.lastIndex = this.#column;
		return END.test(this.#line.text);
	}
}

const isKey = (key: string) => key !== "__proto__" && !NO_TEXT.test(key);

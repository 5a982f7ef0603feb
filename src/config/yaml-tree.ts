/**
 * Parses YAML 1.2 into a tree with positions, and expands variables. It walks the parser's nodes
 * itself: an alias counts for everything it expands to, so a file that expands without a limit is an error
 * and not a hang (A6), and a duplicate key is reported without hiding other problems.
 */

import {
	type Document,
	isAlias,
	isMap,
	isScalar,
	isSeq,
	LineCounter,
	type Pair,
	parseDocument,
	type YAMLMap,
} from "yaml";
import { expandVariables, type Variables } from "./expand.js";
import type { Path } from "./outline.js";
import { readPlainYaml } from "./plain-yaml.js";
import { type Finding, finding, type Position, quote } from "./problem.js";
import type { Entry, ScalarTree, Tree } from "./tree.js";
import { explainYamlErrors } from "./yaml-errors.js";
import { positionAt } from "./yaml-position.js";

export const FILE_LENGTH_MAX = 1_048_576;
const NODES_MAX = 100_000;
const DEPTH_MAX = 50;
/** The total text that variables may add. */
const EXPANDED_LENGTH_MAX = 4_194_304;

export interface ParsedYaml {
	/** Null if the text could not be parsed; the findings contain the reason. */
	readonly tree: Tree | null;
	readonly findings: readonly Finding[];
}

/** Without variables, `${` is not expanded here and left to the caller. */
export function parseYaml(text: string, variables: Variables | null): ParsedYaml {
	const refuse = (message: string, hint: string | null = null): ParsedYaml => ({
		tree: null,
		findings: [finding(null, [], { message, hint })],
	});
	if (text.length > FILE_LENGTH_MAX) return refuse("the file is larger than 1MiB");
	return readPlain(text, variables) ?? parseAny(text, variables, refuse);
}

function readPlain(text: string, variables: Variables | null): ParsedYaml | null {
	const scalars = new Scalars(variables);
	const tree = readPlainYaml(text, (...scalar) => scalars.read(...scalar));
	return tree === null || scalars.gaveUp ? null : { tree, findings: scalars.findings };
}

function parseAny(
	text: string,
	variables: Variables | null,
	refuse: (message: string, hint?: string) => ParsedYaml,
): ParsedYaml {
	const lines = new LineCounter();
	const document = parseDocument(text, {
		lineCounter: lines,
		prettyErrors: false,
		uniqueKeys: false,
		version: "1.2",
	});
	if (document.errors.length > 0) {
		return { tree: null, findings: explainYamlErrors(document.errors, lines, text) };
	}
	const { yaml } = document.directives ?? {};
	if (yaml?.explicit && yaml.version !== "1.2") {
		return refuse("only YAML 1.2 is supported", "remove the `%YAML` line");
	}
	const { contents } = document;
	if (contents === null || (isScalar(contents) && contents.value === null)) {
		return refuse("the file is empty", "start with `version: 1`");
	}
	const walker = new Walker(lines, variables);
	const tree = walker.walk(contents, [], 0);
	return { tree: walker.gaveUp ? null : tree, findings: walker.findings };
}

type Node = Document["contents"];

const NOTHING = { type: "scalar", value: null, written: "", expanded: false } as const;
const KNOWN_TAG = /^(!|tag:yaml\.org,2002:(str|int|float|bool|null|map|seq))$/;

/** Expands the variables in scalars. */
class Scalars {
	readonly findings: Finding[] = [];
	gaveUp = false;
	readonly #variables: Variables | null;
	#expandedLength = 0;

	constructor(variables: Variables | null) {
		this.#variables = variables;
	}

	read(value: ScalarTree["value"], written: string, at: Position, path: Path): Tree {
		if (typeof value !== "string" || this.#variables === null) {
			return { type: "scalar", at, value, written, expanded: false, faulty: false };
		}
		const { text, expanded, mistakes } = expandVariables(value, this.#variables);
		for (const mistake of mistakes) this.findings.push(finding(at, path, mistake));
		const faulty = mistakes.length > 0;
		if (expanded) this.#expandedLength += text.length;
		if (this.#expandedLength > EXPANDED_LENGTH_MAX && !this.gaveUp) {
			this.gaveUp = true;
			this.report(at, path, "the variables up to here expand to more than 4MiB");
		}
		return { type: "scalar", at, value: faulty ? value : text, written, expanded, faulty };
	}

	report(at: Position, path: Path, message: string, hint: string | null = null): void {
		this.findings.push(finding(at, path, { message, hint }));
	}
}

class Walker extends Scalars {
	readonly #lines: LineCounter;
	readonly #anchors = new Map<string, Node>();
	/** Nodes around the current one: an alias to one of them would never end. */
	readonly #around = new Set<Node>();
	#insideAlias = 0;
	#nodes = 0;

	constructor(lines: LineCounter, variables: Variables | null) {
		super(variables);
		this.#lines = lines;
	}

	walk(node: Node, path: Path, fallbackOffset: number): Tree {
		const at = positionAt(this.#lines, node?.range?.[0] ?? fallbackOffset);
		const faulty: Tree = { ...NOTHING, at, faulty: true };
		if (this.gaveUp) return faulty;
		if (++this.#nodes > NODES_MAX || path.length > DEPTH_MAX) {
			this.gaveUp = true;
			const what = path.length > DEPTH_MAX ? "nested too deeply" : "too many values";
			this.report(at, path, `${what}, with every alias written out`);
			return faulty;
		}
		if (node === null) return { ...NOTHING, at, faulty: false };
		if (isAlias(node)) return this.#readAlias(node.source, at, path) ?? faulty;
		if (node.tag !== undefined && !KNOWN_TAG.test(node.tag)) {
			this.report(at, path, "tags are not supported", "remove the word that starts with `!`");
			return faulty;
		}
		if (node.anchor !== undefined && this.#insideAlias === 0) {
			this.#anchors.set(node.anchor, node);
		}
		if (isScalar(node)) {
			return this.read(node.value as ScalarTree["value"], node.source ?? "", at, path);
		}
		this.#around.add(node);
		const tree: Tree = isMap(node)
			? { type: "map", at, entries: this.#readEntries(node, path) }
			: { type: "list", at, items: isSeq(node) ? this.#readItems(node.items, path, at) : [] };
		this.#around.delete(node);
		return tree;
	}

	#readAlias(name: string, at: Position, path: Path): Tree | null {
		const target = this.#anchors.get(name);
		if (target === undefined || this.#around.has(target)) {
			const why =
				target === undefined ? "there is no anchor with this name above" : "it contains itself";
			this.report(at, path, `invalid alias: ${why}`);
			return null;
		}
		this.#insideAlias++;
		const tree = this.walk(target, path, 0);
		this.#insideAlias--;
		return tree;
	}

	#readItems(items: readonly unknown[], path: Path, at: Position): Tree[] {
		const offset = this.#lines.lineStarts[at.line - 1] ?? 0;
		return items.map((item, index) => this.walk(item as Node, [...path, index], offset));
	}

	#readEntries(map: YAMLMap, path: Path): ReadonlyMap<string, Entry> {
		const entries = new Map<string, Entry>();
		for (const pair of map.items as Pair<Node, Node>[]) {
			const offset = pair.key?.range?.[0] ?? map.range?.[0] ?? 0;
			const keyAt = positionAt(this.#lines, offset);
			const key = this.#readKey(pair.key, keyAt, path);
			if (key === null) continue;
			const first = entries.get(key);
			if (first === undefined) {
				const keyFaulty = isScalar(pair.key) && typeof pair.key.value !== "string";
				const value = this.walk(pair.value, [...path, key], offset);
				entries.set(key, { keyAt, keyFaulty, value });
				continue;
			}
			const where = `line ${first.keyAt.line}, column ${first.keyAt.column}`;
			const hint = `it is already defined at ${where}: keep one of them`;
			this.report(keyAt, [...path, key], "duplicate key", hint);
		}
		return entries;
	}

	#readKey(key: Node, at: Position, path: Path): string | null {
		const text = isScalar(key) && (key.source ?? "") !== "" ? String(key.source) : null;
		if (isScalar(key) && key.value === "") return "";
		if (text === null) {
			this.report(at, path, "a key must be a string");
			return null;
		}
		if (text === "__proto__") {
			this.report(at, [...path, text], "this name is reserved", "use another name");
			return null;
		}
		if (isScalar(key) && typeof key.value !== "string") {
			const hint = `put quotes around it: ${quote(`"${text}"`)}`;
			this.report(at, [...path, text], "a key must be a string", hint);
		}
		return text;
	}
}

/** Checks the texts of a custom adapter: an unknown placeholder would reach the program unchanged. */

import { PLACEHOLDERS, unknownPlaceholders } from "../core/adapter.js";
import { nearest } from "./did-you-mean.js";
import type { Path } from "./outline.js";
import { type Explanation, type Finding, finding, quote, quoteList } from "./problem.js";
import { findTree, type ScalarTree, type Tree } from "./tree.js";

/** The keys whose placeholders are replaced. */
const FILLED: readonly Path[] = [
	["command"],
	["args"],
	["seed_args"],
	["env"],
	["conversation", "fresh"],
	["conversation", "resume"],
	["conversation", "transcript"],
	["files"],
	["seeds"],
];

export function checkPlaceholders(tree: Tree, adapter: Path): readonly Finding[] {
	return FILLED.flatMap((key) => {
		// A file may contain markup or code, where `<word>` is common.
		const isFile = key[0] === "files";
		return textsIn(tree, [...adapter, ...key]).flatMap(({ text, path }) => {
			const said = explain(text, isFile);
			return said === null ? [] : [finding(text.at, path, said)];
		});
	});
}

/** Whether one of these texts contains the conversation id, or a misspelling of it. */
export function namesConversation(tree: Tree, path: Path): boolean {
	return textsIn(tree, path).some(({ text }) => {
		const slips = unknownPlaceholders(text.written);
		return (
			/<conversation8?>/.test(String(text.value)) ||
			slips.some((name) => nearest(name, PLACEHOLDERS)?.startsWith("conversation"))
		);
	});
}

interface PlacedText {
	readonly text: ScalarTree;
	readonly path: Path;
}

/** Every scalar at and below this path. */
function textsIn(tree: Tree, path: Path): readonly PlacedText[] {
	const at = findTree(tree, path);
	if (at === null) return [];
	if (at.type === "scalar") return at.faulty ? [] : [{ text: at, path }];
	const steps = at.type === "list" ? at.items.keys() : at.entries.keys();
	return [...steps].flatMap((step) => textsIn(tree, [...path, step]));
}

function explain(text: ScalarTree, nearOnly: boolean): Explanation | null {
	// As written: values of variables are not quoted.
	for (const name of unknownPlaceholders(text.written)) {
		const meant = nearest(name, PLACEHOLDERS);
		if (meant === null && nearOnly) continue;
		return {
			message: `unknown placeholder ${quote(`<${name}>`)}`,
			expected: `${quoteList(
				PLACEHOLDERS.map((each) => `<${each}>`),
				"or",
			)}, or a variable such as \`<CODEX_HOME>\``,
			hint: meant === null ? null : `did you mean ${quote(`<${meant}>`)}?`,
		};
	}
	return null;
}

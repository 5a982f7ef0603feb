/**
 * What was written, as a tree of maps, lists and scalars that still knows where each part stood in
 * the text. Validation works on plain values; positions and the text as written come from here.
 */

import type { Path } from "./outline.js";
import type { Position } from "./problem.js";

export interface ScalarTree {
	readonly type: "scalar";
	readonly at: Position;
	readonly value: string | number | boolean | null;
	/** The text in the file, before variables were put in: what may be quoted in a message (A5). */
	readonly written: string;
	readonly expanded: boolean;
	/** A mistake in it has been reported already; what is wrong because of that is no news. */
	readonly faulty: boolean;
}

export interface ListTree {
	readonly type: "list";
	readonly at: Position;
	readonly items: readonly Tree[];
}

export interface Entry {
	readonly keyAt: Position;
	/** The key is not text, which has been reported. */
	readonly keyFaulty: boolean;
	readonly value: Tree;
}

export interface MapTree {
	readonly type: "map";
	readonly at: Position;
	readonly entries: ReadonlyMap<string, Entry>;
}

export type Tree = ScalarTree | ListTree | MapTree;

export function findTree(root: Tree, path: Path): Tree | null {
	let at: Tree | undefined = root;
	for (const step of path) {
		at = childOf(at, step);
		if (at === undefined) return null;
	}
	return at;
}

/** The keys of the map at this place; none when there is no map. */
export function namesIn(root: Tree, path: Path): readonly string[] {
	const at = findTree(root, path);
	return at?.type === "map" ? [...at.entries.keys()] : [];
}

/** Where a key is written, or failing that, the nearest thing around it that is. */
export function locateKey(root: Tree, path: Path): Position {
	for (let length = path.length; length > 0; length--) {
		const parent = findTree(root, path.slice(0, length - 1));
		const step = path[length - 1] as string | number;
		if (parent?.type === "map") {
			const keyAt = parent.entries.get(String(step))?.keyAt;
			if (keyAt !== undefined) return keyAt;
		} else if (parent?.type === "list") {
			const at = parent.items[Number(step)]?.at;
			if (at !== undefined) return at;
		}
	}
	return root.at;
}

/** Where a value is written. A value that was left out has no place, so its key stands for it. */
export function locateValue(root: Tree, path: Path): Position {
	const tree = findTree(root, path);
	const leftOut =
		tree === null || (tree.type === "scalar" && tree.written === "" && tree.value === null);
	return leftOut ? locateKey(root, path) : tree.at;
}

function childOf(tree: Tree | undefined, step: string | number): Tree | undefined {
	if (tree?.type === "map") return tree.entries.get(String(step))?.value;
	return tree?.type === "list" ? tree.items[Number(step)] : undefined;
}

/**
 * The parsed file as a tree of maps, lists and scalars with their positions in the text. Validation
 * uses plain values; positions and the original text come from here.
 */

import type { Path } from "./outline.js";
import type { Position } from "./problem.js";

export interface ScalarTree {
	readonly type: "scalar";
	readonly at: Position;
	readonly value: string | number | boolean | null;
	/** The text in the file before variable expansion: the only form that messages may quote (A5). */
	readonly written: string;
	readonly expanded: boolean;
	/** A problem with it has been reported already, so consequences of it are not. */
	readonly faulty: boolean;
}

export interface ListTree {
	readonly type: "list";
	readonly at: Position;
	readonly items: readonly Tree[];
}

export interface Entry {
	readonly keyAt: Position;
	/** The key is not a string, which has been reported. */
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

/** The keys of the map at this path; none if it is not a map. */
export function namesIn(root: Tree, path: Path): readonly string[] {
	const at = findTree(root, path);
	return at?.type === "map" ? [...at.entries.keys()] : [];
}

/** The position of a key, or of the nearest element around it. */
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

/** The position of a value. For a missing value it is the position of its key. */
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

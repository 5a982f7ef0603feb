/**
 * Checks the file against the schema, key by key. Returns every finding at once, and a copy of the file
 * without the invalid keys, so that the rest can still be checked as a whole.
 */

import type { z } from "zod";
import { explainBadEnvName, explainBadId, explainUnknownKey, isMisspelt } from "./explain-key.js";
import { explainValue } from "./explain-value.js";
import { FLEET_OUTLINE, findOutline, type Outline, type Path } from "./outline.js";
import { PathSet } from "./path-set.js";
import { type Finding, finding, PROBLEMS_MAX } from "./problem.js";
import { findTree, locateKey, locateValue, namesIn, type Tree } from "./tree.js";
import type { LeafType } from "./values.js";

export interface CheckedShape {
	readonly findings: readonly Finding[];
	/** Keys with an invalid value. Rules that depend on them are skipped. */
	readonly broken: PathSet;
	/** The file as plain values, without the broken keys. */
	readonly sound: Plain;
}

export type Plain = Readonly<Record<string, unknown>>;

/** `settled` paths have been reported already: further findings there are dropped. */
export function checkShape(
	tree: Tree,
	settled: PathSet,
	root: Outline = FLEET_OUTLINE,
): CheckedShape {
	const value = plainOf(tree, root);
	const broken = new PathSet();
	const findings: Finding[] = [];
	const issues = issuesOf(root, value, []);
	for (const issue of issues) {
		if (issue.type !== "bad_id") broken.add(wholeKey(issue.path));
		if (findings.length > PROBLEMS_MAX) continue;
		if (!repeatsFinding(tree, issue, settled, root)) findings.push(explainIssue(tree, issue, root));
	}
	for (const { type, path } of issues) if (type !== "bad_id") removeAt(value, wholeKey(path));
	return { findings, broken, sound: isPlain(value) ? value : {} };
}

/** Whether another reported problem is the cause of this one. */
function repeatsFinding(
	tree: Tree,
	{ path, type }: Issue,
	settled: PathSet,
	root: Outline,
): boolean {
	if (settled.covers(path)) return true;
	if (type !== "bad_value") {
		const around = findTree(tree, path.slice(0, -1));
		return around?.type === "map" && around.entries.get(String(path.at(-1)))?.keyFaulty === true;
	}
	const at = findTree(tree, path);
	if (at !== null) return at.type === "scalar" && at.faulty;
	const around = findOutline(root, path.slice(0, -1)) ?? root;
	const written = namesIn(tree, path.slice(0, -1));
	return isMisspelt(String(path.at(-1)), written, around);
}

interface Issue {
	/** A bad id does not affect the keys below it. */
	readonly type: "unknown_key" | "bad_id" | "bad_env_name" | "bad_value";
	readonly path: Path;
}

function issuesOf(outline: Outline, value: unknown, base: Path): readonly Issue[] {
	const result = outline.schema.safeParse(value);
	if (result.success) return [];
	return result.error.issues.flatMap((issue) => issuesOfZod(issue, outline, value, base));
}

function issuesOfZod(
	issue: z.core.$ZodIssue,
	outline: Outline,
	value: unknown,
	base: Path,
): readonly Issue[] {
	const inner = issue.path as Path;
	const path = [...base, ...inner];
	if (issue.code === "unrecognized_keys") {
		return issue.keys.map((key) => ({ type: "unknown_key", path: [...path, key] }));
	}
	if (issue.code === "invalid_union") {
		// The form that was written decides which of its problems apply.
		const written = valueAt(value, inner);
		const form = Array.isArray(written) ? 0 : isPlain(written) ? 1 : null;
		const nested = form === null ? [] : (issue.errors[form] ?? []);
		return nested.length === 0
			? [{ type: "bad_value", path }]
			: nested.flatMap((each) =>
					issuesOfZod(
						{ ...each, path: [...issue.path, ...each.path] } as z.core.$ZodIssue,
						...([outline, value, base] as const),
					),
				);
	}
	if (issue.code !== "invalid_key") return [{ type: "bad_value", path }];
	// The validator skips everything below a bad key, so it is checked here.
	const each = findOutline(outline, inner);
	const under = each === null ? [] : issuesOf(each, valueAt(value, inner), path);
	return [{ type: each?.type === "env_value" ? "bad_env_name" : "bad_id", path }, ...under];
}

function explainIssue(tree: Tree, { type, path }: Issue, root: Outline): Finding {
	const key = String(path.at(-1));
	const around = findOutline(root, path.slice(0, -1));
	if (type === "unknown_key" && around !== null) {
		return finding(locateKey(tree, path), path, explainUnknownKey(key, around, root));
	}
	if (type === "bad_id" || type === "bad_env_name") {
		const explain = type === "bad_id" ? explainBadId : explainBadEnvName;
		return finding(locateKey(tree, path), path, explain(key));
	}
	const outline = findOutline(root, path) ?? root;
	return finding(locateValue(tree, path), path, explainValue(outline, findTree(tree, path)));
}

/** An invalid entry invalidates its whole list: the list without it would have another meaning. */
function wholeKey(path: Path): Path {
	const entry = path.findIndex((step) => typeof step === "number");
	return entry === -1 ? path : path.slice(0, entry);
}

const NUMERIC: ReadonlySet<Outline["type"]> = new Set<LeafType>([
	"count",
	"exit_code",
	"fraction",
	"amount",
	"version",
]);

/** Plain values. Maps have no prototype, so no key has a special meaning. */
function plainOf(tree: Tree, outline: Outline | null): unknown {
	if (tree.type === "list") return tree.items.map((item) => plainOf(item, outline?.each ?? null));
	if (tree.type === "map") {
		const plain: Record<string, unknown> = Object.create(null);
		for (const [key, { value }] of tree.entries) {
			plain[key] = plainOf(value, outline === null ? null : findOutline(outline, [key]));
		}
		return plain;
	}
	// The value of a variable is text; where a number is expected, `${WORKERS}` is parsed as one.
	const isNumber = tree.expanded && outline !== null && NUMERIC.has(outline.type);
	return isNumber && /^\d+(\.\d+)?$/.test(String(tree.value)) ? Number(tree.value) : tree.value;
}

function valueAt(root: unknown, path: Path): unknown {
	let at = root;
	for (const step of path) at = (at as Record<string | number, unknown>)[step];
	return at;
}

function removeAt(root: unknown, path: Path): void {
	const parent = path.slice(0, -1).reduce<unknown>((at, step) => {
		return isPlain(at) ? at[String(step)] : undefined;
	}, root);
	const key = path.at(-1);
	if (isPlain(parent) && key !== undefined) delete (parent as Record<string, unknown>)[String(key)];
}

export function isPlain(value: unknown): value is Plain {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The settings of a running agent in the format of the fleet file, each with its source. Values come from the
 * agent itself; the file only shows where they were written. Values of variables are never included (A5).
 */

import { renderDuration, renderSize } from "../core/units.js";
import { listAgents, originOf } from "./agents.js";
import { keyPathOf, leavesOf } from "./diff.js";
import type { Path } from "./outline.js";
import { type FleetContext, parseFleet } from "./parse-fleet.js";
import { renderPath } from "./problem.js";
import type { AgentSpec } from "./spec.js";
import { findTree, locateKey, type Tree } from "./tree.js";
import { parseYaml } from "./yaml-tree.js";

export interface EffectiveSetting {
	readonly key: string;
	/** As in the fleet file; null for no value. */
	readonly value: string | null;
	readonly source: "agent" | "project" | "account" | "defaults" | "default" | "applied";
	/** `FILE:LINE`; null if it is in no line of the file. */
	readonly at: string | null;
}

export interface EffectiveSettings {
	readonly settings: readonly EffectiveSetting[];
	/** Why a source is missing. */
	readonly problem: string | null;
}

const HIDDEN = "***";

/** `text` is the fleet file as it is now, or why it cannot be read. */
export function describeSettings(
	spec: AgentSpec,
	file: string,
	text:
		| { readonly ok: true; readonly text: string }
		| { readonly ok: false; readonly reason: string },
	context: FleetContext,
): EffectiveSettings {
	const leaves = [...leavesOf(spec)].map(([leaf, value]) => ({
		leaf,
		path: keyPathOf(leaf),
		value,
	}));
	if (!text.ok) {
		const settings = leaves.map((leaf) => renderSetting(spec, leaf, null, file));
		return { settings, problem: `the fleet file cannot be read: ${text.reason}` };
	}
	const { tree } = parseYaml(text.text, context.env);
	const written =
		tree === null ? null : (listAgents(tree).find(({ id }) => id === spec.id) ?? null);
	if (tree === null || written === null) {
		const settings = leaves.map((leaf) => renderSetting(spec, leaf, null, file));
		const problem = tree === null ? "is not valid YAML" : `no longer contains ${spec.id}`;
		return { settings, problem: `the fleet file ${problem}` };
	}
	const { changed, problem } = findChanges(spec, text.text, file, context);
	const settings = leaves.map((leaf) => {
		if (changed.has(leaf.leaf)) return renderSetting(spec, leaf, null, file, "applied");
		const place = placeOf(tree, spec, leaf.path, originOf(tree, written, leaf.path));
		return renderSetting(spec, leaf, place, file);
	});
	return { settings, problem };
}

interface Leaf {
	readonly leaf: string;
	readonly path: readonly string[];
	/** As JSON. */
	readonly value: string;
}

interface Place {
	readonly source: EffectiveSetting["source"];
	readonly line: number;
}

function placeOf(
	tree: Tree,
	spec: AgentSpec,
	path: readonly string[],
	origin: Path | null,
): Place | null {
	if (origin !== null) {
		const source = origin[0] === "defaults" ? "defaults" : "agent";
		return { source, line: locateKey(tree, origin).line };
	}
	const isShared = path[0] === "budget" && path[1] === "shared";
	const budget = ["projects", spec.project, "budget"];
	if (isShared && findTree(tree, budget) === null) {
		return { source: "account", line: locateKey(tree, ["accounts"]).line };
	}
	if (isShared) return { source: "project", line: locateKey(tree, budget).line };
	const project = ["projects", spec.project, "cwd"];
	if (path[0] !== "cwd" || findTree(tree, project) === null) return null;
	return { source: "project", line: locateKey(tree, project).line };
}

/** The values that the file would change, by leaf. Variables may have other values here, so they are not compared. */
function findChanges(
	spec: AgentSpec,
	text: string,
	file: string,
	context: FleetContext,
): { readonly changed: ReadonlySet<string>; readonly problem: string | null } {
	const parsed = parseFleet(text, file, context);
	if (!parsed.ok) {
		const [first] = parsed.problems;
		const why = first === undefined ? "" : ` (line ${first.line}: ${first.message})`;
		const problem = `the fleet file cannot be compared with the running settings${why}`;
		return { changed: new Set(), problem };
	}
	const now = parsed.fleet.agents.find(({ id }) => id === spec.id);
	if (now === undefined) return { changed: new Set(), problem: null };
	const [old, current] = [leavesOf(spec), leavesOf(now)];
	const differing = [...new Set([...old.keys(), ...current.keys()])].filter(
		(leaf) => keyPathOf(leaf)[0] !== "env" && old.get(leaf) !== current.get(leaf),
	);
	if (differing.length === 0) return { changed: new Set(), problem: null };
	const keys = [...new Set(differing.map((leaf) => renderPath(keyPathOf(leaf))))];
	return {
		changed: new Set(differing),
		problem: `the fleet file has changed since it was applied (${keys.join(", ")}); \`reeve reload\` applies it`,
	};
}

function renderSetting(
	spec: AgentSpec,
	{ leaf, path, value }: Leaf,
	place: Place | null,
	file: string,
	otherwise: EffectiveSetting["source"] = "default",
): EffectiveSetting {
	return {
		key: renderPath(path),
		value: renderValue(spec, leaf, path, value),
		source: place?.source ?? otherwise,
		at: place === null ? null : `${file}:${place.line}`,
	};
}

function renderValue(
	spec: AgentSpec,
	leaf: string,
	path: readonly string[],
	json: string,
): string | null {
	const value: unknown = JSON.parse(json ?? "null");
	if (value === null) return null;
	if (path[0] === "env") return HIDDEN;
	if (path[0] === "adapter") return spec.adapter;
	const name = (JSON.parse(leaf) as string[]).at(-1) ?? "";
	if (typeof value === "number") {
		if (name.endsWith("Ms")) return renderDuration(value);
		if (name.endsWith("Bytes")) return renderSize(value);
		if (name.endsWith("Percent")) return `${value}%`;
		if (name.endsWith("Minute")) return renderMinute(value);
	}
	return typeof value === "string" ? value : JSON.stringify(value);
}

function renderMinute(minute: number): string {
	const two = (number: number) => String(number).padStart(2, "0");
	return `${two(Math.floor(minute / 60))}:${two(minute % 60)}`;
}

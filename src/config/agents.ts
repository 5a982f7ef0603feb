/**
 * The effective settings of every agent: its own keys over `defaults` over the built-in ones. Also
 * finds where a key was written, which is where a message about it belongs.
 */

import { AGENT_KINDS, type AgentKind } from "../core/states.js";
import { type CheckedShape, isPlain, type Plain } from "./check-shape.js";
import { explainWrongKind } from "./explain-key.js";
import { KINDS_OF_KEY } from "./kinds-of-key.js";
import type { Path } from "./outline.js";
import { PathSet } from "./path-set.js";
import { type Finding, finding } from "./problem.js";
import { type AgentKey, type AgentSettings, agentSchema } from "./schema.js";
import { findTree, locateKey, namesIn, type Tree } from "./tree.js";

export interface WrittenAgent {
	readonly project: string;
	readonly name: string;
	/** `project:name`. */
	readonly id: string;
	readonly path: Path;
	/** Null if the written value is not a kind. */
	readonly kind: AgentKind | null;
}

const DEFAULTS: Path = ["defaults"];

/** Every entry under `agents`, in file order, valid or not. */
export function listAgents(tree: Tree): readonly WrittenAgent[] {
	return namesIn(tree, ["projects"]).flatMap((project) =>
		namesIn(tree, ["projects", project, "agents"]).map((name) => {
			const path = ["projects", project, "agents", name];
			return { project, name, id: `${project}:${name}`, path, kind: kindOf(tree, path) };
		}),
	);
}

/** Keys of an agent whose kind does not support them. */
export function checkKinds(
	tree: Tree,
	agents: readonly WrittenAgent[],
): { readonly findings: readonly Finding[]; readonly misplaced: PathSet } {
	const findings: Finding[] = [];
	const misplaced = new PathSet();
	for (const { path, kind } of agents) {
		if (kind === null) continue;
		const written = findTree(tree, [...path, "kind"]) !== null;
		for (const key of namesIn(tree, path)) {
			if (!isAgentKey(key) || KINDS_OF_KEY[key].includes(kind)) continue;
			const place = [...path, key];
			misplaced.add(place);
			const reported = explainWrongKind(key, KINDS_OF_KEY[key], kind, written);
			findings.push(finding(locateKey(tree, place), place, reported));
		}
	}
	return { findings, misplaced };
}

/** By shape and agent: a large fleet takes most of its time here, and several checks ask. */
const known = new WeakMap<CheckedShape, Map<WrittenAgent, AgentSettings | null>>();

/** The agent's settings from all valid keys; null if its kind is unknown. */
export function settingsOf(agent: WrittenAgent, shape: CheckedShape): AgentSettings | null {
	const ofShape = known.get(shape) ?? new Map<WrittenAgent, AgentSettings | null>();
	known.set(shape, ofShape);
	const before = ofShape.get(agent);
	if (before !== undefined) return before;
	const settings = readSettings(agent, shape);
	ofShape.set(agent, settings);
	return settings;
}

function readSettings(agent: WrittenAgent, { sound }: CheckedShape): AgentSettings | null {
	const { kind } = agent;
	if (kind === null) return null;
	const defaults = under(sound, DEFAULTS) ?? {};
	const own = under(sound, agent.path) ?? {};
	const takes = (key: string) => isAgentKey(key) && KINDS_OF_KEY[key].includes(kind);
	const result = agentSchema.safeParse(merge(pick(defaults, takes), pick(own, takes)));
	return result.success ? result.data : null;
}

/** Where a key that applies to this agent was written; null for a built-in default. */
export function originOf(tree: Tree, agent: WrittenAgent, key: Path): Path | null {
	const own = [...agent.path, ...key];
	if (findTree(tree, own) !== null) return own;
	const shared = [...DEFAULTS, ...key];
	return findTree(tree, shared) === null ? null : shared;
}

/** Maps are merged key by key; everything else is replaced. */
function merge(base: Plain, over: Plain): Plain {
	const merged: Record<string, unknown> = Object.assign(Object.create(null), base);
	for (const [key, value] of Object.entries(over)) {
		const before = merged[key];
		merged[key] = isPlain(before) && isPlain(value) ? merge(before, value) : value;
	}
	return merged;
}

function kindOf(tree: Tree, path: Path): AgentKind | null {
	const written = findTree(tree, [...path, "kind"]) ?? findTree(tree, [...DEFAULTS, "kind"]);
	if (written === null) return agentSchema.shape.kind.parse(undefined);
	const word = written.type === "scalar" && !written.faulty ? written.value : null;
	return AGENT_KINDS.find((kind) => kind === word) ?? null;
}

function isAgentKey(key: string): key is AgentKey {
	return Object.hasOwn(KINDS_OF_KEY, key);
}

/** The map at this path; null if there is none. */
export function under(root: Plain, path: Path): Plain | null {
	let at: unknown = root;
	for (const step of path) at = isPlain(at) ? at[String(step)] : undefined;
	return isPlain(at) ? at : null;
}

function pick(from: Plain, takes: (key: string) => boolean): Plain {
	return Object.fromEntries(Object.entries(from).filter(([key]) => takes(key)));
}

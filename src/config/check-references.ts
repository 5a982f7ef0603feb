/** `depends_on`: every agent in it must exist, be startable, and not be part of a cycle. */

import { findCycles } from "../core/graph.js";
import type { DependencyCondition } from "../core/states.js";
import { originOf, type WrittenAgent } from "./agents.js";
import { nearest } from "./did-you-mean.js";
import { fullId } from "./full-id.js";
import { KINDS_OF_KEY } from "./kinds-of-key.js";
import type { Path } from "./outline.js";
import {
	type Explanation,
	type Finding,
	finding,
	PROBLEMS_MAX,
	quote,
	showText,
} from "./problem.js";
import { findTree, locateKey, type ScalarTree, type Tree } from "./tree.js";
import { REFERENCE_PATTERN } from "./values.js";

interface Reference {
	readonly from: WrittenAgent;
	/** The full id of the dependency. */
	readonly to: string;
	readonly needs: DependencyCondition;
	/** Where it is written. */
	readonly tree: Pick<ScalarTree, "expanded" | "written" | "at">;
	readonly path: Path;
}

export function checkReferences(tree: Tree, agents: readonly WrittenAgent[]): readonly Finding[] {
	const byId = new Map(agents.map((agent) => [agent.id, agent]));
	const references = agents.flatMap((agent) => referencesOf(tree, agent));
	const findings: Finding[] = [];
	for (const reference of references) {
		// Each of these checks every agent, so the check stops at the limit (A6).
		if (findings.length > PROBLEMS_MAX) break;
		const reported = explainReference(tree, reference, byId);
		if (reported !== null) findings.push(finding(reference.tree.at, reference.path, reported));
	}
	return [...findings, ...checkCycles(agents, references)];
}

function referencesOf(tree: Tree, agent: WrittenAgent): readonly Reference[] {
	if (agent.kind === null || !KINDS_OF_KEY.depends_on.includes(agent.kind)) return [];
	const origin = originOf(tree, agent, ["depends_on"]);
	const list = origin === null ? null : findTree(tree, origin);
	if (origin === null || list === null || list.type === "scalar") return [];
	if (list.type === "map") {
		return [...list.entries].flatMap(([key, { value }]) => {
			if (value.type !== "scalar" || !REFERENCE_PATTERN.test(key)) return [];
			const path = [...origin, key];
			const needs = value.value === "completed" ? ("completed" as const) : ("ready" as const);
			const named = { expanded: false, written: key, at: locateKey(tree, path) };
			return [{ from: agent, to: fullId(key, agent.project), needs, tree: named, path }];
		});
	}
	return list.items.flatMap((item, index) => {
		if (item.type !== "scalar" || item.faulty || typeof item.value !== "string") return [];
		if (!REFERENCE_PATTERN.test(item.value)) return [];
		const to = fullId(item.value, agent.project);
		return [{ from: agent, to, needs: "ready" as const, tree: item, path: [...origin, index] }];
	});
}

function explainReference(
	file: Tree,
	{ from, to, needs, tree }: Reference,
	byId: ReadonlyMap<string, WrittenAgent>,
): Explanation | null {
	const target = byId.get(to);
	if (target === undefined) {
		const meant = tree.expanded ? null : suggest(to, from.project, byId);
		const hint = meant === null ? null : `did you mean ${quote(meant)}?`;
		return { message: `unknown agent ${quote(tree.written)}`, hint };
	}
	if (target === from) return { message: `agent ${quote(from.id)} cannot depend on itself` };
	if (needs === "completed" && target.kind !== "call" && !completes(file, target)) {
		return {
			message: `agent ${quote(to)} never completes, so ${quote(from.id)} would never start`,
			hint: `write \`on_clean_exit: complete\` at ${quote(to)}, or \`ready\` here`,
		};
	}
	if (target.kind !== "call") return null;
	return {
		message: `agent ${quote(to)} is a call agent, which is never started, so no agent can depend on it`,
	};
}

/** Whether an agent counts as finished after a clean exit. */
function completes(file: Tree, agent: WrittenAgent): boolean {
	if (agent.kind !== "session") return false;
	const origin = originOf(file, agent, ["on_clean_exit"]);
	const written = origin === null ? null : findTree(file, origin);
	return written?.type === "scalar" && (written.faulty || written.value === "complete");
}

/** The nearest agent of the same project, the same name in another project, or the nearest id. */
function suggest(
	to: string,
	project: string,
	byId: ReadonlyMap<string, WrittenAgent>,
): string | null {
	const name = to.slice(to.indexOf(":") + 1);
	const all = [...byId.values()].filter(
		(agent) => agent.kind !== "call" && REFERENCE_PATTERN.test(agent.id),
	);
	const neighbours = all.filter((agent) => agent.project === project).map((agent) => agent.name);
	const elsewhere = all.find((agent) => agent.name === name);
	if (elsewhere !== undefined) return elsewhere.id;
	const near = to.startsWith(`${project}:`) ? nearest(name, neighbours) : null;
	return (
		near ??
		nearest(
			to,
			all.map((agent) => agent.id),
		)
	);
}

/** Each cycle once, at the entry that leads from its first agent to the next. */
function checkCycles(
	agents: readonly WrittenAgent[],
	references: readonly Reference[],
): readonly Finding[] {
	const graph = new Map<string, string[]>(agents.map((agent) => [agent.id, []]));
	const edges = new Map<string, Reference>();
	for (const reference of references) {
		// A dependency on itself is reported separately.
		if (reference.from.id === reference.to) continue;
		graph.get(reference.from.id)?.push(reference.to);
		edges.set(`${reference.from.id} ${reference.to}`, reference);
	}
	return findCycles(graph).flatMap((cycle) => {
		const [first, second] = cycle;
		const edge = edges.get(`${first} ${second}`);
		if (edge === undefined || first === undefined) return [];
		const message = `circular dependency: ${renderCycle([...cycle, first])}`;
		return [
			finding(edge.tree.at, edge.path, { message, hint: "remove one of these dependencies" }),
		];
	});
}

const CYCLE_LENGTH_MAX = 20;

function renderCycle(ids: readonly string[]): string {
	const shown = ids.map(showText);
	if (shown.length <= CYCLE_LENGTH_MAX) return shown.join(" -> ");
	return [...shown.slice(0, CYCLE_LENGTH_MAX - 2), "…", shown.at(-1)].join(" -> ");
}

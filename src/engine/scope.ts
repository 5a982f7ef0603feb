/** Which agents a request concerns (one, those of a project, or all), and their order. */

import type { AgentSpec } from "../config/spec.js";
import { ReeveError } from "../core/errors.js";
import { type DependencyGraph, orderByDependencies } from "../core/graph.js";
import type { DependencyCondition } from "../core/states.js";

/** `project`, `project:agent`, or `*` for all. */
export type Scope = string;

function resolveScope(scope: Scope, ids: readonly string[]): readonly string[] {
	if (scope === "*") return ids;
	const chosen = ids.filter((id) => id === scope || id.startsWith(`${scope}:`));
	if (chosen.length > 0) return chosen;
	const known = ids.length === 0 ? "The fleet is empty." : `Known agents: ${ids.join(", ")}.`;
	throw new ReeveError("agent_not_found", `unknown agent or project ${scope}`, known);
}

/** The agents in these scopes, in the order of the scopes. */
export function agentsInScopes(
	scopes: readonly Scope[],
	ids: readonly string[],
): readonly string[] {
	return [...new Set(scopes.flatMap((scope) => resolveScope(scope, ids)))];
}

/** The agents in scope that are started and stopped, without call agents. */
export function resolveLasting(scope: Scope, specs: readonly AgentSpec[]): readonly string[] {
	const lasting = new Set(specs.filter(({ kind }) => kind !== "call").map(({ id }) => id));
	const ids = resolveScope(
		scope,
		specs.map(({ id }) => id),
	);
	return ids.filter((id) => lasting.has(id));
}

interface Dependency {
	readonly agent: string;
	readonly condition: DependencyCondition;
}

/** The agents that it waits for before it starts, and what for. */
export function dependenciesOf(spec: AgentSpec): readonly Dependency[] {
	if (spec.kind === "call") return [];
	return spec.dependsOn.map((each) =>
		typeof each === "string" ? { agent: each, condition: "ready" } : each,
	);
}

/** The agents that it waits for before it starts. */
export function dependsOn(spec: AgentSpec): readonly string[] {
	return dependenciesOf(spec).map(({ agent }) => agent);
}

/** Stops agents, each after its dependents (S7). Results in the order of `ids`. Independent agents stop concurrently. */
export async function stopInOrder<T>(
	graph: DependencyGraph,
	ids: readonly string[],
	stop: (id: string) => Promise<T>,
): Promise<readonly T[]> {
	const wanted = new Set(ids);
	const done = new Map<string, Promise<T>>();
	/** The stops of the agents that depend on one. Dependents come first in this order. */
	const dependants = new Map<string, Promise<T>[]>();
	for (const id of orderByDependencies(graph).toReversed()) {
		if (!wanted.has(id)) continue;
		const stopped = Promise.allSettled(dependants.get(id) ?? []).then(() => stop(id));
		done.set(id, stopped);
		for (const needed of graph.get(id) ?? []) {
			dependants.set(needed, [...(dependants.get(needed) ?? []), stopped]);
		}
	}
	return Promise.all(ids.flatMap((id) => done.get(id) ?? []));
}

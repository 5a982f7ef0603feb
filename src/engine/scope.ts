/** Which agents a request concerns: one, those of a project, or all. */

import type { AgentSpec } from "../config/spec.js";
import { ReeveError } from "../core/errors.js";

/** `project`, `project:agent`, or `*` for all. */
export type Scope = string;

function resolveScope(scope: Scope, ids: readonly string[]): readonly string[] {
	if (scope === "*") return ids;
	const chosen = ids.filter((id) => id === scope || id.startsWith(`${scope}:`));
	if (chosen.length > 0) return chosen;
	const known = ids.length === 0 ? "The fleet is empty." : `Known agents: ${ids.join(", ")}.`;
	throw new ReeveError("agent_not_found", `unknown agent or project ${scope}`, known);
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

/** The agents that must be ready before it starts. */
export function dependsOn(spec: AgentSpec): readonly string[] {
	return spec.kind === "call" ? [] : spec.dependsOn;
}

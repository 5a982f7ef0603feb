/** Which agents a request is about: one, a project's, or all. */

import { ReeveError } from "../core/errors.js";

/** `project`, `project:agent`, or `*` for all. */
export type Scope = string;

export function resolveScope(scope: Scope, ids: readonly string[]): readonly string[] {
	if (scope === "*") return ids;
	const chosen = ids.filter((id) => id === scope || id.startsWith(`${scope}:`));
	if (chosen.length > 0) return chosen;
	const known = ids.length === 0 ? "The fleet is empty." : `There are: ${ids.join(", ")}.`;
	throw new ReeveError("agent_not_found", `there is no agent or project ${scope}`, known);
}

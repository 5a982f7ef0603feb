/** Agents that may run on several hosts, as the engine sees them. */

import type { AgentSpec } from "../config/spec.js";
import { ReeveError } from "../core/errors.js";
import type { Leases, PlacedAgent, PlacementView } from "../ports/leases.js";

/** Null for an agent without `placement`, which runs on this host only. */
export function placedOf(spec: AgentSpec): PlacedAgent | null {
	if (spec.kind !== "session" || spec.placement === undefined) return null;
	const { id, adapter, profile, placement, drain } = spec;
	const cli = profile !== null || adapter === "generic" ? null : adapter;
	return { id, cli, placement, drainMs: drain.timeoutMs };
}

export function isPlaced(spec: AgentSpec): boolean {
	return spec.kind === "session" && spec.placement !== undefined;
}

/** Null for an agent without `placement`. */
export function placementOf(leases: Leases, spec: AgentSpec): PlacementView | null {
	const placed = placedOf(spec);
	return placed === null ? null : leases.view(placed);
}

/** Whether the agent may not run on this host now. */
export function isForbiddenHere(leases: Leases, spec: AgentSpec): boolean {
	return isPlaced(spec) && !leases.isHeld(spec.id);
}

/** Throws if the agent may not run on this host now: a message that it accepted would wait here forever. */
export function requireHere(leases: Leases, spec: AgentSpec): void {
	if (!isForbiddenHere(leases, spec)) return;
	const { id } = spec;
	const placement = placementOf(leases, spec);
	const host = placement?.state === "elsewhere" ? placement.host : null;
	if (host === null) {
		throw new ReeveError("not_on_this_host", `${id} ${placement?.reason}`);
	}
	const hint = `Use it on ${host}. If ${host} is a remote of this host (\`reeve remote add ${host} …\`), the agent is \`${host}/${id}\` here.`;
	throw new ReeveError("not_on_this_host", `${id} runs on ${host}`, hint);
}

/** A host that belongs to no cluster cannot know where else such an agent runs. */
export const NO_LEASES: Leases = {
	attach() {},
	isHeld: () => false,
	deadline: () => null,
	view: ({ placement: { onLost } }) => ({
		...{ state: "unavailable", host: null, epoch: null, onLost, asksSinceMs: null, noHost: false },
		reason: "has `placement`, and this host belongs to no cluster",
	}),
	setWanted() {},
	answerLost: async () => false,
};

/**
 * The changes of a reload: the recorded fleet compared with the fleet in the file. Lists the keys that
 * differ by their path in the fleet file, never their values (A5).
 */

import { DEFAULT_LEAVES } from "./default-leaves.js";
import { KINDS_OF_KEY } from "./kinds-of-key.js";
import { renderPath } from "./problem.js";
import { inheritPassEnv } from "./resolve.js";
import type { AgentKey } from "./schema.js";
import type { AgentSpec, FleetSpec } from "./spec.js";

export interface AgentChange {
	readonly id: string;
	readonly change: "add" | "change" | "remove" | "keep";
	/** For `change`: the keys that differ, such as `crash_policy.window` or `env.TOKEN`. */
	readonly keys: readonly string[];
}

export interface ComparedFleet {
	readonly fleet: FleetSpec;
	readonly changes: readonly AgentChange[];
}

/**
 * The changes in a caller's fleet, and the resulting fleet, which keeps the earlier values of passed
 * variables that this caller does not have.
 */
export function compareFleet(recorded: FleetSpec, sent: FleetSpec): ComparedFleet {
	const fleet = inheritPassEnv(recorded, sent);
	return { fleet, changes: diffFleets(recorded, fleet) };
}

/** One entry per agent: those of `after` in file order, then the removed ones. */
export function diffFleets(before: FleetSpec, after: FleetSpec): readonly AgentChange[] {
	const old = new Map(before.agents.map((agent) => [agent.id, agent]));
	const stay = new Set(after.agents.map((agent) => agent.id));
	const current = after.agents.map((agent): AgentChange => {
		const known = old.get(agent.id);
		if (known === undefined) return { id: agent.id, change: "add", keys: [] };
		const keys = changedKeys(known, agent);
		return { id: agent.id, change: keys.length === 0 ? "keep" : "change", keys };
	});
	const gone = before.agents.filter((agent) => !stay.has(agent.id));
	return [...current, ...gone.map(({ id }): AgentChange => ({ id, change: "remove", keys: [] }))];
}

/** Keys that only one of two kinds supports are omitted: they follow from the change of kind. */
function changedKeys(before: AgentSpec, after: AgentSpec): readonly string[] {
	const [old, current] = [leavesOf(before), leavesOf(after)];
	const paths = new Map([...current.keys(), ...old.keys()].map((key) => [key, keyPathOf(key)]));
	return [...paths]
		.filter(([, [key]]) => {
			const kinds = KINDS_OF_KEY[key as AgentKey];
			return kinds.includes(before.kind) && kinds.includes(after.kind);
		})
		.filter(([key]) => (old.get(key) ?? unreported(key, before.kind)) !== current.get(key))
		.map(([, path]) => renderPath(path));
}

/** Defaults for keys that are missing in specs stored by earlier versions. */
function unreported(key: string, kind: AgentSpec["kind"]): string | undefined {
	const leaves: Readonly<Record<string, string>> = DEFAULT_LEAVES[kind];
	return Object.hasOwn(leaves, key) ? leaves[key] : undefined;
}

const NOT_KEYS: ReadonlySet<string> = new Set(["id", "project", "name", "adapter", "profile"]);

/** Every value of a spec by its path. A list counts as one value. */
export function leavesOf(spec: AgentSpec): ReadonlyMap<string, string> {
	const leaves = new Map<string, string>();
	const collect = (value: unknown, path: readonly string[]) => {
		if (typeof value !== "object" || value === null || Array.isArray(value)) {
			leaves.set(JSON.stringify(path), JSON.stringify(value));
			return;
		}
		for (const [key, each] of Object.entries(value)) collect(each, [...path, key]);
	};
	for (const [key, value] of Object.entries(spec)) {
		if (key === "sharedBudgets") collect(value, ["budget", "shared"]);
		else if (!NOT_KEYS.has(key)) collect(value, [key]);
	}
	// The definition of a custom adapter counts as one value, like its name.
	collect(JSON.stringify([spec.adapter, spec.profile ?? null]), ["adapter"]);
	return leaves;
}

/** Converts a path in a spec to the key in the fleet file: `retry.maxBackoffMs` is `retry.max_backoff`. */
export function keyPathOf(leaf: string): readonly string[] {
	const path = JSON.parse(leaf) as string[];
	// Names of variables are not converted.
	const own = path[0] === "env" ? 1 : path.length;
	return path.map((step, index) => (index < own ? yamlKeyOf(step) : step));
}

function yamlKeyOf(name: string): string {
	return name
		.replace(/(Ms|Bytes|Percent)$/, "")
		.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

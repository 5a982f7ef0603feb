/**
 * Checks the merged settings of an agent: the rules over several keys, and what the whole file decides. A problem is
 * reported at the key that was written; a rule is skipped if one of its keys is invalid itself.
 */

import { LEASE_MS_MIN } from "../core/lease.js";
import { ADAPTERS } from "../core/states.js";
import { renderDuration } from "../core/units.js";
import { NAMELESS, RULES } from "./agent-rules.js";
import { originOf, settingsOf, type WrittenAgent } from "./agents.js";
import type { CheckedShape } from "./check-shape.js";
import { isMisspelt } from "./explain-key.js";
import { KINDS_OF_KEY } from "./kinds-of-key.js";
import { FLEET_OUTLINE, findOutline, type Path } from "./outline.js";
import { type Explanation, type Finding, finding, quote } from "./problem.js";
import type { AgentKey, AgentSettings } from "./schema.js";
import { findTree, locateKey, locateValue, namesIn, type Tree } from "./tree.js";

export function checkAgent(
	tree: Tree,
	agent: WrittenAgent,
	shape: CheckedShape,
): readonly Finding[] {
	const settings = settingsOf(agent, shape);
	if (settings === null || shape.broken.covers(agent.path)) return [];
	const shown = (key: Path, builtIn: string) => {
		const origin = originOf(tree, agent, key);
		const written = origin === null ? null : findTree(tree, origin);
		return written?.type === "scalar" ? quote(written.written) : quote(builtIn);
	};
	const findings = [
		...checkCommand(tree, agent, shape, settings),
		...checkHibernate(tree, agent, shape, settings),
		...checkDelays(tree, agent),
		...checkLease(tree, agent, shape, settings),
	];
	for (const { keys, judge } of RULES) {
		const judged = keys.every((key) => holds(agent, key) && !isBroken(tree, agent, shape, key));
		const reported = judged ? judge(settings, shown) : null;
		if (reported !== null) findings.push(place(tree, agent, keys, reported));
	}
	return findings;
}

function checkCommand(
	tree: Tree,
	agent: WrittenAgent,
	shape: CheckedShape,
	settings: AgentSettings,
): Finding[] {
	if (!NAMELESS.has(settings.adapter) || settings.command !== undefined) return [];
	const around = findOutline(FLEET_OUTLINE, agent.path) ?? FLEET_OUTLINE;
	const written = [...namesIn(tree, agent.path), ...namesIn(tree, ["defaults"])];
	// An invalid value of one of the two is already reported.
	const slipped = ["adapter", "command"].some(
		(key) => isBroken(tree, agent, shape, [key]) || isMisspelt(key, written, around),
	);
	if (slipped) return [];
	const said = {
		message: "required key is missing",
		expected: `the program and its arguments as a list, since the adapter is \`${settings.adapter}\``,
		hint: "write `command: [node, agent.mjs]`, or name the `adapter`",
	};
	return [finding(locateKey(tree, agent.path), [...agent.path, "command"], said)];
}

const HIBERNATE: Path = ["hibernate"];

/** A stopped agent that cannot resume its conversation would lose it. */
function checkHibernate(
	tree: Tree,
	agent: WrittenAgent,
	shape: CheckedShape,
	{ hibernate, adapter }: AgentSettings,
): Finding[] {
	const keys: readonly Path[] = [HIBERNATE, ["adapter"]];
	if (hibernate === undefined || !keys.every((key) => holds(agent, key))) return [];
	if (keys.some((key) => isBroken(tree, agent, shape, key))) return [];
	const isCustom = !(ADAPTERS as readonly string[]).includes(adapter);
	const id = isCustom ? findTree(tree, ["adapters", adapter, "conversation", "id"]) : null;
	const resumes = isCustom
		? id?.type === "scalar" && id.written !== "none"
		: !NAMELESS.has(adapter);
	if (resumes) return [];
	return [
		place(tree, agent, keys, {
			message: `the agent cannot hibernate: its adapter ${quote(adapter)} cannot resume a conversation`,
			hint: "remove `hibernate`, or name an `adapter` with a `conversation`",
		}),
	];
}

const LEASE: Path = ["placement", "lease"];
const ON_LOST: Path = ["placement", "on_lost"];

/** A shorter lease leaves no time to end the agent before another host may start it. */
function checkLease(
	tree: Tree,
	agent: WrittenAgent,
	shape: CheckedShape,
	{ placement, kind }: AgentSettings,
): Finding[] {
	if (placement !== undefined && kind === "call") {
		return [LEASE, ON_LOST]
			.filter((key) => findTree(tree, [...agent.path, ...key]) !== null)
			.map((key) =>
				place(tree, agent, [key], {
					message: `only session agents have \`${key.at(-1)}\`: the tasks of a call agent have no lease`,
					hint: "remove it",
				}),
			);
	}
	if (placement === undefined || placement.lease >= LEASE_MS_MIN) return [];
	if (!holds(agent, LEASE) || isBroken(tree, agent, shape, LEASE)) return [];
	const shortest = renderDuration(LEASE_MS_MIN);
	return [
		place(tree, agent, [LEASE], {
			message: `the lease is too short: ${renderDuration(placement.lease)}`,
			expected: `at least \`${shortest}\``,
			hint: `write \`lease: ${shortest}\``,
		}),
	];
}

const FIXED_DELAYS = ["transient_delay", "flapping_delay"];

/** `delay` replaces both. A fixed delay in `defaults` still applies to the agents without `delay`. */
function checkDelays(tree: Tree, agent: WrittenAgent): Finding[] {
	const policy: Path = [...agent.path, "crash_policy"];
	const written = namesIn(tree, policy);
	if (!holds(agent, ["crash_policy"]) || !written.includes("delay")) return [];
	return FIXED_DELAYS.filter((key) => written.includes(key)).map((key) =>
		finding(locateKey(tree, [...policy, key]), [...policy, key], {
			message: `${quote(key)} has no effect, because \`delay\` replaces it`,
			hint: "remove one of the two",
		}),
	);
}

function holds(agent: WrittenAgent, key: Path): boolean {
	return agent.kind !== null && KINDS_OF_KEY[key[0] as AgentKey].includes(agent.kind);
}

function isBroken(tree: Tree, agent: WrittenAgent, shape: CheckedShape, key: Path): boolean {
	if (shape.broken.isEmpty) return false;
	const origin = originOf(tree, agent, key) ?? ["defaults", ...key];
	return shape.broken.covers(origin) || shape.broken.covers([...agent.path, ...key]);
}

/** At the agent's own key, else in `defaults`, else at the agent. */
function place(tree: Tree, agent: WrittenAgent, keys: readonly Path[], said: Explanation): Finding {
	const origins = keys.map((key) => originOf(tree, agent, key)).filter((each) => each !== null);
	const path = origins.find((each) => each[0] !== "defaults") ?? origins[0] ?? agent.path;
	return finding(locateValue(tree, path), path, said);
}

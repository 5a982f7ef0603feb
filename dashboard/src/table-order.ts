/** Which agents the table shows, and in which order. The order never depends on what changes by the second. */

import type { AgentJson } from "../../src/http/contract/agents.js";
import type { LiveResources } from "../../src/http/contract/streams.js";

export const orders = {
	project: "By project",
	needs: "Needs you first",
	name: "By name",
	cost: "By cost",
	memory: "By memory",
} as const;
export type Order = keyof typeof orders;

export interface Group {
	/** Null for a list without projects. */
	readonly name: string | null;
	readonly agents: readonly AgentJson[];
	readonly memoryBytes: number | null;
	/** Null if no agent of it reports a cost. */
	readonly usd: number | null;
}

/** Whether every word of the filter is in the agent's id, CLI, state or reason. */
export function wanted(agent: AgentJson, text: string): boolean {
	const words = text.toLowerCase().split(/\s+/).filter(Boolean);
	if (words.length === 0) return true;
	const { id, adapter, kind, status } = agent;
	const whole =
		`${id} ${adapter} ${kind} ${status.state.replaceAll("_", " ")} ${status.why}`.toLowerCase();
	return words.every((word) => whole.includes(word));
}

export function groupAgents(
	agents: readonly AgentJson[],
	order: Order,
	resources: LiveResources["agents"],
): readonly Group[] {
	if (order !== "project") {
		return [sumUp(null, [...agents].sort(comparing(order, resources)), resources)];
	}
	const byProject = new Map<string, AgentJson[]>();
	for (const agent of agents) {
		const group = byProject.get(agent.project) ?? [];
		group.push(agent);
		byProject.set(agent.project, group);
	}
	const groups = [...byProject].map(([name, found]) => {
		// In a large fleet, problems come first inside a project.
		const rows = agents.length > 40 ? [...found].sort(needsFirst) : found;
		return sumUp(name, rows, resources);
	});
	if (agents.length <= 40) return groups;
	const problems = ({ agents: each }: Group) =>
		each.filter(({ status }) => status.needs_you).length;
	return groups.sort((a, b) => problems(b) - problems(a));
}

const needsFirst = (a: AgentJson, b: AgentJson) =>
	Number(b.status.needs_you) - Number(a.status.needs_you);

function comparing(
	order: Order,
	resources: LiveResources["agents"],
): (a: AgentJson, b: AgentJson) => number {
	const byName = (a: AgentJson, b: AgentJson) => (a.id < b.id ? -1 : 1);
	const value = (agent: AgentJson) =>
		order === "cost" ? (agent.usage?.usd_today ?? -1) : (resources[agent.id]?.[0] ?? -1);
	if (order === "name") return byName;
	if (order === "needs") return (a, b) => needsFirst(a, b) || byName(a, b);
	return (a, b) => value(b) - value(a) || byName(a, b);
}

function sumUp(
	name: string | null,
	agents: readonly AgentJson[],
	resources: LiveResources["agents"],
): Group {
	const memory = agents.flatMap(({ id }) => resources[id]?.[0] ?? []);
	const costs = agents.flatMap(({ usage }) => usage?.usd_today ?? []);
	const sum = (values: readonly number[]) =>
		values.length === 0 ? null : values.reduce((total, value) => total + value, 0);
	return { name, agents, memoryBytes: sum(memory), usd: sum(costs) };
}

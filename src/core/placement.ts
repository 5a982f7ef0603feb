/** Which host of a cluster runs an agent, from what the hosts announce. Any host may decide it; all decide alike. */

import { type ClusterHost, hostState } from "./cluster.js";

/** The requirements of an agent for its host. */
export interface AgentNeeds {
	readonly agent: string;
	/** The agent CLI that must be installed; null for none. */
	readonly cli: string | null;
	readonly labels: Readonly<Record<string, string>>;
}

/** A host with the agents that it could run, and how many leases it has. */
export interface PlacementHost
	extends Pick<
		ClusterHost,
		"host" | "home" | "labels" | "adapters" | "cpus" | "load" | "draining" | "ageMs"
	> {
	readonly offers: readonly string[];
	readonly leases: number;
}

export interface Placed {
	readonly host: string;
	readonly home: string;
	readonly reason: string;
}

/** The host with the fewest leases per CPU, then the lowest load; null if no host is suitable. */
export function placeAgent(
	agent: AgentNeeds,
	hosts: readonly PlacementHost[],
): { readonly placed: Placed | null; readonly reason: string } {
	const suitable: PlacementHost[] = [];
	const refused: string[] = [];
	for (const host of hosts) {
		const reason = refuseHost(agent, host);
		if (reason === null) suitable.push(host);
		else refused.push(`${host.host}: ${reason}`);
	}
	const others = refused.length === 0 ? "" : ` (${renderRefused(refused)})`;
	const [best] = suitable.toSorted(
		(a, b) =>
			a.leases / a.cpus - b.leases / b.cpus ||
			a.load / a.cpus - b.load / b.cpus ||
			(a.host < b.host ? -1 : 1),
	);
	if (best === undefined) return { placed: null, reason: `no host is suitable${others}` };
	const { host, home, leases, cpus } = best;
	const only = suitable.length === 1 ? "the only suitable host" : "the fewest leases per CPU";
	const reason = `${only}, ${leases} on ${cpus}${others}`;
	return { placed: { host, home, reason }, reason };
}

/** The reason is stored with each lease, and a cluster may have thousands of hosts. */
const REFUSED_MAX = 8;

function renderRefused(refused: readonly string[]): string {
	const rest = refused.length - REFUSED_MAX;
	const more = rest > 0 ? [`and ${rest} other hosts`] : [];
	return [...refused.slice(0, REFUSED_MAX), ...more].join("; ");
}

function refuseHost(agent: AgentNeeds, host: PlacementHost): string | null {
	const state = hostState(host);
	if (state !== "up") return state;
	if (!host.offers.includes(agent.agent)) return "the agent is not up there";
	const wrong = Object.entries(agent.labels).find(([name, value]) => host.labels[name] !== value);
	if (wrong !== undefined) return `label ${wrong[0]} is not ${wrong[1]}`;
	const { cli } = agent;
	if (cli !== null && !host.adapters.includes(cli)) return `${cli} is not installed`;
	return null;
}

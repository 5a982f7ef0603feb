/** Assigns free leases to hosts, if no other host does so at this moment. */

import { type Observed, observe } from "../core/lease.js";
import { placeAgent } from "../core/placement.js";
import type { Assignment, LeaseTable, PlacedAgent } from "../ports/leases.js";

export interface SweepWorld {
	readonly table: LeaseTable;
	readonly agents: ReadonlyMap<string, PlacedAgent>;
	/** The leases as this host last saw them change. */
	readonly observed: ReadonlyMap<string, Observed>;
	/** Why no host is suitable; null if one is. */
	readonly explain: (agent: string, reason: string | null) => void;
}

/** Returns the assignments that were made. */
export async function sweepLeases(
	names: readonly string[],
	{ table, agents, observed, explain }: SweepWorld,
): Promise<readonly Assignment[]> {
	const made = await table.sweep(names, (leases, hosts) => {
		const extra = new Map<string, number>();
		return leases.flatMap((lease): Assignment[] => {
			const needs = agents.get(lease.agent);
			const before = observed.get(lease.agent) ?? null;
			// It has changed since this host looked.
			if (needs === undefined || before === null || observe(before, lease, 0) !== before) return [];
			const now = hosts.map((host) => ({
				...host,
				leases: host.leases + (extra.get(host.home) ?? 0),
			}));
			const { id: agent, cli } = needs;
			const { labels } = needs.placement;
			const { placed, reason } = placeAgent({ agent, cli, labels }, now);
			explain(agent, reason);
			if (placed === null) return [];
			extra.set(placed.home, (extra.get(placed.home) ?? 0) + 1);
			const { epoch, renewals } = lease;
			return [{ ...placed, agent, epoch, renewals }];
		});
	});
	for (const { agent } of made ?? []) explain(agent, null);
	return made ?? [];
}

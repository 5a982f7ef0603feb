/** The agents with `on_lost: ask` about whose lost host an operator is asked, as this host sees it. */

import { type Lease, mustAsk, type Observed } from "../core/lease.js";
import type { LeasedAgents, LeaseTable } from "../ports/leases.js";

export interface LookAtLeases {
	readonly table: LeaseTable;
	readonly agents: LeasedAgents | null;
	readonly leases: ReadonlyMap<string, Lease>;
	readonly observed: ReadonlyMap<string, Observed>;
	/** On the clock of the observations. */
	readonly nowMs: number;
	readonly wallMs: number;
}

export class AskedAgents {
	readonly #asked = new Map<string, { readonly epoch: number; readonly sinceMs: number }>();

	/** Null if no operator is asked about it. */
	sinceMs(agent: string): number | null {
		return this.#asked.get(agent)?.sinceMs ?? null;
	}

	/** An operator has decided. */
	answered(agent: string): void {
		this.#asked.delete(agent);
	}

	/** Asks about hosts that are lost, and no longer about others. */
	async look({ table, agents, leases, observed, nowMs, wallMs }: LookAtLeases): Promise<void> {
		for (const [agent, asked] of [...this.#asked]) {
			const [lease, seen] = [leases.get(agent), observed.get(agent)];
			const isOpen = lease !== undefined && seen !== undefined && mustAsk(lease, seen, nowMs);
			if (isOpen && lease.epoch === asked.epoch) continue;
			this.#asked.delete(agent);
			agents?.asksNoMore(agent, asked.epoch);
		}
		for (const [agent, lease] of leases) {
			const seen = observed.get(agent);
			if (this.#asked.has(agent) || seen === undefined || !mustAsk(lease, seen, nowMs)) continue;
			const { epoch } = lease;
			const notifies = await table.ask({ agent, epoch });
			this.#asked.set(agent, { epoch, sinceMs: wallMs });
			agents?.asks(agent, notifies);
		}
	}
}

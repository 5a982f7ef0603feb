/** The leases of a cluster in memory, on a clock that the test sets. */

import type { ClusterHost, Member } from "../../src/core/cluster.js";
import { isFree, type Lease } from "../../src/core/lease.js";
import type { PlacementHost } from "../../src/core/placement.js";
import type { LeaseTable } from "../../src/ports/leases.js";

interface Row extends Omit<Lease, "leftMs" | "isHostKnown" | "isHostLeaving"> {
	readonly expiresAtMs: number;
}

export interface MemoryLeases extends LeaseTable {
	/** Every call fails while it is set. */
	fail(error: Error | null): void;
	row(agent: string): Lease | null;
}

export function createMemoryLeases(world: {
	/** The database's clock. */
	readonly nowMs: () => number;
	readonly hosts: () => readonly ClusterHost[];
	readonly isLeaving?: (home: string) => boolean;
}): MemoryLeases {
	const rows = new Map<string, Row>();
	const offers = new Map<string, readonly string[]>();
	const asked = new Map<string, number>();
	const wantedAtMs = new Map<string, number>();
	let failure: Error | null = null;
	const answer = async <T>(value: () => T): Promise<T> => {
		if (failure !== null) throw failure;
		return value();
	};
	const shown = ({ expiresAtMs, ...row }: Row): Lease => ({
		...row,
		leftMs: expiresAtMs - world.nowMs(),
		isHostLeaving: world.isLeaving?.(row.home ?? "") ?? false,
		isHostKnown: world.hosts().some(({ host, home }) => host === row.host && home === row.home),
	});
	const change = (agent: string, changes: Partial<Row>) => {
		const row = rows.get(agent);
		if (row === undefined) return;
		// An answer is about one holder.
		const isNew = changes.epoch !== undefined && changes.epoch !== row.epoch;
		rows.set(agent, { ...row, ...(isNew && { answer: null }), ...changes });
	};
	const isMember = ({ host, home, boot }: Member) =>
		world.hosts().some((each) => each.host === host && each.home === home && each.boot === boot);
	return {
		fail(error) {
			failure = error;
		},
		row(agent) {
			const row = rows.get(agent);
			return row === undefined ? null : shown(row);
		},
		offer: (member, agents) =>
			answer(() => {
				if (isMember(member))
					offers.set(
						member.home,
						agents.map(({ agent }) => agent),
					);
				return agents.map(({ agent, onLost, leaseMs }) => {
					const made = { agent, onLost, leaseMs, epoch: 0, renewals: 0, host: null, home: null };
					const row = rows.get(agent) ?? {
						...{ ...made, boot: null, wanted: true, reason: "", answer: null },
						expiresAtMs: world.nowMs(),
					};
					rows.set(agent, row);
					return shown(row);
				});
			}),
		renew: (member, held) =>
			answer(() =>
				held.flatMap(({ agent, epoch }) => {
					const row = rows.get(agent);
					const isMine = row?.home === member.home && row.boot === member.boot;
					if (row?.epoch !== epoch || !isMine || !isMember(member)) return [];
					const expiresAtMs = world.nowMs() + row.leaseMs;
					change(agent, { expiresAtMs, renewals: row.renewals + 1 });
					return [agent];
				}),
			),
		claim: (member, claims) =>
			answer(() =>
				claims.flatMap(({ agent, epoch, onLost, leaseMs }) => {
					const row = rows.get(agent);
					const isMine = row?.home === member.home && row.host !== null && row.wanted;
					if (row?.epoch !== epoch || !isMine || !isMember(member)) return [];
					const { host, boot } = member;
					const expiresAtMs = world.nowMs() + leaseMs;
					change(agent, { host, boot, onLost, leaseMs, expiresAtMs, epoch: epoch + 1 });
					return [{ agent, epoch: epoch + 1 }];
				}),
			),
		release: (member, { agent, epoch }) =>
			answer(() => {
				const row = rows.get(agent);
				if (row?.epoch !== epoch || row.home !== member.home || row.boot !== member.boot) {
					return false;
				}
				change(agent, { host: null, home: null, boot: null, epoch: epoch + 1 });
				return true;
			}),
		ask: ({ agent, epoch }) =>
			answer(() => {
				const row = rows.get(agent);
				if (row?.epoch !== epoch || asked.get(agent) === epoch) return false;
				asked.set(agent, epoch);
				return true;
			}),
		answer: ({ agent, epoch }, given) =>
			answer(() => {
				const row = rows.get(agent);
				if (row?.epoch !== epoch || row.expiresAtMs > world.nowMs()) return false;
				change(agent, { answer: given });
				return true;
			}),
		setWanted: (wishes, by) =>
			answer(() => {
				for (const { agent, wanted, ageMs } of wishes) {
					const atMs = world.nowMs() - ageMs;
					if (atMs < (wantedAtMs.get(agent) ?? Number.NEGATIVE_INFINITY)) continue;
					wantedAtMs.set(agent, atMs);
					const isDown = !wanted && rows.get(agent)?.wanted === true;
					change(agent, { wanted, ...(isDown && { reason: by }) });
				}
			}),
		sweep: (agents, decide) =>
			answer(() => {
				const free = agents.flatMap((agent) => {
					const row = rows.get(agent);
					return row?.wanted && isFree(shown(row)) ? [shown(row)] : [];
				});
				const hosts = world.hosts().map((host): PlacementHost => {
					const leases = [...rows.values()].filter(({ home }) => home === host.home).length;
					return { ...host, offers: offers.get(host.home) ?? [], leases };
				});
				return decide(free, hosts).filter(({ agent, epoch, renewals, host, home, reason }) => {
					const row = rows.get(agent);
					if (row?.epoch !== epoch || row.renewals !== renewals) return false;
					const expiresAtMs = world.nowMs() + row.leaseMs;
					change(agent, { host, home, boot: null, epoch: epoch + 1, reason, expiresAtMs });
					return true;
				});
			}),
	};
}

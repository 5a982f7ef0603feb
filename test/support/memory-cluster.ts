/** The database of a cluster in memory. */

import { onTestFinished } from "vitest";
import { createMembership, type Membership } from "../../src/cluster/membership.js";
import {
	type ClusterHost,
	type HostFacts,
	hostState,
	type Member,
} from "../../src/core/cluster.js";
import type { ClusterDatabase, ClusterView } from "../../src/ports/cluster.js";
import { eventually } from "../faults/fleet-home.js";
import { createMemoryLeases } from "./memory-leases.js";
import { createMemoryLimits } from "./memory-limits.js";

export const HOST_REPORT: HostFacts = {
	...{ version: "1.2.3", labels: { zone: "a" }, advertise: null, adapters: ["claude"] },
	...{ cpus: 2, load: 0.5, memoryTotalBytes: 2_000, memoryFreeBytes: 1_000, agents: 1 },
};

interface MemoryDatabase extends ClusterDatabase {
	/** Makes the last heartbeat of a host this old. */
	age(host: string, ageMs: number): void;
	/** Every call fails with this error; null ends that. */
	fail(error: Error | null): void;
}

function createMemoryDatabase(): MemoryDatabase {
	const rows = new Map<string, ClusterHost>();
	let failure: Error | null = null;
	const answer = async <T>(value: () => T): Promise<T> => {
		if (failure !== null) throw failure;
		return value();
	};
	return {
		age(host, ageMs) {
			const row = rows.get(host);
			if (row !== undefined) rows.set(host, { ...row, ageMs });
		},
		fail(error) {
			failure = error;
		},
		prepare: () => answer(() => {}),
		join: (member, facts, refuse) =>
			answer(() => {
				const refused = refuse([...rows.values()]);
				const draining = rows.get(member.host)?.draining ?? false;
				const row = { ...member, ...facts, draining, joinedAtMs: 0, ageMs: 0 };
				if (refused === null) rows.set(member.host, row);
				return refused;
			}),
		beat: ({ host, boot }: Member, facts) =>
			answer(() => {
				const row = rows.get(host);
				if (row === undefined || row.boot !== boot || hostState(row) === "silent") return false;
				rows.set(host, { ...row, ...facts, ageMs: 0 });
				return true;
			}),
		hosts: () => answer(() => [...rows.values()]),
		setDraining: (host, draining) =>
			answer(() => {
				const row = rows.get(host);
				if (row !== undefined) rows.set(host, { ...row, draining: draining !== false });
				return row !== undefined;
			}),
		remove: (host) =>
			answer(() => {
				const row = rows.get(host);
				if (row === undefined) return "unknown";
				if (hostState(row) !== "silent") return "alive";
				rows.delete(host);
				return "removed";
			}),
		// Tests of the membership share no tasks.
		tasks: {} as ClusterDatabase["tasks"],
		leases: createMemoryLeases({ nowMs: Date.now, hosts: () => [...rows.values()] }),
		limits: createMemoryLimits(() => [...rows.values()]),
		close: async () => {},
	};
}

/** A cluster that this host has joined. */
export async function createMemoryCluster(host: string): Promise<{
	readonly cluster: Membership;
	readonly database: MemoryDatabase;
	readonly views: readonly ClusterView[];
}> {
	const database = createMemoryDatabase();
	const views: ClusterView[] = [];
	const cluster = createMembership({ onChange: (view) => views.push(view), wallMs: () => 0 });
	const over = new AbortController();
	onTestFinished(() => over.abort());
	const member = { host, home: `home-${host}`, boot: `boot-${host}` };
	const place = { member, open: async () => database, facts: async () => HOST_REPORT };
	void cluster.run(place, over.signal);
	await eventually(() => cluster.view().state === "member", "the host has joined", 10_000, 5);
	return { cluster, database, views };
}

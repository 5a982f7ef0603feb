/** The usage limits of a cluster in memory. All hosts have one clock. */

import { type ClusterHost, hostState } from "../../src/core/cluster.js";
import type { LimitRow } from "../../src/core/shared-limit.js";
import type { LimitTable } from "../../src/ports/shared-limits.js";

export interface MemoryLimits extends LimitTable {
	/** Every call fails while it is set. */
	fail(error: Error | null): void;
}

export function createMemoryLimits(hosts: () => readonly ClusterHost[]): MemoryLimits {
	const rows = new Map<string, LimitRow>();
	let failure: Error | null = null;
	const isHostAlive = ({ host, home }: Pick<LimitRow, "host" | "home">) =>
		hosts().some(
			(each) => each.host === host && each.home === home && hostState(each) !== "silent",
		);
	return {
		fail(error) {
			failure = error;
		},
		async read(accounts) {
			if (failure !== null) throw failure;
			const found = accounts.flatMap((account) => rows.get(account) ?? []);
			return found.map((row) => ({ ...row, isHostAlive: isHostAlive(row) }));
		},
		async write({ host, home }, account, version, limit) {
			if (failure !== null) throw failure;
			if ((rows.get(account)?.version ?? 0) !== version) return null;
			const row = { ...limit, account, version: version + 1, host, home, isHostAlive: true };
			rows.set(account, row);
			return version + 1;
		},
	};
}

/** The database of a cluster fails over to its standby, behind one address. */

import { expect, onTestFinished, test } from "vitest";
import { describeWithPostgres } from "../support/needs.js";
import { startPostgres } from "../support/postgres.js";
import { temporaryFolder } from "../support/reeve.js";
import { eventually, lockedAgent } from "./fleet-home.js";
import { alive, createCluster, ledgerOf, runningOn } from "./lease-hosts.js";

interface LeaseState {
	readonly agent: string;
	readonly host: string;
	readonly epoch: string;
	readonly renewals: string;
}

describeWithPostgres("a database with a standby", () => {
	test("fails over: agents keep running with their leases, nothing runs twice, and no wish is lost", {
		timeout: 480_000,
	}, async () => {
		const shared = temporaryFolder();
		const { hosts, postgres } = await createCluster({
			...{ agents: ["a0", "a1", "a2", "a3"], shared, onLost: "replace", lease: "90s" },
			more: (host) => lockedAgent(shared, `only-${host}`),
		});
		await eventually(async () => (await runningOn(hosts)).size === 7, "all agents run");
		const standby = await startPostgres({ standbyOf: postgres });
		onTestFinished(() => standby.stop());
		await postgres.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
		await postgres.query("SELECT pg_reload_conf()");
		await eventually(async () => {
			const rows = await postgres.query("SELECT sync_state FROM pg_stat_replication");
			return rows[0]?.sync_state === "sync";
		}, "the standby is synchronous");
		const leases = async (server: typeof postgres) =>
			(await server.query(
				"SELECT agent, host, epoch, renewals FROM reeve.leases ORDER BY agent",
			)) as LeaseState[];
		const before = await leases(postgres);
		const pids = await pidsOf();
		expect(before).toHaveLength(4);

		await postgres.kill();
		const one = hosts[0];
		await eventually(
			async () => (await one?.home.reeve("host", "ls"))?.code !== 0,
			"the hosts see that the database is away",
		);
		// Accepted while there is no database.
		await one?.home.must("down", "p:a0");
		await standby.query("SELECT pg_promote()");
		for (const { network } of hosts) network.forwardTo(standby.port);
		await eventually(
			async () => {
				const now = await leases(standby);
				const grown = now.filter(
					({ renewals }, at) => Number(renewals) > Number(before[at]?.renewals),
				);
				return grown.length >= 3;
			},
			"the leases are renewed in the new primary",
			60_000,
			200,
		);
		await eventually(
			async () => (await runningOn(hosts)).size === 6 && !alive(shared).includes("a0"),
			"the agent that was taken down meanwhile is down",
			60_000,
			200,
		);
		// The same processes, under the same leases.
		const after = await leases(standby);
		const others = <T extends { readonly agent: string }>(rows: readonly T[]) =>
			rows.filter(({ agent }) => agent !== "p:a0").map((row) => ({ ...row, renewals: "" }));
		expect(others(after)).toEqual(others(before));
		const now = await pidsOf();
		pids.delete("a0");
		expect(now).toEqual(pids);
		expect(ledgerOf(shared).filter((line) => line.startsWith("DUPLICATE"))).toEqual([]);
		expect(alive(shared).length).toBe(6);
		for (const { home } of hosts) {
			const lost = await home.must("events", "--type", "agent.lease_lost");
			expect(lost).not.toContain("could not be renewed");
		}

		async function pidsOf(): Promise<Map<string, number | null>> {
			const found = await Promise.all(hosts.map(({ home }) => home.ps()));
			const running = found.flat().filter(({ process }) => process === "running");
			return new Map(running.map(({ agent, pid }): [string, number | null] => [agent, pid]).sort());
		}
	});
});

/** The shared usage limits: one suite over the table in memory and over a real PostgreSQL. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { DEFAULT_USAGE_LIMIT } from "../../src/core/account.js";
import type { ClusterHost } from "../../src/core/cluster.js";
import { parseDatabaseUrl } from "../../src/core/database-url.js";
import type { SharedLimit } from "../../src/core/shared-limit.js";
import type { LimitTable } from "../../src/ports/shared-limits.js";
import { openClusterDatabase } from "../../src/store/postgres/cluster-database.js";
import { HOST_REPORT } from "../support/memory-cluster.js";
import { createMemoryLimits } from "../support/memory-limits.js";
import { describeWithPostgres } from "../support/needs.js";
import { startPostgres, type TestPostgres } from "../support/postgres.js";

interface TestTable {
	readonly table: LimitTable;
	/** Makes the last heartbeat of a host too old. */
	silence(host: string): Promise<void>;
	close(): Promise<void>;
}

const memberOf = (host: string, boot = "1") => ({ host, home: `home-${host}`, boot });
const [A, B] = [memberOf("a"), memberOf("b")];
const NOW_MS = 1_900_000_000_000;
const LIMIT: SharedLimit = {
	...{ phase: "limited", sinceMs: NOW_MS - 5_000, firstAtMs: NOW_MS - 60_000, hits: 2 },
	...{ endKnown: true, untilMs: NOW_MS + 3_600_000, reason: "usage limit", probe: null },
	settings: { ...DEFAULT_USAGE_LIMIT, quietHours: { fromMinute: 60, toMinute: 120 } },
};

function limitSuite(open: () => Promise<TestTable>): void {
	let world: TestTable;
	beforeEach(async () => {
		world = await open();
		return () => world.close();
	});
	const read = async (nowMs = NOW_MS) => (await world.table.read(["work"], nowMs))[0];

	test("a limit is read as it was written, on the clock of the reader", async () => {
		expect(await world.table.read(["work"], NOW_MS)).toEqual([]);
		expect(await world.table.write(A, "work", 0, LIMIT, NOW_MS)).toBe(1);
		const row = await read();
		const { sinceMs, firstAtMs, untilMs, ...facts } = LIMIT;
		expect(row).toMatchObject({ ...facts, account: "work", version: 1, host: "a", home: "home-a" });
		expect(Math.abs((row?.sinceMs ?? 0) - sinceMs)).toBeLessThan(1_000);
		expect(Math.abs((row?.firstAtMs ?? 0) - firstAtMs)).toBeLessThan(1_000);
		expect(Math.abs((row?.untilMs ?? 0) - (untilMs ?? 0))).toBeLessThan(1_000);
		expect(await world.table.read(["other"], NOW_MS)).toEqual([]);
	});

	test("of two hosts that write at once, one does", async () => {
		const probing = (probe: string): SharedLimit => ({ ...LIMIT, phase: "probing", probe });
		await world.table.write(A, "work", 0, { ...LIMIT, untilMs: null }, NOW_MS);
		expect((await read())?.untilMs).toBeNull();
		const written = await Promise.all([
			world.table.write(A, "work", 1, probing("p:a"), NOW_MS),
			world.table.write(B, "work", 1, probing("p:b"), NOW_MS),
		]);
		expect(written.toSorted()).toEqual([2, null]);
		const winner = written[0] === 2 ? "a" : "b";
		expect(await read()).toMatchObject({ host: winner, probe: `p:${winner}`, version: 2 });
	});

	test("a row shows whether the host that wrote it is alive", async () => {
		await world.table.write(A, "work", 0, LIMIT, NOW_MS);
		expect((await read())?.isHostAlive).toBe(true);
		await world.silence("a");
		expect((await read())?.isHostAlive).toBe(false);
	});
}

describe("limits in memory", () => {
	limitSuite(async () => {
		const hosts = new Map<string, ClusterHost>();
		for (const member of [A, B]) {
			const times = { draining: false, joinedAtMs: 0, ageMs: 0 };
			hosts.set(member.host, { ...member, ...HOST_REPORT, ...times });
		}
		return {
			table: createMemoryLimits(() => [...hosts.values()]),
			async silence(host) {
				const row = hosts.get(host);
				if (row !== undefined) hosts.set(host, { ...row, ageMs: 60_000 });
			},
			async close() {},
		};
	});
});

describeWithPostgres("limits on PostgreSQL", () => {
	let postgres: TestPostgres;
	let made = 0;
	beforeAll(async () => {
		postgres = await startPostgres();
	});
	afterAll(() => postgres.stop());
	const open = async () => {
		const name = `limits${++made}`;
		const parsed = parseDatabaseUrl(await postgres.createDatabase(name));
		if (!parsed.ok) throw new Error(parsed.problem);
		const database = await openClusterDatabase(parsed.target, "test");
		await database.prepare();
		for (const member of [A, B]) await database.join(member, HOST_REPORT, () => null);
		return { database, name };
	};

	limitSuite(async () => {
		const { database, name } = await open();
		return {
			table: database.limits,
			silence: async (host) =>
				void (await postgres.query(
					`UPDATE reeve.hosts SET seen_at = now() - interval '1 min' WHERE host = '${host}'`,
					name,
				)),
			close: () => database.close(),
		};
	});

	test("a daemon that is no longer the one of its host writes nothing", async () => {
		const { database } = await open();
		expect(await database.limits.write(memberOf("a", "0"), "work", 0, LIMIT, NOW_MS)).toBeNull();
		expect(await database.limits.read(["work"], NOW_MS)).toEqual([]);
		await database.close();
	});
});

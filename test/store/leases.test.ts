/** The leases of agents: one suite over the table in memory, which simulations use, and over a real PostgreSQL. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ClusterHost, Member } from "../../src/core/cluster.js";
import { parseDatabaseUrl } from "../../src/core/database-url.js";
import type { Lease, OnLost } from "../../src/core/lease.js";
import type { Assignment, LeaseTable, OfferedAgent } from "../../src/ports/leases.js";
import { openClusterDatabase } from "../../src/store/postgres/cluster-database.js";
import { HOST_REPORT } from "../support/memory-cluster.js";
import { createMemoryLeases } from "../support/memory-leases.js";
import { describeWithPostgres } from "../support/needs.js";
import { startPostgres, type TestPostgres } from "../support/postgres.js";

interface TestTable {
	readonly table: LeaseTable;
	join(host: string, boot: string): Promise<void>;
	remove(host: string): Promise<void>;
	/** Lets all leases expire. */
	expire(): Promise<void>;
	close(): Promise<void>;
}

const memberOf = (host: string, boot = "1") => ({ host, home: `home-${host}`, boot });
const A = memberOf("a");
const B = memberOf("b");
const offerOf = (onLost: OnLost) => ({ agent: "p:a", onLost, leaseMs: 60_000 });
const assignTo =
	(host: string) =>
	(leases: readonly Lease[]): readonly Assignment[] =>
		leases.map(({ agent, epoch, renewals }) => ({
			...{ agent, epoch, renewals, host, home: `home-${host}`, reason: "for a test" },
		}));

function leaseSuite(open: () => Promise<TestTable>): void {
	let world: TestTable;
	beforeEach(async () => {
		world = await open();
		await world.join("a", "1");
		await world.join("b", "1");
		return () => world.close();
	});

	async function read(onLost: OnLost = "replace"): Promise<Lease> {
		const [lease] = await world.table.offer(A, [offerOf(onLost)]);
		if (lease === undefined) throw new Error("no lease");
		return lease;
	}

	const wish = (wanted: boolean, ageMs = 0) =>
		world.table.setWanted([{ agent: "p:a", wanted, ageMs }], "b");

	/** The new epoch; null if the claim is outdated. */
	const claim = async (member: Member, lease: OfferedAgent & { readonly epoch: number }) =>
		(await world.table.claim(member, [lease]))[0]?.epoch ?? null;

	/** Host A holds the lease. */
	async function hold(onLost: OnLost = "replace"): Promise<number> {
		await read(onLost);
		expect(await world.table.sweep(["p:a"], assignTo("a"))).toHaveLength(1);
		const { epoch } = await read(onLost);
		return (await claim(A, { ...offerOf(onLost), epoch })) ?? -1;
	}

	test("a new lease has no holder, is assigned, and claimed by the host that it is assigned to", async () => {
		expect(await read()).toMatchObject({ epoch: 0, host: null, boot: null, wanted: true });
		await world.table.offer(B, [offerOf("replace")]);
		await world.table.sweep(["p:a"], (leases, hosts) => {
			expect(leases).toHaveLength(1);
			expect(hosts.map(({ host, offers, leases: own }) => [host, offers, own])).toEqual([
				["a", ["p:a"], 0],
				["b", ["p:a"], 0],
			]);
			return assignTo("a")(leases);
		});
		const assigned = await read();
		expect(assigned).toMatchObject({ epoch: 1, host: "a", boot: null, reason: "for a test" });
		expect(await claim(B, { ...offerOf("replace"), epoch: 1 })).toBeNull();
		expect(await claim(A, { ...offerOf("replace"), epoch: 0 })).toBeNull();
		expect(await claim(A, { ...offerOf("replace"), epoch: 1 })).toBe(2);
		const held = await read();
		expect(held).toMatchObject({ ...A, epoch: 2, isHostKnown: true });
		expect(held.leftMs).toBeGreaterThan(30_000);
	});

	test("only its daemon renews and releases it, with its epoch", async () => {
		const epoch = await hold();
		const mine = [{ agent: "p:a", epoch }];
		expect(await world.table.renew(A, mine)).toEqual(["p:a"]);
		expect((await read()).renewals).toBe(1);
		expect(await world.table.renew(B, mine)).toEqual([]);
		expect(await world.table.renew(memberOf("a", "2"), mine)).toEqual([]);
		expect(await world.table.renew(A, [{ agent: "p:a", epoch: epoch - 1 }])).toEqual([]);
		expect(await world.table.release(B, { agent: "p:a", epoch })).toBe(false);
		expect(await world.table.release(A, { agent: "p:a", epoch: epoch - 1 })).toBe(false);
		expect(await world.table.release(A, { agent: "p:a", epoch })).toBe(true);
		expect(await read()).toMatchObject({ host: null, boot: null, epoch: epoch + 1 });
		expect(await world.table.renew(A, mine)).toEqual([]);
	});

	test("the next daemon of a home claims it, and the earlier one can no longer do anything", async () => {
		const epoch = await hold();
		await world.join("a", "2");
		const next = memberOf("a", "2");
		expect(await world.table.renew(A, [{ agent: "p:a", epoch }])).toEqual([]);
		expect(await claim(A, { ...offerOf("replace"), epoch })).toBeNull();
		expect(await claim(next, { ...offerOf("replace"), epoch })).toBe(epoch + 1);
	});

	test.each([
		["keep", [0, 0, 1]],
		["ask", [0, 0, 1]],
		["replace", [0, 1, 1]],
	] as const)(
		"with `%s`, another host is assigned while it lasts, expired, or its host removed",
		async (onLost, expected) => {
			const epoch = await hold(onLost);
			const sweep = async () => (await world.table.sweep(["p:a"], assignTo("b")))?.length;
			const counts = [await sweep()];
			await world.expire();
			counts.push(await sweep());
			if (counts[1] === 0) {
				await world.remove("a");
				counts.push(await sweep());
			} else counts.push(1);
			expect(counts).toEqual(expected);
			expect(await world.table.renew(A, [{ agent: "p:a", epoch }])).toEqual([]);
			const [lease] = await world.table.offer(B, [offerOf(onLost)]);
			expect(lease).toMatchObject({ host: "b", boot: null });
		},
	);

	test("with `ask`, an operator decides about each holder that is lost, and one host asks", async () => {
		const epoch = await hold("ask");
		const holder = { agent: "p:a", epoch };
		// While it is held, there is nothing to decide.
		expect(await world.table.answer(holder, "replace")).toBe(false);
		await world.expire();
		expect(await world.table.ask(holder)).toBe(true);
		expect(await world.table.ask(holder)).toBe(false);
		expect(await world.table.ask({ agent: "p:a", epoch: epoch - 1 })).toBe(false);
		expect(await world.table.answer({ agent: "p:a", epoch: epoch - 1 }, "replace")).toBe(false);
		expect(await world.table.answer(holder, "wait")).toBe(true);
		expect(await read("ask")).toMatchObject({ answer: "wait" });
		expect(await world.table.sweep(["p:a"], assignTo("b"))).toEqual([]);
		expect(await world.table.answer(holder, "replace")).toBe(true);
		expect(await world.table.sweep(["p:a"], assignTo("b"))).toHaveLength(1);
		const [lease] = await world.table.offer(B, [offerOf("ask")]);
		expect(lease).toMatchObject({ host: "b", answer: null });
		// The next holder is a new question.
		const next = (await claim(B, { ...offerOf("ask"), epoch: lease?.epoch ?? 0 })) ?? 0;
		await world.expire();
		expect(await world.table.ask({ agent: "p:a", epoch: next })).toBe(true);
	});

	test("a claim of several leases takes those that are not outdated", async () => {
		const offers = ["p:a", "p:b"].map((agent) => ({ ...offerOf("replace"), agent }));
		await world.table.offer(A, offers);
		expect(await world.table.sweep(["p:a", "p:b"], assignTo("a"))).toHaveLength(2);
		const [first, second] = offers as [OfferedAgent, OfferedAgent];
		const claims = [
			{ ...first, epoch: 1 },
			{ ...second, epoch: 7 },
		];
		expect(await world.table.claim(A, claims)).toEqual([{ agent: "p:a", epoch: 2 }]);
		const leases = await world.table.offer(A, offers);
		expect(leases.map(({ agent, boot }) => [agent, boot]).toSorted()).toEqual([
			["p:a", "1"],
			["p:b", null],
		]);
	});

	test("of two wishes the later one counts, also if the earlier one arrives last", async () => {
		await read();
		await wish(false, 5_000);
		await wish(true, 60_000);
		expect(await read()).toMatchObject({ wanted: false, reason: "b" });
		await wish(true, 1_000);
		expect(await read()).toMatchObject({ wanted: true });
	});

	test("a renewal between the look and the assignment prevents it", async () => {
		const epoch = await hold();
		await world.expire();
		const before = await read();
		expect(await world.table.renew(A, [{ agent: "p:a", epoch }])).toEqual(["p:a"]);
		await world.expire();
		const made = await world.table.sweep(["p:a"], () => assignTo("b")([before]));
		expect(made).toEqual([]);
	});

	test("an agent that is taken down is neither assigned nor claimed until it is wanted again", async () => {
		const { epoch } = await read();
		await wish(false);
		expect(await read()).toMatchObject({ wanted: false, reason: "b" });
		expect(await world.table.sweep(["p:a"], assignTo("a"))).toEqual([]);
		await wish(true);
		await world.table.sweep(["p:a"], assignTo("a"));
		await wish(false);
		expect(await claim(A, { ...offerOf("replace"), epoch: epoch + 1 })).toBeNull();
	});
}

describe("leases in memory", () => {
	leaseSuite(async () => {
		const hosts = new Map<string, ClusterHost>();
		let nowMs = 1_000_000;
		return {
			table: createMemoryLeases({ nowMs: () => nowMs, hosts: () => [...hosts.values()] }),
			async join(host, boot) {
				const times = { draining: false, joinedAtMs: 0, ageMs: 0 };
				hosts.set(host, { ...memberOf(host, boot), ...HOST_REPORT, ...times });
			},
			async remove(host) {
				hosts.delete(host);
			},
			async expire() {
				nowMs += 61_000;
			},
			async close() {},
		};
	});
});

describeWithPostgres("leases on PostgreSQL", () => {
	let postgres: TestPostgres;
	let made = 0;
	beforeAll(async () => {
		postgres = await startPostgres();
	});
	afterAll(() => postgres.stop());

	leaseSuite(async () => {
		const name = `leases${++made}`;
		const parsed = parseDatabaseUrl(await postgres.createDatabase(name));
		if (!parsed.ok) throw new Error(parsed.problem);
		const database = await openClusterDatabase(parsed.target, "test");
		await database.prepare();
		const query = async (text: string) => void (await postgres.query(text, name));
		return {
			table: database.leases,
			join: async (host, boot) =>
				void (await database.join(memberOf(host, boot), HOST_REPORT, () => null)),
			remove: (host) => query(`DELETE FROM reeve.hosts WHERE host = '${host}'`),
			expire: () => query("UPDATE reeve.leases SET expires_at = now() - interval '1 s'"),
			close: () => database.close(),
		};
	});
});

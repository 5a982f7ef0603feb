/** The tables of a cluster on a real PostgreSQL. */

import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { DEFAULT_USAGE_LIMIT } from "../../src/core/account.js";
import { DEFAULT_BREAKER } from "../../src/core/breaker.js";
import { refuseToJoin } from "../../src/core/cluster.js";
import { parseDatabaseUrl } from "../../src/core/database-url.js";
import { beginShared, endShared } from "../../src/engine/shared-tasks/decide-shared.js";
import { placedCalls } from "../../src/engine/shared-tasks/shared-tasks.js";
import type { PlacedCall } from "../../src/engine/shared-tasks/shared-world.js";
import { recordTask } from "../../src/engine/tasks/submission.js";
import type { ClusterDatabase } from "../../src/ports/cluster.js";
import type { Turn } from "../../src/ports/shared-tasks.js";
import { openClusterDatabase } from "../../src/store/postgres/cluster-database.js";
import { fleetOf } from "../engine/daemon-world.js";
import { HOST_REPORT } from "../support/memory-cluster.js";
import { describeWithPostgres } from "../support/needs.js";
import { startPostgres, type TestPostgres } from "../support/postgres.js";

const FILES = [
	...["001-hosts.sql", "002-leases.sql", "003-account-limits.sql"],
	...["004-lost-answers.sql", "005-lease-wishes.sql", "006-leaving-hosts.sql"],
	...["007-lease-indexes.sql", "008-tasks.sql"],
];

async function open(url: string) {
	const parsed = parseDatabaseUrl(url);
	if (!parsed.ok) throw new Error(parsed.problem);
	return openClusterDatabase(parsed.target, "test");
}

const memberOf = (host: string, boot = "1") => ({ host, home: `home-${host}`, boot });
const accept = () => null;

/** Accepts a task and takes it from its queue, with every right that this needs. */
async function runOneTask({ tasks }: ClusterDatabase): Promise<string | undefined> {
	const member = memberOf("a");
	const [spec] = placedCalls(fleetOf("tool: { kind: call, command: [x], placement: {} }").agents);
	const { task, input } = recordTask(
		{ agent: "p:tool", action: "go" },
		{
			...{ newId: randomUUID, nowMs: 0, options: {}, fingerprint: null },
			specOf: () => spec as PlacedCall,
		},
	);
	const shared = { task, runner: null, ticket: 1, permit: null, takeovers: 0 };
	const events = [{ type: "circuit.changed", data: CHANGED } as const];
	const none = { blockedSinceMs: null, cancelReason: null };
	await tasks.accept(member, { shared: { ...shared, ...none }, input, events });
	const over = new AbortController();
	const run = async ({ taskId, ticket }: Turn) => {
		await tasks.change(member, taskId, beginShared(member, ticket, "run", 1));
		const end = { outcome: { ok: true, result: 1 } as const, log: "" };
		await tasks.change(member, taskId, endShared("run", end, DEFAULT_BREAKER, Math.random));
		await tasks.stranded();
		over.abort();
	};
	await tasks.serve(member, [{ agent: "p:tool", slots: 1 }], run, over.signal);
	const { shared: ended } = (await tasks.read(task.taskId)) ?? {};
	// The task, and its place in the queue.
	expect(await tasks.prune(Date.now() * 2, Date.now() * 2)).toBe(2);
	expect(await tasks.read(task.taskId)).toBeNull();
	return ended?.task.status;
}

const CHANGED = { from: "closed", to: "open", reason: "" } as const;

describeWithPostgres("the tables of a cluster", () => {
	let postgres: TestPostgres;
	beforeAll(async () => {
		postgres = await startPostgres();
	});
	afterAll(() => postgres.stop());

	test("are created once by many hosts that start at once on an empty database", async () => {
		const url = await postgres.createDatabase("empty");
		const hosts = await Promise.all(Array.from({ length: 12 }, () => open(url)));
		await Promise.all(hosts.map((host) => host.prepare()));
		await Promise.all(hosts.map((host, at) => host.join(memberOf(`h${at}`), HOST_REPORT, accept)));
		expect(await hosts[0]?.hosts()).toHaveLength(12);
		const versions = await postgres.query("SELECT version FROM reeve.migrations", "empty");
		expect(versions).toEqual(FILES.map((_, at) => ({ version: at + 1 })));
		await Promise.all(hosts.map((host) => host.close()));
	});

	test("keep a host with its report, its age and its draining across daemons", async () => {
		const url = await postgres.createDatabase("report");
		const database = await open(url);
		await database.prepare();
		expect(await database.join(memberOf("a"), HOST_REPORT, accept)).toBeNull();
		expect(await database.setDraining("a", true)).toBe(true);
		expect(await database.setDraining("b", true)).toBe(false);
		expect(await database.beat(memberOf("a"), { ...HOST_REPORT, agents: 7 })).toBe(true);
		const [host] = await database.hosts();
		expect(host).toMatchObject({ ...memberOf("a"), ...HOST_REPORT, agents: 7, draining: true });
		expect(host?.ageMs).toBeLessThan(15_000);
		expect(Math.abs((host?.joinedAtMs ?? 0) - Date.now())).toBeLessThan(60_000);
		// The next daemon of the home: the heartbeat of the previous one counts no more.
		await database.join(memberOf("a", "2"), HOST_REPORT, accept);
		expect(await database.beat(memberOf("a", "1"), HOST_REPORT)).toBe(false);
		expect(await database.beat(memberOf("a", "2"), HOST_REPORT)).toBe(true);
		expect(await database.hosts()).toMatchObject([{ boot: "2", draining: true }]);
		await database.close();
	});

	test("let only a silent host be removed, and a silent host beat no more", async () => {
		const url = await postgres.createDatabase("silent");
		const database = await open(url);
		await database.prepare();
		await database.join(memberOf("a"), HOST_REPORT, accept);
		expect(await database.remove("a")).toBe("alive");
		expect(await database.remove("b")).toBe("unknown");
		await postgres.query("UPDATE reeve.hosts SET seen_at = now() - interval '20 s'", "silent");
		expect((await database.hosts())[0]?.ageMs).toBeGreaterThan(19_000);
		expect(await database.beat(memberOf("a"), HOST_REPORT)).toBe(false);
		expect(await database.remove("a")).toBe("removed");
		expect(await database.hosts()).toEqual([]);
		await database.close();
	});

	test("let one of two hosts with incompatible versions join, also at the same moment", async () => {
		const url = await postgres.createDatabase("versions");
		const [one, two] = [await open(url), await open(url)];
		await one.prepare();
		const join = (database: typeof one, host: string, version: string) =>
			database.join(memberOf(host), { ...HOST_REPORT, version }, (hosts) =>
				refuseToJoin({ ...memberOf(host), version }, hosts, false),
			);
		const results = await Promise.all([join(one, "a", "1.0.0"), join(two, "b", "1.2.0")]);
		expect(results.filter((refused) => refused === null)).toHaveLength(1);
		expect(results.find((refused) => refused !== null)).toContain("one minor release");
		expect(await one.hosts()).toHaveLength(1);
		await Promise.all([one.close(), two.close()]);
	});

	test("can be made by their owner, for a role that may read and write their rows and nothing else", async () => {
		await postgres.createDatabase("reeve");
		await postgres.query("CREATE ROLE stranger LOGIN");
		const stranger = await open(postgres.url("reeve", "stranger"));
		const refused = await stranger.prepare().catch((error: unknown) => error);
		expect(refused).toMatchObject({
			code: "cluster_unavailable",
			message: expect.stringContaining("may not create the tables"),
			hint: expect.stringContaining(resolve("src/store/postgres/001-hosts.sql")),
		});
		await stranger.close();
		for (const file of FILES) {
			await postgres.query(readFileSync(`src/store/postgres/${file}`, "utf8"), "reeve");
		}
		await postgres.query(RIGHTS, "reeve");
		const database = await open(postgres.url("reeve", "daemon"));
		await database.prepare();
		await useEverything(database);
		await expect(database.tasks.prepare(memberOf("a"))).rejects.toMatchObject({
			code: "cluster_unavailable",
			hint: expect.stringContaining("as the owner of the database"),
		});
		const options = ["--schema", "reeve_dbos", "--app-role", "daemon"];
		execFileSync("node_modules/.bin/dbos", ["schema", postgres.url("reeve"), ...options]);
		await database.tasks.prepare(memberOf("a"));
		expect(await runOneTask(database)).toBe("succeeded");
		await database.close();
		for (const forbidden of [
			...["DROP TABLE reeve.hosts", "DROP SCHEMA reeve CASCADE", "TRUNCATE reeve.leases"],
			...["ALTER TABLE reeve.hosts ADD COLUMN x text", "CREATE TABLE reeve.x (a int)"],
			...["CREATE TABLE public.x (a int)", "CREATE TEMPORARY TABLE x (a int)", "CREATE SCHEMA x"],
			...["CREATE INDEX ON reeve.hosts (seen_at)", "CREATE ROLE x", "CREATE DATABASE x"],
			...[
				"CREATE FUNCTION reeve.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
				"DELETE FROM reeve.leases",
			],
			...[
				"INSERT INTO reeve.migrations VALUES (99, 99)",
				"UPDATE reeve.migrations SET compatible = 99",
			],
			...["COPY reeve.hosts TO PROGRAM 'true'", "ALTER ROLE daemon SUPERUSER"],
		]) {
			const tried = postgres.query(forbidden, "reeve", "daemon");
			await expect(tried, forbidden).rejects.toMatchObject({ code: "42501" });
		}
		// Another role of the server does not even connect.
		const other = postgres.query("SELECT 1", "reeve", "stranger");
		await expect(other).rejects.toMatchObject({ code: "42501" });
	});

	test("of a later release are used while they are compatible, and refused otherwise", async () => {
		const next = FILES.length + 1;
		const url = await postgres.createDatabase("later");
		const database = await open(url);
		await database.prepare();
		await postgres.query(`INSERT INTO reeve.migrations VALUES (${next}, 1)`, "later");
		await database.prepare();
		await postgres.query(`INSERT INTO reeve.migrations VALUES (${next + 1}, ${next})`, "later");
		await expect(database.prepare()).rejects.toMatchObject({
			code: "cluster_unavailable",
			hint: "Upgrade Reeve on this host.",
		});
		await database.close();
	});
});

describeWithPostgres("a connection to the database", () => {
	test("checks the certificate of the server", async () => {
		const postgres = await startPostgres({ tls: true });
		onTestFinished(() => postgres.stop());
		const strict = `${postgres.url()}?sslmode=verify-full`;
		const unknown = await open(strict);
		await expect(unknown.prepare()).rejects.toMatchObject({ code: "cluster_unavailable" });
		await unknown.close();
		const known = await open(`${strict}&sslrootcert=${resolve("test/fixtures/tls/cert.pem")}`);
		await known.prepare();
		const ssl = "SELECT count(*)::int AS n FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)";
		const [row] = await postgres.query(`${ssl} WHERE s.ssl AND application_name = 'reeve test'`);
		expect(row.n).toBeGreaterThan(0);
		await known.close();
	});

	test("to a server that is gone, frozen or knows no such database fails with the reason", async () => {
		const postgres = await startPostgres();
		onTestFinished(() => postgres.stop());
		const database = await open(postgres.url());
		await database.prepare();
		postgres.signal("SIGSTOP");
		await expect(database.hosts()).rejects.toMatchObject({ code: "cluster_unavailable" });
		postgres.signal("SIGCONT");
		expect(await database.hosts()).toEqual([]);
		await postgres.kill();
		await expect(database.hosts()).rejects.toMatchObject({ code: "cluster_unavailable" });
		await postgres.start();
		expect(await database.hosts()).toEqual([]);
		postgres.signal("SIGSTOP");
		// Does not wait for the server.
		await database.close();
		postgres.signal("SIGCONT");
		const missing = await open(postgres.url("missing"));
		await expect(missing.hosts()).rejects.toMatchObject({
			message: 'the database: database "missing" does not exist',
			hint: expect.stringContaining("Create the database"),
		});
		await missing.close();
	});
});

/** The role of the daemons and its rights, as the guide gives them. */
const RIGHTS = /^```sql\n(?<sql>CREATE ROLE daemon.*?)^```$/ms.exec(
	readFileSync("docs/guides/cluster.md", "utf8"),
)?.groups?.["sql"] as string;

/** Every statement of a daemon. */
async function useEverything(database: ClusterDatabase): Promise<void> {
	const [a, b] = [memberOf("a"), memberOf("b")];
	const { leases, limits } = database;
	for (const member of [a, b]) expect(await database.join(member, HOST_REPORT, accept)).toBeNull();
	expect(await database.beat(a, HOST_REPORT)).toBe(true);
	expect(await database.hosts()).toHaveLength(2);
	expect(await database.setDraining("b", "until_restart")).toBe(true);
	expect(await database.setDraining("b", false)).toBe(true);
	expect(await database.remove("b")).toBe("alive");
	expect(await database.remove("c")).toBe("unknown");
	const offered = { agent: "p:a", onLost: "ask", leaseMs: 6_000 } as const;
	expect(await leases.offer(a, [offered])).toHaveLength(1);
	const place = { host: "a", home: "home-a", reason: "" };
	const assign = () => [{ ...place, agent: "p:a", epoch: 0, renewals: 0 }];
	expect(await leases.sweep(["p:a"], assign)).toHaveLength(1);
	const held = { agent: "p:a", epoch: 2 };
	expect(await leases.claim(a, [{ ...offered, epoch: 1 }])).toEqual([held]);
	expect(await leases.renew(a, [held])).toEqual(["p:a"]);
	expect(await leases.ask(held)).toBe(true);
	expect(await leases.answer(held, "wait")).toBe(false);
	await leases.setWanted([{ agent: "p:a", wanted: false, ageMs: 0 }], "a");
	expect(await leases.release(a, held)).toBe(true);
	const state = { phase: "limited", sinceMs: 0, firstAtMs: 0, hits: 1, reason: "" } as const;
	const wait = { endKnown: false, untilMs: null, probe: null, settings: DEFAULT_USAGE_LIMIT };
	expect(await limits.write(a, "work", 0, { ...state, ...wait }, 0)).toBe(1);
	expect(await limits.write(a, "work", 1, { ...state, ...wait }, 0)).toBe(2);
	expect(await limits.read(["work"], 0)).toHaveLength(1);
}

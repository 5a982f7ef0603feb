/** Real daemons that share a real PostgreSQL: which hosts they show, and what they do without it. */

import { mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ClusterHostJson } from "../../src/http/contract/cluster.js";
import type { DaemonJson } from "../../src/http/contract/daemon.js";
import { describeWithPostgres } from "../support/needs.js";
import { startProxy } from "../support/network-proxy.js";
import { startPostgres } from "../support/postgres.js";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

interface HostOptions {
	readonly host: string;
	readonly database: string;
	readonly labels?: Readonly<Record<string, string>>;
	readonly env?: Readonly<Record<string, string>>;
}

/** A home with one agent whose daemon belongs to the cluster. */
async function createHost({ host, database, labels = {}, env = {} }: HostOptions) {
	const home = createFleetHome(env);
	onTestFinished(() => home.close());
	home.writeFleet("cat: { command: [cat] }");
	await home.must("daemon", "start");
	setCluster(home, { host, database, labels });
	await home.must("daemon", "reload");
	return home;
}

function setCluster(home: FleetHome, cluster: object | undefined): void {
	const path = join(home.env["REEVE_HOME"] ?? "", "daemon.json");
	writeFileSync(path, JSON.stringify({ cluster }));
}

const hostsOf = async (home: FleetHome): Promise<readonly ClusterHostJson[]> => {
	const { code, stdout } = await home.reeve("host", "ls", "--json");
	return code === 0 ? (JSON.parse(stdout) as ClusterHostJson[]) : [];
};
const statesOf = async (home: FleetHome) =>
	(await hostsOf(home)).map(({ host, state }) => `${host} ${state}`);
const shows = (home: FleetHome, ...states: string[]) =>
	eventually(
		async () => (await statesOf(home)).join() === states.join(),
		`hosts: ${states.join()}`,
		120_000,
		250,
	);
const problemsOf = async (home: FleetHome) =>
	(JSON.parse(await home.must("daemon", "status", "--json")) as DaemonJson).problems.join("\n");

describeWithPostgres("hosts of a cluster", () => {
	test("are listed alike by each, drained, silent after kill -9, removed, and join again", {
		timeout: 300_000,
	}, async () => {
		const postgres = await startPostgres();
		onTestFinished(() => postgres.stop());
		const env = { REEVE_DATABASE_URL: postgres.url() };
		const one = await createHost({
			...{ host: "one", database: "${REEVE_DATABASE_URL}", env, labels: { zone: "a" } },
		});
		const two = await createHost({ host: "two", database: postgres.url() });
		await shows(one, "one up", "two up");
		await shows(two, "one up", "two up");
		expect((await hostsOf(two)).map((host) => [host.this_host, host.labels])).toEqual([
			[false, { zone: "a" }],
			[true, {}],
		]);
		expect(await one.must("host", "ls")).toMatch(/^one \(this host\) +up .* zone=a$/m);
		expect(await one.must("host", "show", "two")).toMatch(/^state +up$/m);

		expect(await two.must("host", "drain", "one")).toContain("one: draining");
		await shows(one, "one draining", "two up");
		const alive = await one.reeve("host", "remove", "two");
		expect(alive).toMatchObject({ code: 5, stderr: expect.stringContaining("last heartbeat") });
		expect((await one.reeve("host", "show", "three")).code).toBe(4);

		await one.must("up");
		const [agent] = await one.ps();
		await one.killDaemon();
		await shows(two, "one silent", "two up");
		const silent = await two.must("host", "show", "one");
		expect(silent).toMatch(/^state +silent, draining$/m);
		expect(silent).toMatch(/^seen +\S.* ago$/m);
		const dead = (await hostsOf(two)).find(({ host }) => host === "one");
		expect(dead?.seen_ms_ago).toBeGreaterThan(15_000);
		// The next daemon of the same home takes the place of the dead one, which stays draining.
		await one.must("daemon", "start");
		await shows(one, "one draining", "two up");
		expect((await one.ps())[0]?.pid).toBe(agent?.pid);
		await one.must("host", "resume", "one");
		await shows(two, "one up", "two up");

		await two.must("daemon", "stop");
		await shows(one, "one up", "two silent");
		await one.must("host", "remove", "two");
		await shows(one, "one up");
		await two.must("daemon", "start");
		await shows(one, "one up", "two up");
	});

	test("keep their agents running while the database is gone, and rejoin by themselves", {
		timeout: 300_000,
	}, async () => {
		const postgres = await startPostgres();
		onTestFinished(() => postgres.stop());
		const proxy = await startProxy(postgres.port);
		const url = postgres.url().replace(String(postgres.port), String(proxy.port));
		const home = await createHost({ host: "one", database: url });
		await shows(home, "one up");

		// First a connection that is cut, then one that carries no data.
		for (const trouble of ["cut", "frozen"] as const) {
			proxy.set(trouble);
			await eventually(
				async () => (await problemsOf(home)).includes("cluster: the database"),
				`the daemon reports the database as ${trouble}`,
			);
			const refused = await home.reeve("host", "ls");
			expect(refused).toMatchObject({
				code: 1,
				stderr: expect.stringMatching(/the cluster is not available, last connected .* ago/),
			});
			expect(refused.stderr).toContain("hint:");
			await home.must("up");
			await home.must("restart", "p:cat");
			expect((await home.ps())[0]?.process).toBe("running");
			expect((await home.reeve("daemon", "status")).code).toBe(0);
			proxy.set("open");
			await shows(home, "one up");
		}
		const events = await home.must("events", "--type", "cluster.");
		expect(events.match(/cluster\.joined/g)?.length).toBeGreaterThanOrEqual(3);
		expect(events.match(/cluster\.lost/g)?.length).toBeGreaterThanOrEqual(2);

		setCluster(home, undefined);
		await home.must("daemon", "reload");
		await eventually(
			async () => (await home.reeve("host", "ls")).stderr.includes("belongs to no cluster"),
			"the host has left the cluster",
		);
	});

	test("are refused with the reason: a taken name, a distant version", {
		timeout: 300_000,
	}, async () => {
		const postgres = await startPostgres();
		onTestFinished(() => postgres.stop());
		const one = await createHost({ host: "one", database: postgres.url() });
		await shows(one, "one up");
		const twin = await createHost({ host: "one", database: postgres.url() });
		await eventually(
			async () => (await problemsOf(twin)).includes("set a different `cluster.host`"),
			"the second daemon with the name is refused",
		);
		expect((await twin.reeve("host", "ls")).stderr).toContain("another daemon is in the cluster");
		// A host of a later release, which stays alive.
		await postgres.query(`INSERT INTO reeve.hosts
			SELECT (jsonb_populate_record(h, '{"host": "later", "version": "99.0.0"}')).* FROM reeve.hosts h;
			UPDATE reeve.hosts SET seen_at = now() + interval '1 hour' WHERE host = 'later'`);
		setCluster(twin, { host: "two", database: postgres.url() });
		await twin.must("daemon", "reload");
		await eventually(
			async () => /host later runs 99\.0\.0.*Upgrade this host first/.test(await problemsOf(twin)),
			"the host of an earlier release is refused",
		);
		await postgres.query("DELETE FROM reeve.hosts WHERE host = 'later'");
		await shows(one, "one up", "two up");
		expect(await twin.must("events", "--type", "cluster.refused")).toContain("99.0.0");
	});

	test("show no secret of the database, whatever is wrong with it", {
		timeout: 120_000,
	}, async () => {
		const home = createFleetHome();
		onTestFinished(() => home.close());
		await home.must("daemon", "start");
		// A home whose id cannot be written; the daemon tries again until it can.
		const id = join(home.env["REEVE_HOME"] ?? "", "cluster.json");
		mkdirSync(id);
		setCluster(home, { host: "one", database: "postgres://127.0.0.1:1/x" });
		await home.must("daemon", "reload");
		await eventually(async () => (await problemsOf(home)).includes("cluster: "), "no id");
		expect((await home.reeve("host", "ls")).stderr).toContain("the cluster is not available");
		rmdirSync(id);
		for (const [database, problem] of [
			["postgres://reeve:hunter2hunter2@127.0.0.1:1/x", "ECONNREFUSED"],
			["${REEVE_NO_SUCH_VARIABLE}", "`REEVE_NO_SUCH_VARIABLE` is not set"],
		] as const) {
			setCluster(home, { host: "one", database });
			await home.must("daemon", "reload");
			await eventually(async () => (await problemsOf(home)).includes(problem), problem);
			expect((await home.reeve("host", "ls")).stderr).toContain(problem);
		}
		setCluster(home, { database: "postgres://reeve:hunter2hunter2@db.internal/x?sslmode=require" });
		const refused = await home.reeve("daemon", "settings");
		expect(refused.stdout).toContain("`sslmode=require` does not protect");
		const shown = [
			refused.stdout,
			(await home.reeve("daemon", "status")).stdout,
			await home.must("events", "--json"),
			await home.must("daemon", "logs").catch(() => ""),
		].join("\n");
		expect(shown).not.toContain("hunter2");
	});
});

/** What the API reports about agents in trouble is true for every kind of agent (S19). */

import { describe, expect, test } from "vitest";
import { fleetOf } from "../engine/daemon-world.js";
import { createApiWorld, FLEET } from "./api-world.js";

const isoTime = (ms: number) => new Date(ms).toISOString();

async function createReports() {
	const api = await createApiWorld();
	const read = (place: string) => api.client.call("GET /api/v1/agents/:id", { place });
	const call = (action: string) => {
		const body = { agent: "p:tool", action };
		return api.client.call("POST /api/v1/tasks", { body, query: { wait: "30s" } }).catch(() => {});
	};
	return { ...api, read, call };
}

describe("health", () => {
	test("of a halted session is unhealthy, with the time of its last failure", async () => {
		const { world, read } = await createReports();
		expect(await read("p:web")).toMatchObject({ health: "healthy", last_failure_at: null });
		world.backend.script("p:db", { livesMs: 100, code: 3 });
		void world.engine.up(FLEET, "p:db");
		await world.pass(200_000);
		const halted = await read("p:db");
		expect(halted).toMatchObject({ policy: "halted", health: "unhealthy" });
		expect(halted.last_failure_at).toBe(halted.last_exit?.at);
		await world.killAndRestart();
		const [, stored] = world.store.readAgents();
		expect(stored?.lastFailureAtMs).toBe(Date.parse(halted.last_exit?.at ?? ""));
	});

	test("of an agent that an older version stored names its last failed exit", async () => {
		const { world } = await createReports();
		world.backend.script("p:db", { livesMs: 100, code: 3 }, { livesMs: 100, code: 0 });
		void world.engine.up(FLEET, "p:db");
		await world.pass(10_000);
		const [clean, failed] = world.store.readExits("p:db", 2);
		expect([clean?.kind, failed?.kind]).toEqual(["clean", "failed"]);
		const [, stored] = world.store.readAgents();
		if (stored === undefined || failed === undefined) throw new Error("not stored");
		const { lastFailureAtMs: _, ...old } = stored;
		await world.store.commit((transaction) => transaction.putAgent(old));
		await world.killAndRestart();
		expect(world.engine.get("p:db").agent.lastFailureAtMs).toBe(failed.atMs);
	});

	test("of a session that flaps is degraded, and a requested exit keeps the time of the failure", async () => {
		const { world, read } = await createReports();
		const dies = { livesMs: 100, code: 3 };
		world.backend.script("p:db", dies, dies, dies, { livesMs: null });
		void world.engine.up(FLEET, "p:db");
		await world.pass(10_000);
		const degraded = await read("p:db");
		expect(degraded).toMatchObject({ policy: "degraded", health: "degraded" });
		const failedAt = degraded.last_exit?.at;
		await world.pass(30_000);
		expect(await read("p:db")).toMatchObject({ process: "running", health: "degraded" });
		const down = world.engine.down("p:db");
		await world.pass(1_000);
		await down;
		const stopped = await read("p:db");
		expect(stopped.last_exit?.at).not.toBe(failedAt);
		expect(stopped.last_failure_at).toBe(failedAt);
	});

	test("of a call agent follows its calls, and its reason names them", async () => {
		const { read, call } = await createReports();
		await call("fail");
		const degraded = await read("p:tool");
		expect(degraded).toMatchObject({ circuit: "closed", health: "degraded" });
		expect(degraded.reason).toBe("the last call failed; runs when it is called");
		await call("fail");
		expect((await read("p:tool")).reason).toBe("the last 2 calls failed; runs when it is called");
		await call("echo");
		expect(await read("p:tool")).toMatchObject({
			health: "healthy",
			reason: "runs when it is called",
		});
	});

	test("is a metric for every agent", async () => {
		const { client, world } = await createReports();
		world.backend.script("p:db", { livesMs: 100, code: 3 });
		void world.engine.up(FLEET, "p:db");
		await world.pass(200_000);
		const lines = (await client.metrics()).split("\n");
		const series = lines.filter(
			(line) => line.startsWith("reeve_agent_health{") && line.endsWith(" 1"),
		);
		expect(series).toEqual([
			'reeve_agent_health{agent="p:web",state="healthy"} 1',
			'reeve_agent_health{agent="p:db",state="unhealthy"} 1',
			'reeve_agent_health{agent="p:tool",state="healthy"} 1',
		]);
	});
});

describe("exits", () => {
	test("are counted by cause and class, so that a crash differs from a clean exit", async () => {
		const { client, world } = await createReports();
		const fleet = fleetOf(
			`crash: { command: [crash] }
clean: { command: [clean], on_clean_exit: stop }
asked: { command: [asked] }`,
			"q.yaml",
			"q",
		);
		world.backend.script("q:crash", { livesMs: 100, code: 3 }, { livesMs: null });
		world.backend.script("q:clean", { livesMs: 100, code: 0 });
		world.backend.script("q:asked", { livesMs: null });
		void world.engine.up(fleet, "*");
		await world.pass(5_000);
		const down = world.engine.down("q:asked");
		await world.pass(1_000);
		await down;
		const lines = (await client.metrics()).split("\n");
		const series = lines.filter((line) => line.startsWith("reeve_agent_exits_total{"));
		expect(series.sort()).toEqual([
			'reeve_agent_exits_total{agent="q:asked",cause="requested",class="planned"} 1',
			'reeve_agent_exits_total{agent="q:clean",cause="completed",class="clean"} 1',
			'reeve_agent_exits_total{agent="q:crash",cause="crash",class="transient"} 1',
		]);
	});
});

describe("an agent that waited for the operator", () => {
	async function waiting() {
		const reports = await createReports();
		const { world, read } = reports;
		world.backend.script("p:db", { livesMs: 100, code: 0 });
		void world.engine.up(FLEET, "p:db");
		await world.pass(1_000);
		expect(await read("p:db")).toMatchObject({
			waiting: true,
			reason: expect.stringContaining("waiting for the operator"),
		});
		return reports;
	}

	test("no longer claims to wait after the answer stop", async () => {
		const { world, read } = await waiting();
		await world.engine.answer("p:db", "stop");
		expect(await read("p:db")).toMatchObject({
			...{ waiting: false, desired: "down", process: "stopped" },
			reason: "stopped by the operator",
		});
	});

	test("no longer claims to wait after a down", async () => {
		const { world, read } = await waiting();
		await world.engine.down("p:db");
		expect(await read("p:db")).toMatchObject({ waiting: false, reason: "stopped by the operator" });
	});
});

test("resume reports that an agent that is down stays down, and its reason says so", async () => {
	const { world, client, read } = await createReports();
	world.backend.script("p:db", { livesMs: 100, code: 3 });
	void world.engine.up(FLEET, "p:db");
	await world.pass(200_000);
	await world.engine.down("p:db");
	const resumed = await client.call("POST /api/v1/agents/:id/resume", { place: "p:db" });
	expect(resumed).toMatchObject({ from: "halted", outcome: "stopped" });
	expect(await read("p:db")).toMatchObject({
		health: "healthy",
		reason: "stopped by the operator",
	});
});

test("an agent that waits for its restart is stopped by a down, and says so", async () => {
	const { world, read } = await createReports();
	world.backend.script("p:db", { livesMs: 100, code: 3 });
	void world.engine.up(FLEET, "p:db");
	await world.pass(1_000);
	const waits = await read("p:db");
	expect(waits.next_restart_at).not.toBeNull();
	await world.engine.down("p:db");
	expect(await read("p:db")).toMatchObject({
		...{ next_restart_at: null, reason: "stopped by the operator" },
	});
	expect(isoTime(world.clock.now().wallMs) < (waits.next_restart_at ?? "")).toBe(true);
});

/** Health checks of agents in memory, on a manual clock. */

import { describe, expect, test } from "vitest";
import { createManualClock } from "../../src/testing/manual-clock.js";
import type { ScriptedLife } from "../../src/testing/scripted-run.js";
import { createScriptedWorkers } from "../support/scripted-workers.js";
import { createDaemonWorld, fleetOf } from "./daemon-world.js";

const HEALTH = "health: { port: 1, every: 10s, failures: 3 }";
const RESTART = "health: { port: 1, every: 10s, failures: 3, action: restart }";

async function start(keys: string, life: Partial<ScriptedLife> = {}) {
	const world = await createDaemonWorld();
	world.backend.script("p:web", life);
	await world.engine.up(fleetOf(`web: { command: [web], ${keys} }`), "*");
	await world.pass(1_000);
	const { store } = world;
	return {
		world,
		view: () => world.engine.get("p:web"),
		events: (...types: string[]) =>
			store.events.filter(({ type }) => types.includes(type)).map(({ type, data }) => [type, data]),
	};
}

describe("a health check", () => {
	test("that fails as often as allowed is reported once, and so is the recovery", async () => {
		const { world, view, events } = await start(HEALTH);
		await world.pass(10_000);
		expect(view().health).toMatchObject({ failures: 0, last: { error: null } });
		world.healthErrors.set("p:web", "connection\u001b[31m refused");
		await world.pass(20_000);
		expect(view().health).toMatchObject({
			...{ failures: 2, unhealthySinceMs: null, last: { error: "connection refused" } },
		});
		await world.pass(60_000);
		expect(view().health).toMatchObject({ unhealthySinceMs: expect.any(Number) });
		world.healthErrors.clear();
		await world.pass(20_000);
		expect(view().health).toMatchObject({ failures: 0, unhealthySinceMs: null });
		expect(events("agent.unhealthy", "agent.recovered", "agent.exited")).toEqual([
			["agent.unhealthy", { error: "connection refused", failures: 3, action: "notify" }],
			["agent.recovered", { unhealthy_ms: expect.any(Number) }],
		]);
	});

	test("starts when the agent is ready", async () => {
		const { world, view } = await start(`ready: { delay: 60s }, ${HEALTH}`);
		world.healthErrors.set("p:web", "refused");
		await world.pass(50_000);
		expect(view().health).toMatchObject({ last: null, failures: 0 });
		await world.pass(50_000);
		expect(view().health?.failures).toBeGreaterThan(2);
	});

	test("under `restart` ends the run as unhealthy, and the crash policy counts it", async () => {
		const { world, view, events } = await start(`${RESTART}, drain: { timeout: 5s }`);
		world.healthErrors.set("p:web", "refused");
		await world.pass(35_000);
		expect(view().lastExit).toMatchObject({
			...{ cause: "unhealthy", kind: "failed", class: "transient", askedBy: null },
			reason: expect.stringMatching(
				/^unhealthy after .*its health check failed 3 times in a row: refused$/,
			),
		});
		world.healthErrors.clear();
		await world.pass(20_000);
		expect(view()).toMatchObject({ process: "running", agent: { restarts: 1 } });
		expect(view().health).toMatchObject({ failures: 0, unhealthySinceMs: null });
		expect(events("agent.unhealthy")).toHaveLength(1);
	});

	test("that always fails eventually halts the agent", async () => {
		const { world, view } = await start(RESTART);
		world.healthErrors.set("p:web", "refused");
		for (let minute = 0; minute < 20; minute++) await world.pass(60_000);
		expect(view().agent.crash.policy).toBe("halted");
		expect(view().health).toBe(null);
	});

	test("keeps its cause when the daemon dies while the agent is being stopped", async () => {
		const { world, view } = await start(`${RESTART}, drain: { timeout: 60s }`, {
			ignoresSignals: true,
		});
		world.healthErrors.set("p:web", "refused");
		await world.pass(40_000);
		expect(view()).toMatchObject({ process: "running", lastExit: null });
		await world.killAndRestart(5_000);
		world.healthErrors.clear();
		await world.pass(70_000);
		expect(view().lastExit).toMatchObject({ cause: "unhealthy", signal: "SIGKILL" });
	});

	test("counts from zero after an adoption", async () => {
		const { world, view } = await start(RESTART);
		world.healthErrors.set("p:web", "refused");
		await world.pass(25_000);
		await world.killAndRestart();
		await world.pass(1_000);
		expect(view()).toMatchObject({ health: { failures: 1 }, lastExit: null });
	});
});

test("an unhealthy pool of workers is replaced, and counts as one failure", async () => {
	const clock = createManualClock();
	let current = clock;
	const workers = createScriptedWorkers(() => current);
	const world = await createDaemonWorld(() => 0, workers);
	current = world.clock;
	await world.engine.up(
		fleetOf(`db: { kind: worker, command: [db], workers: { min: 3, max: 3 }, ${RESTART} }`),
		"*",
	);
	await world.pass(1_000);
	const first = [...workers.started];
	expect(first).toHaveLength(3);
	world.healthErrors.set("p:db", "refused");
	await world.pass(30_000);
	world.healthErrors.clear();
	await world.pass(20_000);
	expect(workers.alive).toHaveLength(3);
	expect(workers.started).toHaveLength(6);
	const exits = world.store.readExits("p:db", 10);
	expect(exits.map(({ cause }) => cause).sort()).toEqual(["requested", "requested", "unhealthy"]);
	expect(world.engine.get("p:db")).toMatchObject({
		...{ agent: { restarts: 1 }, health: { failures: 0, last: { error: null } } },
	});
});

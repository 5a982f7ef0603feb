/** Effects of the host on a fleet: its clock jumps, it reboots, it starts a hundred agents at once. */

import { beforeEach, describe, expect, test } from "vitest";
import { NEW_AGENT } from "../../src/core/crash-state.js";
import { DEFAULT_START_LIMIT } from "../../src/core/start-limit.js";
import { createDaemonWorld, type DaemonWorld, fleetOf } from "./daemon-world.js";

const DAY_MS = 86_400_000;
const ONE = fleetOf("a: { command: [x] }");
let world: DaemonWorld;
beforeEach(async () => {
	world = await createDaemonWorld();
});

describe("a wall clock that jumps", () => {
	test.each([-DAY_MS, DAY_MS])("by %i ms changes no decision and no delay", async (stepMs) => {
		world.backend.script("p:a", { livesMs: 5_000, code: 3 }, {});
		await world.engine.up(ONE, "*");
		await world.pass(1_000);
		world.clock.stepWall(stepMs);
		await world.pass(4_500);
		const { agent } = world.engine.get("p:a");
		expect(agent.crash.policy).toBe("healthy");
		expect([...world.store.exits.values()]).toMatchObject([
			{ uptimeMs: 5_000, class: "transient" },
		]);
		expect(world.backend.started).toHaveLength(1);
		world.clock.stepWall(-2 * stepMs);
		await world.pass(2_000);
		expect(world.backend.started).toHaveLength(2);
	});
});

test("a delay beyond 2^31 ms is waited for, and not skipped", async () => {
	world.backend.script("p:a", { livesMs: 10, code: 3 }, {});
	await world.engine.up(
		fleetOf("a: { command: [x], crash_policy: { transient_delay: 800h, flapping_delay: 800h } }"),
		"*",
	);
	await world.pass(60_000);
	expect(world.backend.started).toHaveLength(1);
	await world.pass(799 * 3_600_000);
	expect(world.backend.started).toHaveLength(1);
	await world.pass(2 * 3_600_000);
	expect(world.backend.started).toHaveLength(2);
});

test("a reboot is not a crash: every agent is started again, once, and no counter moves (S1, S13)", async () => {
	await world.engine.up(fleetOf("a: { command: [x] }\nb: { command: [x] }"), "*");
	await world.pass(120_000);
	world.backend.reboot();
	await world.killAndRestart(30_000);
	await world.pass(5_000);
	expect(world.backend.started.map(({ agentId }) => agentId)).toEqual(["p:a", "p:b", "p:a", "p:b"]);
	for (const { process, agent } of world.engine.list()) {
		expect(process).toBe("running");
		expect(agent.crash).toMatchObject({ ...NEW_AGENT, runningMs: expect.any(Number) });
	}
	expect([...world.store.exits.values()].map(({ askedBy }) => askedBy)).toEqual(["host", "host"]);
});

test("a hundred agents that die at once are restarted spread over time (S4)", async () => {
	const names = Array.from({ length: 100 }, (_, n) => `a${n}`);
	const random = (() => {
		let n = 0;
		return () => (n++ % 100) / 100;
	})();
	world = await createDaemonWorld(random);
	for (const name of names) {
		world.backend.script(`p:${name}`, { livesMs: 600_000, code: 3 }, {});
	}
	const up = world.engine.up(
		fleetOf(names.map((name) => `${name}: { command: [x] }`).join("\n")),
		"*",
	);
	await world.pass(120_000);
	await up;
	await world.pass(470_000);
	const startedAtMs: number[] = [];
	for (let looks = 0; looks < 2_000 && world.backend.started.length < 200; looks++) {
		const before = world.backend.started.length;
		await world.pass(250);
		const more = world.backend.started.length - before;
		startedAtMs.push(...Array.from({ length: more }, () => world.clock.now().steadyMs));
	}
	expect(world.backend.started).toHaveLength(200);
	const perSecond = new Map<number, number>();
	for (const atMs of startedAtMs) {
		const second = Math.floor(atMs / 1_000);
		perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
	}
	expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(2 * DEFAULT_START_LIMIT.burst);
	expect(world.engine.list().every(({ process }) => process === "running")).toBe(true);
});

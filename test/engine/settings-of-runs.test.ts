/**
 * Reloads that race with other requests and with the death of the daemon: an agent never runs with settings other than
 * those that a later reload compares with the fleet file.
 */

import { describe, expect, test } from "vitest";
import type { FleetSpec } from "../../src/config/spec.js";
import { createDaemonWorld, type DaemonWorld, fleetOf } from "./daemon-world.js";

const OLD = fleetOf("a: { command: [x], env: { WORD: old } }");
const NEW = fleetOf("a: { command: [x], env: { WORD: new } }");
/** More steps than the longest of the requests takes. */
const STEPS = 120;

/** The value that the process of the agent was started with. */
function wordOf({ engine, backend }: DaemonWorld): string | undefined {
	const runId = engine.get("p:a").run?.runId;
	return backend.started.find((each) => each.runId === runId)?.env["WORD"];
}

async function reload(world: DaemonWorld, fleet: FleetSpec): Promise<void> {
	const reloading = world.engine.reload(fleet);
	await world.pass(5_000);
	await reloading;
}

const RIVALS: readonly (readonly [string, (world: DaemonWorld) => Promise<unknown>])[] = [
	["nothing", async () => {}],
	["a restart", (world) => world.engine.restart("p:a", { fresh: false })],
	["an up with the old file", (world) => world.engine.up(OLD, "*")],
	["an up with the new file", (world) => world.engine.up(NEW, "*")],
	["another reload", (world) => world.engine.reload(NEW)],
];

describe.each(RIVALS)("a daemon that dies during a reload beside %s", (_name, rival) => {
	test("leaves no run with settings that a later reload takes for current", async () => {
		const wrong: string[] = [];
		for (let step = 0; step < STEPS; step++) {
			const world = await createDaemonWorld();
			const up = world.engine.up(OLD, "*");
			await world.pass(1_000);
			await up;
			void world.engine.reload(NEW).catch(() => {});
			for (let each = 0; each < step % 12; each++) await Promise.resolve();
			void rival(world).catch(() => {});
			for (let each = 0; each < step; each++) await Promise.resolve();
			await world.killAndRestart();
			await world.pass(5_000);
			const isPlanned = world.engine.plan(NEW).agents.some(({ change }) => change !== "keep");
			if (!isPlanned && wordOf(world) !== "new") wrong.push(`step ${step}: ${wordOf(world)}`);
			await reload(world, NEW);
			if (wordOf(world) !== "new") wrong.push(`step ${step}, after a reload: ${wordOf(world)}`);
		}
		expect(wrong).toEqual([]);
	});
});

test("a reload that removes an agent leaves no run behind, whatever starts it meanwhile", async () => {
	const both = fleetOf("a: { command: [x] }\nb: { command: [x] }");
	const one = fleetOf("b: { command: [x] }");
	const wrong: string[] = [];
	let kept = 0;
	for (let step = 0; step < STEPS; step++) {
		const world = await createDaemonWorld();
		const up = world.engine.up(both, "*");
		await world.pass(1_000);
		await up;
		const rivals = [
			() => world.engine.up(both, "*"),
			() => world.engine.restart("p:a", { fresh: false }),
			() => world.engine.resume("p:a"),
		];
		const reloading = world.engine.reload(one).catch(() => {});
		for (let each = 0; each < step; each++) await Promise.resolve();
		void Promise.resolve(rivals[step % rivals.length]?.()).catch(() => {});
		await world.pass(20_000);
		await reloading;
		const known = world.engine.list().map(({ agent }) => agent.id);
		if (known.includes("p:a")) kept++;
		const open = world.store.readOpenRuns().map(({ agentId }) => agentId);
		if (open.some((id) => !known.includes(id))) wrong.push(`step ${step}: open ${open}`);
		const stored = world.store.readAgents().map(({ id }) => id);
		if (stored.length !== known.length) wrong.push(`step ${step}: stored ${stored}`);
	}
	expect(wrong).toEqual([]);
	expect(kept).toBeLessThan(STEPS);
});

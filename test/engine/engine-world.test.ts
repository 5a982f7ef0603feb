/**
 * Lives of whole fleets from a seed: agents that crash, exit, hang and ignore signals, contradicting requests of
 * operators, daemons that are killed at any moment. After every step the oracle checks the
 * processes themselves, not the engine's state.
 */

import { describe, expect, test } from "vitest";
import { createRandom, type SeededRandom } from "../../src/testing/random.js";
import type { ScriptedLife } from "../../src/testing/scripted-run.js";
import { createDaemonWorld, type DaemonWorld, fleetOf } from "./daemon-world.js";

const AGENTS = ["p:a", "p:b", "p:c", "p:d"] as const;
const FLEET = fleetOf(`a: { command: [x] }
b: { command: [x], on_clean_exit: restart, depends_on: [a] }
c: { command: [x], on_clean_exit: stop, drain: { timeout: 2s } }
d: { command: [x], crash_policy: { transient_delay: 0s, flapping_delay: 1s } }`);
const STEPS = 40;
const LIVES = Number(process.env["REEVE_ENGINE_LIVES"] ?? 60);
const FIRST_SEED = Number(process.env["REEVE_ENGINE_SEED"] ?? 1);

function randomLife(random: SeededRandom): Partial<ScriptedLife> {
	return random.pick([
		{},
		{ livesMs: random.int(0, 500), code: random.int(1, 5) },
		{ livesMs: random.int(0, 90_000), code: 0 },
		{ livesMs: random.int(1_000, 120_000), signal: "SIGSEGV", code: null },
		{ ignoresSignals: true },
		{ startFailure: { permanent: random.chance(0.3), detail: "cannot start" } },
	] as [Partial<ScriptedLife>, ...Partial<ScriptedLife>[]]);
}

/** One random action, of an operator or of the environment. Requests are not awaited. */
async function act(world: DaemonWorld, random: SeededRandom): Promise<string> {
	const id = random.pick(AGENTS);
	const ignore = (promise: Promise<unknown>) => void promise.catch(() => {});
	const roll = random.int(1, 12);
	if (roll <= 4) {
		const ms = random.pick([0, 100, 2_000, 31_000, 120_000]);
		await world.pass(ms);
		return `${ms} ms pass`;
	}
	if (roll <= 6) {
		const ms = random.pick([0, 1_000, 60_000]);
		await world.killAndRestart(ms);
		return `daemon killed, away for ${ms} ms`;
	}
	if (roll === 7) ignore(world.engine.up(FLEET, random.chance(0.5) ? "*" : id));
	else if (roll === 8) ignore(world.engine.down(id, random.pick([0, 1_000, 5_000])));
	else if (roll === 9) ignore(world.engine.restart(id, { fresh: random.chance(0.5) }));
	else if (roll === 10) ignore(world.engine.resume(id));
	else if (roll === 11) ignore(world.engine.answer(id, random.pick(["fresh", "continue", "stop"])));
	else world.backend.script(id, randomLife(random), randomLife(random));
	if (random.chance(0.5)) await world.settle();
	return `action ${roll} on ${id}`;
}

/** Live runs, according to the host. */
async function liveRuns(world: DaemonWorld): Promise<Map<string, string[]>> {
	const probe = world.backend.reconnect();
	const alive = new Map<string, string[]>();
	for (const { runId, agentId } of world.backend.started) {
		const { state } = await probe.recover(runId, null);
		if (state === "running") alive.set(agentId, [...(alive.get(agentId) ?? []), runId]);
	}
	await probe.close();
	return alive;
}

async function live(seed: number): Promise<void> {
	const random = createRandom(seed);
	const world = await createDaemonWorld(() => random.next());
	const said: string[] = [];
	const explain = (what: string) => `seed ${seed}: ${what}\n${said.slice(-15).join("\n")}`;
	for (const id of AGENTS) world.backend.script(id, randomLife(random), randomLife(random));
	void world.engine.up(FLEET, "*").catch(() => {});
	await world.pass(1_000);

	for (let step = 0; step < STEPS; step++) {
		// One that could not be started is checked again by every request to start it.
		const halted = world.engine
			.list()
			.filter(({ lastExit }) => lastExit?.cause !== "spawn_error")
			.filter(({ agent }) => agent.crash.policy === "halted");
		const what = await act(world, random);
		said.push(what);
		for (const [id, runs] of await liveRuns(world)) {
			expect(runs.length, explain(`S1 ${id} runs ${runs.length} times`)).toBe(1);
		}
		if (what.startsWith("daemon killed") || what.endsWith("pass")) {
			for (const { agent } of halted) {
				const now = world.engine.get(agent.id).agent;
				const resumed = said.some((line) => line === `action 10 on ${agent.id}`);
				if (resumed) continue;
				expect(now.crash.policy, explain(`S15 ${agent.id} left halted by itself`)).toBe("halted");
			}
		}
	}
	await checkRest(world, explain);
}

/** Every operation ends, and every agent is in its wanted state. */
async function checkRest(world: DaemonWorld, explain: (what: string) => string): Promise<void> {
	for (const id of AGENTS) world.backend.script(id, {});
	await world.pass(30_000);
	await world.killAndRestart();
	await world.pass(400_000);
	const alive = await liveRuns(world);
	for (const { agent, process, run } of world.engine.list()) {
		const runs = alive.get(agent.id) ?? [];
		expect(runs, explain(`${agent.id} is ${process}`)).toEqual(run === null ? [] : [run.runId]);
		if (agent.desired === "down") expect(runs, explain(`S2 ${agent.id} runs`)).toEqual([]);
	}
	const open = world.store.readOpenRuns().map((run) => run.runId);
	expect(open.sort(), explain("S8 open runs are the live ones")).toEqual(
		[...alive.values()].flat().sort(),
	);
	for (const { runId } of world.backend.started) {
		const ended = world.store.exits.has(runId);
		expect(ended || open.includes(runId), explain(`S8 the exit of ${runId} was lost`)).toBe(true);
	}
	expect(world.errors, explain("nothing failed unnoticed")).toEqual([]);
}

describe("fleets under daemons that die", () => {
	test(`keep S1, S2, S8 and S15 in ${LIVES} lives`, { timeout: 600_000 }, async () => {
		for (let seed = FIRST_SEED; seed < FIRST_SEED + LIVES; seed++) await live(seed);
	});
});

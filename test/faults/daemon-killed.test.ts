/**
 * The daemon is killed with -9 repeatedly, at random moments: idle, while it starts, in the middle of a
 * reload or a restart. No agent is lost, none is doubled, no counter moves.
 *
 * REEVE_FAULT_ROUNDS and REEVE_FAULT_AGENTS make it long (100 and 50); REEVE_FAULT_SEED gives other moments.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { createRandom } from "../../src/testing/random.js";
import { describeWithTmux } from "../support/needs.js";
import { attachAndType } from "./attach-once.js";
import { createFleetHome, eventually, type FleetHome, lockedAgent } from "./fleet-home.js";

const ROUNDS = Number(process.env["REEVE_FAULT_ROUNDS"] ?? 4);
const AGENTS = Number(process.env["REEVE_FAULT_AGENTS"] ?? 6);
const SEED = Number(process.env["REEVE_FAULT_SEED"] ?? 1);

let home: FleetHome;
afterEach(() => home.close(), 120_000);

/** Agents that are not touched keep their pid; the last one is restarted and reloaded. */
const isTouched = (id: string) => id === `p:a${AGENTS - 1}`;

function writeFleet(backend: string, generation: number): void {
	const agents = Array.from({ length: AGENTS }, (_, n) => {
		const more = n === AGENTS - 1 ? `, env: { GENERATION: "${generation}" }` : "";
		return lockedAgent(home.folder, `a${n}`, `, backend: ${backend}${more}`);
	});
	home.writeFleet(agents.join("\n"));
}

/** Agents that started and have not exited, by the ledger. */
function aliveByLedger(): Map<string, string[]> {
	const alive = new Map<string, string[]>();
	for (const line of home.ledger()) {
		const [word, name = "", pid = ""] = line.split(" ");
		const pids = alive.get(name) ?? [];
		if (word === "start") alive.set(name, [...pids, pid]);
		if (word === "exit")
			alive.set(
				name,
				pids.filter((other) => other !== pid),
			);
	}
	return alive;
}

describe("a fleet on pty whose daemon is killed", () => suite("pty"));
describeWithTmux("a fleet on tmux whose daemon is killed", () => suite("tmux"));

function suite(backend: string): void {
	test(`keeps every agent through ${ROUNDS} kills`, { timeout: 3_600_000 }, async () => {
		const random = createRandom(SEED);
		home = createFleetHome();
		writeFleet(backend, 0);
		await home.must("up");
		await eventually(() => aliveByLedger().size === AGENTS, "every agent is in the ledger");
		const before = new Map((await home.ps()).map((agent) => [agent.id, agent]));

		for (let round = 1; round <= ROUNDS; round++) {
			const roll = random.int(1, 4);
			if (roll === 1) {
				writeFleet(backend, round);
				void home.reeve("reload");
			}
			if (roll === 2) void home.reeve("restart", `p:a${AGENTS - 1}`);
			await sleep(random.int(0, 300));
			await home.killDaemon();
			if (random.chance(0.3)) {
				// Again, while the next one starts.
				void home.reeve("daemon", "start");
				await sleep(random.int(50, 400));
				await home.killDaemon().catch(() => {});
			}
			await home.must("daemon", "start");
			for (const agent of await home.ps()) {
				if (isTouched(agent.id)) continue;
				const was = before.get(agent.id);
				expect([agent.id, agent.process, agent.pid]).toEqual([agent.id, "running", was?.pid]);
				expect([agent.restarts, agent.policy]).toEqual([was?.restarts, "healthy"]);
			}
			await attachAndType(home, `p:a${random.int(0, AGENTS - 2)}`, `round-${round}`);
			expect(home.ledger().filter((line) => line.startsWith("DUPLICATE"))).toEqual([]);
		}
		await home.must("up");
		await eventually(
			async () => (await home.ps()).every((agent) => agent.process === "running"),
			"every agent runs",
		);
		await home.must("down", "--all");
		for (const [name, pids] of aliveByLedger()) expect([name, pids]).toEqual([name, []]);
		expect(home.ledger().filter((line) => line.startsWith("DUPLICATE"))).toEqual([]);
	});

	test("leaves nothing that blocks the next one after a clean stop", {
		timeout: 300_000,
	}, async () => {
		home = createFleetHome();
		home.writeFleet(`a: { command: [sleep, "1000"], backend: ${backend} }`);
		await home.must("up");
		await home.killDaemon();
		await home.must("daemon", "start");
		await home.must("daemon", "stop", "--all");
		await home.must("up");
		expect(await home.ps()).toMatchObject([{ process: "running", policy: "healthy" }]);
	});

	test("classifies runs that ended while it was dead once, with their true time", {
		timeout: 300_000,
	}, async () => {
		home = createFleetHome();
		const ends = { ok: "exit 0", three: "exit 3", segv: "kill -SEGV $$" };
		home.writeFleet(
			Object.entries(ends)
				.map(([name, how]) => {
					const script = JSON.stringify([
						"sh",
						"-c",
						`while [ ! -e "$GO" ]; do sleep 0.05; done; ${how}`,
					]);
					return `${name}: { command: ${script}, backend: ${backend}, env: { GO: "${home.folder}/go" }, crash_policy: { transient_delay: 1h } }`;
				})
				.join("\n"),
		);
		await home.must("up");
		await home.killDaemon();
		const { writeFileSync } = await import("node:fs");
		const endedAtMs = Date.now();
		writeFileSync(`${home.folder}/go`, "");
		await sleep(2_000);
		await home.must("daemon", "start");
		const exits = new Map((await home.ps()).map((agent) => [agent.agent, agent.last_exit]));
		expect(exits.get("ok")).toMatchObject({ code: 0, signal: null, class: "clean" });
		expect(exits.get("three")).toMatchObject({ code: 3, signal: null, class: "transient" });
		expect(exits.get("segv")).toMatchObject({ code: null, signal: "SIGSEGV", class: "transient" });
		for (const exit of exits.values()) {
			expect(Math.abs(Date.parse(exit?.at ?? "") - endedAtMs)).toBeLessThan(1_500);
		}
		await home.killDaemon();
		await home.must("daemon", "start");
		const events = (await home.must("events", "--json")).trim().split("\n");
		expect(events.filter((line) => line.includes('"agent.exited"'))).toHaveLength(3);
	});
}

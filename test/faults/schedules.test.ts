/**
 * Schedules under a real daemon that is repeatedly killed with -9: every slot has one record, and every request
 * that the agent has received belongs to one slot. The oracle is the agent's own ledger.
 *
 * REEVE_FAULT_SLOTS makes it long (200); REEVE_FAULT_SEED gives other moments.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createClient } from "../../src/client/client.js";
import type { ScheduleSlotJson } from "../../src/http/contract/schedules.js";
import { createRandom } from "../../src/testing/random.js";
import { createFleetHome, eventually, type FleetHome, lockedAgent } from "./fleet-home.js";

const SLOTS = Number(process.env["REEVE_FAULT_SLOTS"] ?? 12);
const SEED = Number(process.env["REEVE_FAULT_SEED"] ?? 1);
const PROGRAM = resolve("test/fixtures/call-agents/notes-in-ledger.pl");
const LONG = { timeout: 1_800_000 };

let home: FleetHome;
beforeEach(() => {
	home = createFleetHome();
});
afterEach(() => home.close(), 120_000);

function writeFleet(): void {
	const calls = join(home.folder, "calls");
	writeFileSync(
		join(home.folder, "reeve.yaml"),
		`version: 1
projects:
  p:
    agents:
      tool: { kind: call, command: ${JSON.stringify([PROGRAM, calls])}, retry: { initial_backoff: 20ms }, circuit_breaker: { failure_threshold: 1000 } }
      ${lockedAgent(home.folder, "web", ", terminal: false, on_clean_exit: restart")}
    schedules:
      often: { every: 1s, overlap: queue, call: { agent: tool, action: go } }
      again: { every: 7s, restart: web }
`,
	);
}

test(`${SLOTS} slots fire once each, however often the daemon is killed`, LONG, async () => {
	const random = createRandom(SEED);
	writeFleet();
	await home.must("up");
	const client = createClient({ socketPath: `${home.folder}/home/reeve.sock` });
	const slotsOf = async (place: string) => {
		const query = { limit: 1_000 };
		const { slots } = await client.call("GET /api/v1/schedules/:id", { place, query });
		return slots.toReversed();
	};
	let kills = 0;
	for (let seen = 0; seen < SLOTS || kills < 3; kills += 1) {
		await sleep(random.int(300, 2_500));
		await home.killDaemon();
		await home.must("daemon", "start");
		await eventually(async () => {
			seen = (await slotsOf("p:often").catch(() => [])).length;
			return seen > 0;
		}, "slots are read");
	}
	await home.must("schedule", "pause", "p");
	await eventually(async () => {
		const all = [...(await slotsOf("p:often")), ...(await slotsOf("p:again"))];
		return all.every(({ status }) => status !== "fired" && status !== "queued");
	}, "every slot has ended");
	judgeGrid(await slotsOf("p:often"), 1_000);
	const tasks = (await slotsOf("p:often")).flatMap(({ started }) =>
		started?.type === "task" ? [started.id] : [],
	);
	expect(new Set(tasks).size).toBe(tasks.length);
	const { tasks: stored } = await client.call("GET /api/v1/tasks", { query: { limit: 500 } });
	expect(stored.map(({ task_id: id }) => id).toSorted()).toEqual(tasks.toSorted());
	expect(ledgerTasks()).toEqual(new Set(tasks));
	await judgeRestarts(await slotsOf("p:again"));
});

/** Every second from the first slot to the last has one record. */
function judgeGrid(slots: readonly ScheduleSlotJson[], stepMs: number): void {
	const at = slots.flatMap(({ slot_at: from, missed }) => {
		const fromMs = Date.parse(from);
		const count = (Date.parse(missed?.until ?? from) - fromMs) / stepMs + 1;
		return Array.from({ length: count }, (_, index) => fromMs + index * stepMs);
	});
	const sorted = at.toSorted((a, b) => a - b);
	const firstMs = sorted[0] ?? 0;
	expect(sorted.map((ms) => ms - firstMs)).toEqual(sorted.map((_, index) => index * stepMs));
}

/** The tasks whose attempts the agent has noted. */
function ledgerTasks(): ReadonlySet<string> {
	const lines = readFileSync(join(home.folder, "calls"), "utf8").trim().split("\n");
	const begun = lines.filter((line) => line.startsWith("begin "));
	return new Set(begun.map((line) => (line.split(" ")[1] ?? "").replace(/\.\d+$/, "")));
}

/** The agent has started once, and again for each restart that was done. */
async function judgeRestarts(slots: readonly ScheduleSlotJson[]): Promise<void> {
	const done = slots.filter(({ status }) => status === "succeeded").length;
	expect(slots.filter(({ status }) => status === "failed")).toEqual([]);
	const starts = () => home.ledger().filter((line) => line.startsWith("start web")).length;
	await eventually(() => starts() === done + 1, `${done + 1} starts of web`);
	expect(home.ledger().filter((line) => line.startsWith("DUPLICATE"))).toEqual([]);
}

test("the commands list, show, run, pause and resume schedules", LONG, async () => {
	writeFleet();
	await home.must("up");
	expect(await home.must("schedule", "ls")).toMatch(/^p:often +every 1s +.*call p:tool go$/m);
	await home.must("schedule", "pause", "often");
	expect(await home.must("schedule", "show", "often")).toMatch(/^next: +paused$/m);
	expect(await home.must("schedule", "run", "p:again")).toMatch(/^p:again: fired, restart p:web/);
	await eventually(
		async () => /succeeded .*restarted/.test(await home.must("schedule", "show", "again")),
		"the restart is done",
	);
	expect(await home.must("schedule", "resume", "p")).toMatch(/^p:often: resumed, next slot /m);
	const unknown = await home.reeve("schedule", "show", "oftn");
	expect([unknown.code, unknown.stderr]).toEqual([4, expect.stringContaining("p:often")]);
	await home.must("down", "web");
	const refused = await home.reeve("schedule", "run", "again");
	expect([refused.code, refused.stdout]).toEqual([
		5,
		expect.stringMatching(/^p:again: skipped \(p:web is down: /),
	]);
});

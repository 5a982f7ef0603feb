/**
 * Schedules under a real daemon whose clock is set forward and back, and that is killed with -9 at random moments. The
 * expected slots are computed here; the requests that the agent has noted in its ledger show which of them fired.
 *
 * REEVE_FAULT_SLOTS makes it long (200); REEVE_FAULT_SEED gives other moments.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Client, createClient } from "../../src/client/client.js";
import type { ScheduleSlotJson } from "../../src/http/contract/schedules.js";
import { createRandom } from "../../src/testing/random.js";
import { describeIfAllowed } from "../support/needs.js";
import { temporaryFolder } from "../support/reeve.js";
import {
	createSettableClock,
	type SettableClock,
	whyNoSettableClock,
} from "../support/settable-clock.js";
import { createFleetHome, eventually, type FleetHome, lockedAgent } from "./fleet-home.js";

const SLOTS = Number(process.env["REEVE_FAULT_SLOTS"] ?? 8);
const SEED = Number(process.env["REEVE_FAULT_SEED"] ?? 1);
const PROGRAM = resolve("test/fixtures/call-agents/notes-in-ledger.pl");
const LONG = { timeout: 3_600_000 };
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** A running daemon compares its schedules with the clock at least this often. */
const CHECK_MS_MAX = 15 * SECOND;

let clock: SettableClock;
let home: FleetHome;
let client: Client;

async function slotsOf(place: string): Promise<readonly ScheduleSlotJson[]> {
	const query = { limit: 1_000 };
	const { slots } = await client.call("GET /api/v1/schedules/:id", { place, query });
	return slots.toReversed();
}

async function restartDaemon(whileAway: () => void = () => {}): Promise<void> {
	await home.killDaemon();
	whileAway();
	await home.must("daemon", "start");
}

function writeFleet(schedules: readonly string[]): void {
	const tool = `kind: call, command: ${JSON.stringify([PROGRAM, join(home.folder, "calls")])}`;
	writeFileSync(
		join(home.folder, "reeve.yaml"),
		`version: 1
projects:
  p:
    agents:
      tool: { ${tool}, retry: { initial_backoff: 20ms }, circuit_breaker: { failure_threshold: 1000 } }
      ${lockedAgent(home.folder, "web", ", terminal: false, on_clean_exit: restart")}
    schedules:
${schedules.map((line) => `      ${line}`).join("\n")}
`,
	);
}

const isOver = ({ status }: ScheduleSlotJson) => status !== "fired" && status !== "queued";

async function waitForRest(...ids: readonly string[]): Promise<void> {
	await home.must("schedule", "pause", "p");
	await eventually(
		async () => (await Promise.all(ids.map(slotsOf))).flat().every(isOver),
		"every slot has ended",
		120_000,
	);
}

/** The tasks that the agent has noted in its ledger. */
function ledgerTasks(): readonly string[] {
	const lines = readFileSync(join(home.folder, "calls"), "utf8").trim().split("\n");
	const begun = lines.filter((line) => line.startsWith("begin "));
	return [...new Set(begun.map((line) => (line.split(" ")[1] ?? "").replace(/\.\d+$/, "")))];
}

const tasksOf = (slots: readonly ScheduleSlotJson[]) =>
	slots.flatMap(({ started }) => (started?.type === "task" ? [started.id] : []));

/** The agent has received one task for each slot that fired, and no other. */
function judgeLedger(slots: readonly ScheduleSlotJson[]): void {
	const tasks = tasksOf(slots);
	expect(new Set(tasks).size).toBe(tasks.length);
	expect(ledgerTasks().toSorted()).toEqual(tasks.toSorted());
	for (const { id, status, started } of slots) {
		expect([id, started !== null]).toEqual([id, status !== "skipped"]);
	}
}

/** The times of all slots from the first one on, with those that were skipped together. */
function timesOf(slots: readonly ScheduleSlotJson[], stepMs: number): readonly number[] {
	return slots.flatMap(({ slot_at: from, missed }) => {
		const fromMs = Date.parse(from);
		const count = (Date.parse(missed?.until ?? from) - fromMs) / stepMs + 1;
		return Array.from({ length: count }, (_, index) => fromMs + index * stepMs);
	});
}

const missing = whyNoSettableClock();
const permission =
	missing === null ? ({ type: "run" } as const) : ({ type: "skip", reason: missing } as const);

describeIfAllowed(permission, "with a clock that is set", () => {
	beforeEach(() => {
		clock = createSettableClock(temporaryFolder());
		home = createFleetHome({ ...clock.env, TZ: "Europe/Berlin" });
		client = createClient({ socketPath: `${home.folder}/home/reeve.sock` });
	});
	afterEach(async () => {
		await home.close();
		clock.close();
	}, 120_000);

	test(`each of ${SLOTS} slots fires once or is skipped by its rule`, LONG, async () => {
		const random = createRandom(SEED);
		const [EVERY, ALONE] = [MINUTE, 2 * MINUTE];
		writeFleet([
			`every: { cron: "* * * * *", catch_up: once, overlap: queue, call: { agent: tool, action: go } }`,
			`alone: { cron: "*/2 * * * *", timezone: UTC, call: { agent: tool, action: go } }`,
			`often: { every: 5s, overlap: queue, call: { agent: tool, action: go } }`,
			`again: { cron: "*/5 * * * *", restart: web }`,
		]);
		await home.must("up");
		let [kills, forward, back, latestMs] = [0, 0, 0, clock.nowMs()];
		const jump = () => {
			latestMs = Math.max(latestMs, clock.nowMs());
			const kind = random.pick(["to the next slot", "to the next slot", "forward", "back"]);
			if (kind === "back") {
				back += 1;
				return clock.move(-random.int(SECOND, 8 * MINUTE));
			}
			forward += 1;
			const tillSlotMs = MINUTE - (clock.nowMs() % MINUTE);
			clock.move(kind === "forward" ? random.int(SECOND, 12 * MINUTE) : tillSlotMs - SECOND);
		};
		let seen = 0;
		while (seen < SLOTS || kills < 3 || back < 2) {
			// Before the daemon dies, while it is away, or under a daemon that keeps running.
			const when = random.pick(["before", "before", "away", "away", "running"]);
			if (when !== "away") jump();
			if (when === "running") await sleep(random.int(500, CHECK_MS_MAX + SECOND));
			else {
				await sleep(random.int(0, 1_500));
				await restartDaemon(when === "away" ? jump : undefined);
				kills += 1;
				await sleep(random.int(0, 2_000));
			}
			seen = (await slotsOf("p:every").catch(() => [])).length;
		}
		// The next slot of every schedule comes: no jump has silenced it.
		latestMs = Math.max(latestMs, clock.nowMs());
		clock.set(latestMs + 15 * MINUTE);
		latestMs = clock.nowMs();
		await restartDaemon();
		const cronIds = ["p:every", "p:alone", "p:again"];
		for (const id of [...cronIds, "p:often"]) {
			await eventually(async () => {
				const last = (await slotsOf(id)).at(-1);
				return Date.parse(last?.slot_at ?? "") > latestMs - 10 * MINUTE;
			}, `${id} has a slot after the last jump`);
		}
		await waitForRest(...cronIds, "p:often");
		const [every, alone, again, often] = await Promise.all([...cronIds, "p:often"].map(slotsOf));
		if (!every || !alone || !again || !often) throw new Error("slots are missing");
		judgeGrid(every, EVERY, latestMs);
		judgeGrid(alone, ALONE, latestMs);
		judgeGrid(again, 5 * MINUTE, latestMs);
		for (const { slot_at: at, decided_at: decided, status, reason } of alone) {
			const lateMs = Date.parse(decided) - Date.parse(at);
			if (status !== "skipped") expect(lateMs).toBeLessThanOrEqual(MINUTE);
			else expect(reason).toMatch(/late, and `catch_up` is `none`|a later slot was due|running/);
		}
		for (const { status, reason } of every) {
			if (status === "skipped") expect(reason).toMatch(/a later slot was due/);
		}
		expect(new Set(often.map(({ id }) => id)).size).toBe(often.length);
		judgeLedger([...every, ...alone, ...often]);
		const { tasks } = await client.call("GET /api/v1/tasks", { query: { limit: 500 } });
		const known = new Set(tasksOf([...every, ...alone, ...often]));
		expect(tasks.filter(({ task_id: id }) => !known.has(id))).toEqual([]);
		const done = again.filter(({ status }) => status === "succeeded").length;
		expect(again.filter(({ status }) => status === "failed")).toEqual([]);
		const starts = () => home.ledger().filter((line) => line.startsWith("start web")).length;
		await eventually(() => starts() === done + 1, `${done + 1} starts of web`);
		expect(home.ledger().filter((line) => line.startsWith("DUPLICATE"))).toEqual([]);
		const fired = tasksOf(every).length;
		console.log(
			`${timesOf(every, EVERY).length} slots of every minute, ${fired} fired; ${alone.length} records of the schedule without catch_up, ${tasksOf(alone).length} fired; ${tasksOf(often).length} intervals, ${done} restarts; ${kills} daemons killed, clock set forward ${forward} and back ${back} times`,
		);
		expect(fired).toBeGreaterThan(SLOTS / 4);
	});

	const NIGHTS = {
		spring: {
			from: "2026-03-29T00:28:00Z",
			daily: ["2026-03-29T01:00"],
			half: ["00:30", "01:00", "01:30", "02:00"],
		},
		autumn: {
			from: "2026-10-24T23:58:00Z",
			daily: ["2026-10-25T00:30"],
			half: ["00:00", "00:30", "01:00", "01:30", "02:00"],
		},
	};
	for (const [night, { from, daily, half }] of Object.entries(NIGHTS)) {
		test(`the night of the clock change in ${night} has each slot once`, LONG, async () => {
			const random = createRandom(SEED);
			clock.set(Date.parse(from));
			writeFleet([
				`zone: { cron: "30 2 * * *", timezone: Europe/Berlin, catch_up: once, call: { agent: tool, action: go } }`,
				`host: { cron: "30 2 * * *", catch_up: once, call: { agent: tool, action: go } }`,
				`half: { cron: "*/30 * * * *", catch_up: once, overlap: queue, call: { agent: tool, action: go } }`,
			]);
			await home.must("up");
			const lastSlotMs = Date.parse(from) + 2 * MINUTE + (half.length - 1) * 30 * MINUTE;
			while (clock.nowMs() < lastSlotMs) {
				const tillSlotMs = 30 * MINUTE - (clock.nowMs() % (30 * MINUTE));
				clock.move(tillSlotMs - 300);
				await sleep(random.int(0, 900));
				await restartDaemon();
				await eventually(async () => (await slotsOf("p:half")).length > 0, "slots");
				// The time before the slot again.
				if (random.chance(0.3)) {
					clock.move(-10 * MINUTE);
					await restartDaemon(() => clock.move(10 * MINUTE));
				}
			}
			await sleep(500);
			await restartDaemon();
			await eventually(async () => (await slotsOf("p:half")).length >= half.length, "all slots");
			await waitForRest("p:zone", "p:host", "p:half");
			const found = async (id: string) =>
				(await slotsOf(id)).map(({ slot_at: at }) => at.slice(0, 16));
			expect(await found("p:zone")).toEqual(daily);
			expect(await found("p:host")).toEqual(daily);
			expect((await found("p:half")).map((at) => at.slice(11))).toEqual(half);
			const all = await Promise.all(["p:zone", "p:host", "p:half"].map(slotsOf));
			expect(all.flat().filter(({ started }) => started === null)).toEqual([]);
			judgeLedger(all.flat());
		});
	}
});

/** Every time of the grid, from the first slot to now, has one record. */
function judgeGrid(slots: readonly ScheduleSlotJson[], stepMs: number, latestMs: number): void {
	const found = timesOf(slots, stepMs);
	const firstMs = found[0] ?? 0;
	const count = Math.floor((latestMs - firstMs) / stepMs);
	const expected = Array.from({ length: count }, (_, index) => firstMs + index * stepMs);
	const iso = (times: readonly number[]) => times.map((ms) => new Date(ms).toISOString());
	expect(iso(found.slice(0, count))).toEqual(iso(expected));
	expect(new Set(found).size).toBe(found.length);
}

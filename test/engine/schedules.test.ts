/** Schedules in memory: each slot is decided once, even if daemons die and clocks jump. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { createRandom } from "../../src/testing/random.js";
import { temporaryFolder } from "../support/reeve.js";
import { createSchedulesWorld, fleetWith, type SchedulesWorld } from "./schedules-world.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const CALL = "call: { agent: tool, action: sync, payload: { from: here } }";

async function up(it: SchedulesWorld, schedules: string): Promise<void> {
	void it.world.engine.up(fleetWith(schedules), "*");
	await it.pass(1_000);
}

const statuses = (it: SchedulesWorld, id: string) => it.slots(id).map(({ status }) => status);
const types = (it: SchedulesWorld) =>
	it.world.store.events.map(({ type }) => type).filter((type) => type.startsWith("schedule."));

/** Messages stay in the inbox: no agent CLI reads them. */
function holdMessages({ world }: SchedulesWorld): void {
	vi.spyOn(world.engine.terminals, "hasInbox").mockReturnValue(true);
}

describe("a schedule", () => {
	test("calls its agent at every slot, and records the outcome", async () => {
		const it = await createSchedulesWorld();
		await up(it, `sync: { every: 10m, ${CALL} }`);
		await it.pass(35 * MINUTE);
		expect(statuses(it, "p:sync")).toEqual(["succeeded", "succeeded", "succeeded"]);
		expect([...it.ledger.values()].map(({ payload }) => payload)).toEqual([
			...[{ from: "here" }, { from: "here" }, { from: "here" }],
		]);
		const [slot] = it.slots("p:sync");
		expect([...it.ledger.keys()]).toContain(slot?.started?.type === "task" && slot.started.id);
		expect(types(it)).toEqual([
			"schedule.added",
			...Array.from({ length: 3 }, () => ["schedule.fired", "schedule.succeeded"]).flat(),
		]);
	});

	test("reports a slot whose task fails, and one that could not be fired", async () => {
		const it = await createSchedulesWorld();
		const folder = temporaryFolder();
		writeFileSync(join(folder, "broken.yaml"), "tasks: {}\n");
		await up(it, `plan: { every: 10m, plan: ${join(folder, "broken.yaml")} }`);
		await it.pass(10 * MINUTE);
		await expect.poll(() => statuses(it, "p:plan")).toEqual(["failed"]);
		expect(it.slots("p:plan")).toMatchObject([
			{ status: "failed", started: null, reason: expect.stringContaining("broken.yaml") },
		]);
	});

	test("runs a plan file as it is at the time of the slot", async () => {
		const it = await createSchedulesWorld();
		const file = join(temporaryFolder(), "nightly.yaml");
		await up(it, `plan: { every: 10m, plan: ${file} }`);
		writeFileSync(
			file,
			"tasks:\n  one: { agent: p:tool, action: a }\n  two: { agent: p:tool, action: b, depends_on: [one] }\n",
		);
		await it.pass(10 * MINUTE);
		await expect.poll(() => statuses(it, "p:plan")).toEqual(["succeeded"]);
		expect(it.slots("p:plan")).toMatchObject([
			{ status: "succeeded", started: { type: "plan" }, reason: "plan succeeded" },
		]);
		expect(it.ledger.size).toBe(2);
	});

	test("sends a message, and skips slots until it is delivered", async () => {
		const it = await createSchedulesWorld();
		holdMessages(it);
		await up(it, "ask: { every: 10m, send: { agent: web, message: review } }");
		await it.pass(31 * MINUTE);
		const { inbox } = it.world.engine;
		expect(inbox.list()).toMatchObject([{ agentId: "p:web", text: "review" }]);
		expect(statuses(it, "p:ask")).toEqual(["fired", "skipped", "skipped"]);
		const [message] = inbox.list();
		if (message === undefined) throw new Error("a message is missing");
		await inbox.delivered(message, true);
		await it.pass(10 * MINUTE);
		expect(statuses(it, "p:ask")).toEqual(["succeeded", "skipped", "skipped", "fired"]);
		await inbox.discard(inbox.list()[0]?.id ?? "");
		expect(it.slots("p:ask").at(-1)).toMatchObject({ status: "cancelled" });
	});

	test("types a message at once into a program that is no agent CLI", async () => {
		const it = await createSchedulesWorld();
		await up(it, "ask: { every: 10m, send: { agent: web, message: review } }");
		await it.pass(21 * MINUTE);
		expect(it.slots("p:ask")).toMatchObject([
			{ status: "succeeded", started: { type: "typed" } },
			{
				status: "succeeded",
				reason: "typed; a program that is not an agent CLI cannot confirm it",
			},
		]);
		const { runId } = it.world.engine.get("p:web").run ?? { runId: "" };
		const typed = Buffer.from(it.world.backend.typed(runId)).toString();
		expect(typed).toBe("review\rreview\r");
	});

	test("never types a message twice that a daemon typed when it died", async () => {
		const it = await createSchedulesWorld();
		await up(it, "ask: { every: 10m, send: { agent: web, message: review } }");
		vi.spyOn(it.world.engine.terminals, "send").mockReturnValue(new Promise(() => {}));
		await it.pass(10 * MINUTE);
		expect(statuses(it, "p:ask")).toEqual(["fired"]);
		await it.killAndRestart();
		await it.pass(MINUTE);
		expect(it.slots("p:ask")[0]).toMatchObject({
			status: "failed",
			reason: "the daemon stopped while it typed the message, which may have arrived",
		});
	});

	test("replaces a message that is still queued", async () => {
		const it = await createSchedulesWorld();
		holdMessages(it);
		await up(it, "ask: { every: 10m, overlap: replace, send: { agent: web, message: review } }");
		await it.pass(31 * MINUTE);
		expect(it.world.engine.inbox.list()).toHaveLength(1);
		expect(statuses(it, "p:ask")).toEqual(["cancelled", "cancelled", "fired"]);
	});

	test("restarts its agent", async () => {
		const it = await createSchedulesWorld();
		await up(it, "again: { every: 10m, restart: web }");
		await it.pass(21 * MINUTE);
		expect(it.slots("p:again")).toMatchObject([
			{ status: "succeeded", reason: "restarted" },
			{ status: "succeeded", reason: "restarted" },
		]);
		expect(it.world.backend.started).toHaveLength(3);
		expect(it.world.engine.get("p:web").agent.crash.policy).toBe("healthy");
	});

	test("skips its slots while the agent is down, with the reason", async () => {
		const it = await createSchedulesWorld();
		await up(it, "again: { every: 10m, restart: web }");
		await it.world.engine.down("p:web", 0);
		await it.pass(11 * MINUTE);
		expect(it.slots("p:again")).toMatchObject([
			{ status: "skipped", reason: expect.stringMatching(/^p:web is down: /) },
		]);
		expect(it.world.backend.started).toHaveLength(1);
	});
});

describe("while the previous slot runs", () => {
	test("`skip` skips", async () => {
		const it = await createSchedulesWorld();
		it.callMs = 15 * MINUTE - 5_000;
		await up(it, `sync: { every: 10m, ${CALL} }`);
		it.callMs = 9 * MINUTE + 55_000;
		await it.pass(10 * MINUTE);
		it.callMs = null;
		await it.pass(20 * MINUTE);
		expect(
			statuses(it, "p:sync")
				.slice(1)
				.every((status) => status !== "queued"),
		).toBe(true);
		const skipped = it.slots("p:sync").find(({ status }) => status === "skipped");
		expect(skipped?.reason).toMatch(/^the slot of .* is still running: task /);
	});

	test("`queue` waits, and fires in order", async () => {
		const it = await createSchedulesWorld();
		it.callMs = 5 * MINUTE;
		await up(it, `sync: { every: 2m, overlap: queue, ${CALL} }`);
		await it.pass(7 * MINUTE);
		expect(statuses(it, "p:sync")).toEqual(["fired", "queued", "queued"]);
		await it.killAndRestart();
		it.callMs = 1_000;
		await it.pass(10 * MINUTE);
		const done = it.slots("p:sync").filter(({ status }) => status === "succeeded");
		expect(done.length).toBeGreaterThanOrEqual(5);
		const ended = done.map(({ endedAtMs }) => endedAtMs ?? 0);
		expect(ended).toEqual(ended.toSorted((a, b) => a - b));
	});

	test("`replace` cancels", async () => {
		const it = await createSchedulesWorld();
		it.callMs = null;
		await up(it, `sync: { every: 3m, overlap: replace, ${CALL} }`);
		await it.pass(10 * MINUTE);
		expect(statuses(it, "p:sync")).toEqual(["cancelled", "cancelled", "fired"]);
		const { tasks } = it.world.engine;
		expect(tasks.tasks({ limit: 10 }).map(({ status }) => status)).toEqual([
			...["in_progress", "cancelled", "cancelled"],
		]);
	});
});

describe("operators", () => {
	test("pause and resume a schedule, also across a new daemon", async () => {
		const it = await createSchedulesWorld();
		await up(it, `sync: { every: 10m, ${CALL} }`);
		expect(await it.world.engine.schedules.pause("p:sync")).toBe(true);
		expect(await it.world.engine.schedules.pause("p:sync")).toBe(false);
		await it.killAndRestart(HOUR);
		await it.pass(HOUR);
		expect(it.slots("p:sync")).toEqual([]);
		expect(it.world.engine.schedules.get("p:sync").nextMs).toBeNull();
		expect(await it.world.engine.schedules.resume("p:sync")).toBe(true);
		await it.pass(11 * MINUTE);
		expect(statuses(it, "p:sync")).toEqual(["succeeded"]);
	});

	test("run a schedule at any time, and its slots still come", async () => {
		const it = await createSchedulesWorld();
		await up(it, `sync: { every: 10m, ${CALL} }`);
		expect(await it.world.engine.schedules.fire("p:sync")).toMatchObject({ manual: true });
		await it.pass(11 * MINUTE);
		expect(it.slots("p:sync").map(({ manual, status }) => [manual, status])).toEqual([
			[true, "succeeded"],
			[false, "succeeded"],
		]);
		await expect(it.world.engine.schedules.fire("p:other")).rejects.toMatchObject({
			code: "schedule_not_found",
		});
	});

	test("change and remove schedules with a reload; unchanged times keep the next slot", async () => {
		const it = await createSchedulesWorld();
		await up(it, `sync: { every: 10m, ${CALL} }`);
		await it.pass(5 * MINUTE);
		const { engine } = it.world;
		const { nextMs } = engine.schedules.get("p:sync");
		const changed = fleetWith("sync: { every: 10m, call: { agent: tool, action: other } }");
		expect((await engine.reload(changed)).schedules).toEqual([{ id: "p:sync", change: "change" }]);
		expect(engine.schedules.get("p:sync").nextMs).toBe(nextMs);
		await engine.reload(fleetWith("sync: { every: 1h, call: { agent: tool, action: other } }"));
		expect(engine.schedules.get("p:sync").nextMs).toBeGreaterThan((nextMs ?? 0) + 50 * MINUTE);
		const removed = await engine.reload(fleetWith("new: { every: 1h, restart: web }"));
		expect(removed.schedules).toEqual([
			{ id: "p:new", change: "add" },
			{ id: "p:sync", change: "remove" },
		]);
		await it.killAndRestart();
		expect(it.world.engine.schedules.list().map(({ spec }) => spec.id)).toEqual(["p:new"]);
		const foreign = fleetWith("new: { every: 1h, restart: web }", "other.yaml");
		await expect(it.world.engine.reload(foreign)).rejects.toThrow(/already defined/);
	});
});

test("a restart that was claimed is done once, whenever the daemon dies", async () => {
	for (let killAfterMs = 0; killAfterMs < 40; killAfterMs += 1) {
		const it = await createSchedulesWorld();
		await up(it, "again: { every: 10m, restart: web }");
		await it.pass(10 * MINUTE - 2_000);
		// Turns of the loop instead of time: the daemon may die at every commit.
		it.world.clock.advance(1_500);
		for (let turn = 0; turn < killAfterMs; turn++) await Promise.resolve();
		await it.killAndRestart();
		await it.pass(MINUTE);
		expect(it.world.backend.started).toHaveLength(2);
		expect(statuses(it, "p:again")).toEqual(["succeeded"]);
	}
});

describe("a night with a clock change", () => {
	const NIGHTS = {
		spring: ["2026-03-28T12:00:00Z", ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]],
		autumn: ["2026-10-24T12:00:00Z", ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]],
	} as const;
	test.each(Object.entries(NIGHTS))("in %s fires every slot once", async (_, [from, expected]) => {
		const it = await createSchedulesWorld();
		it.world.clock.stepWall(Date.parse(from) - it.world.clock.now().wallMs);
		await up(it, `night: { cron: "30 2 * * *", timezone: Europe/Berlin, catch_up: once, ${CALL} }`);
		for (let hour = 0; hour < 40; hour++) {
			await it.pass(HOUR - 10_000);
			await it.killAndRestart(10_000);
		}
		expect(it.slots("p:night").map(({ slotMs }) => slotMs)).toEqual(
			expected.map((time) => Date.parse(time)),
		);
		expect(statuses(it, "p:night")).toEqual(["succeeded", "succeeded"]);
		expect(it.ledger.size).toBe(2);
	});
});

describe("daemons killed at random, and a clock that is set", () => {
	const LIVES = Number(process.env["REEVE_SCHEDULE_LIVES"] ?? 3);
	const SLOTS = 200;
	const CRON_MS = 5 * MINUTE;

	for (let seed = 1; seed <= LIVES; seed++) {
		test(`seed ${seed}: each of ${SLOTS} slots fires once, or is skipped by its rule`, async () => {
			const random = createRandom(seed);
			const it = await createSchedulesWorld(() => random.next());
			const catchUp = random.pick(["none", "once"]);
			const overlap = random.pick(["skip", "queue", "replace"]);
			await up(
				it,
				`grid: { cron: "*/5 * * * *", timezone: UTC, catch_up: ${catchUp}, overlap: ${overlap}, ${CALL} }
often: { every: 1m, jitter: 20s, ${CALL} }
again: { every: 17m, restart: web }`,
			);
			const firstMs = it.world.engine.schedules.get("p:grid").nextMs ?? 0;
			let lastMs = 0;
			const look = () => {
				lastMs = Math.max(lastMs, it.world.clock.now().wallMs);
			};
			while (it.slots("p:grid").length < SLOTS) {
				const roll = random.int(1, 10);
				it.callMs = random.pick([0, 0, 1_000, 4 * MINUTE, 12 * MINUTE]);
				if (roll <= 6) await it.pass(random.int(1_000, 12 * MINUTE));
				else if (roll <= 8) {
					it.world.clock.advance(random.int(0, 2_000));
					for (let turn = random.int(0, 60); turn > 0; turn--) await Promise.resolve();
					await it.killAndRestart(random.pick([0, 5_000, 3 * MINUTE, 40 * MINUTE]));
				} else if (roll === 9) it.world.clock.stepWall(random.int(0, 40 * MINUTE));
				else it.world.clock.stepWall(-random.int(0, 40 * MINUTE));
				await it.world.settle();
				look();
			}
			it.callMs = 0;
			await it.killAndRestart();
			await it.pass(20 * MINUTE);
			look();
			checkGrid(it, { firstMs, lastMs, stepMs: CRON_MS });
			checkLedger(it);
		});
	}
});

/** Every slot of the grid up to now has one record; computed without any code of the schedules. */
function checkGrid(
	it: SchedulesWorld,
	{ firstMs, lastMs, stepMs }: { firstMs: number; lastMs: number; stepMs: number },
): void {
	const found = new Map<number, number>();
	for (const { slotMs, missed } of it.slots("p:grid")) {
		for (let at = slotMs; at <= (missed?.untilMs ?? slotMs); at += stepMs) {
			found.set(at, (found.get(at) ?? 0) + 1);
		}
	}
	const expected: number[] = [];
	for (let at = firstMs; at <= lastMs - 15_000; at += stepMs) expected.push(at);
	expect([...found.values()].filter((count) => count !== 1)).toEqual([]);
	const missing = expected.filter((at) => !found.has(at));
	expect(missing.map((at) => new Date(at).toISOString())).toEqual([]);
}

/** The agents' ledger is the oracle: a request for each slot that fired, and none without a slot. */
function checkLedger(it: SchedulesWorld): void {
	const slots = ["p:grid", "p:often"].flatMap((id) => it.slots(id));
	const tasks = slots.flatMap(({ started }) => (started?.type === "task" ? [started.id] : []));
	expect(new Set(tasks).size).toBe(tasks.length);
	const known = new Set(tasks);
	expect([...it.ledger.keys()].filter((id) => !known.has(id))).toEqual([]);
	const unserved = slots.filter(
		({ status, started }) =>
			status === "succeeded" && started?.type === "task" && !it.ledger.has(started.id),
	);
	expect(unserved).toEqual([]);
	const { store } = it.world;
	expect(store.countTasks({})).toMatchObject({});
	const all = Object.values(store.countTasks({})).reduce((sum, count) => sum + count, 0);
	expect(all).toBe(tasks.length);
	for (const { started, status } of slots) {
		if (started?.type !== "task") continue;
		const task = store.readTask(started.id);
		const expected = { succeeded: "succeeded", cancelled: "cancelled", dead_lettered: "failed" };
		const ended = expected[task?.status as keyof typeof expected];
		if (ended !== undefined) expect(status).toBe(ended);
	}
	const restarts = it.slots("p:again").filter(({ status }) => status === "succeeded");
	const did = restarts.filter(({ reason }) => reason === "restarted").length;
	expect(it.world.backend.started.length).toBeLessThanOrEqual(restarts.length + 1);
	expect(it.world.backend.started.length).toBeGreaterThanOrEqual(did + 1);
	expect(it.world.errors).toEqual([]);
}

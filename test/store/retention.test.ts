import { describe, expect, test } from "vitest";
import { DEFAULT_RETENTION } from "../../src/core/retention.js";
import type { Store } from "../../src/ports/store.js";
import {
	agentNamed,
	eventWith,
	exitOf,
	runNumbered,
	slotNumbered,
	taskNumbered,
} from "../../src/testing/conformance/store-records.js";
import { DRIVERS, newPath, open, range } from "./support.js";

const NOW_MS = 1_700_000_000_000;
const KEPT = {
	...{ ageMsMax: 1_000, eventsMax: 1_500, eventsMin: 5 },
	...{ exitsMax: 10, exitsMin: 2, tasksMax: 20, tasksMin: 5, slotsMax: 8, slotsMin: 3 },
};

const seqs = (store: Store) => store.readEvents({ afterSeq: 0, limit: 1e6 }).map(({ seq }) => seq);

async function append(store: Store, count: number, atMs = NOW_MS): Promise<void> {
	await store.commit((transaction) => {
		for (const number of range(count)) transaction.appendEvent(eventWith(number), atMs);
	});
}

/** Numbered runs that have ended, oldest first. */
async function end(store: Store, numbers: readonly number[], agentId: string, atMs = NOW_MS) {
	await store.commit((transaction) => {
		for (const number of numbers) {
			transaction.putRun(runNumbered(number, { agentId, state: "ended" }));
			transaction.putExit(exitOf(number, { agentId, atMs }));
		}
	});
}

describe.each(DRIVERS)("history in %s", (driver) => {
	test("is cut at the oldest events, and numbers continue from the newest (A3)", async () => {
		const path = newPath();
		const store = await open(path, { driver });
		expect(store.firstSeq()).toBe(1);
		await append(store, 4_000);
		expect(await store.prune(KEPT, NOW_MS)).toMatchObject({ events: 2_500 });
		expect([store.firstSeq(), store.lastSeq()]).toEqual([2_501, 4_000]);
		expect(await store.prune(KEPT, NOW_MS)).toMatchObject({ events: 0, exits: 0, runs: 0 });
		await store.close();
		const again = await open(path, { driver });
		await append(again, 1);
		expect(seqs(again)).toEqual(range(1_501).map((index) => 2_501 + index));
	});

	test("is cut by age, except for the newest, which a clock that jumps must not cost", async () => {
		const store = await open(newPath(), { driver });
		await append(store, 20, NOW_MS - 5_000);
		await append(store, 20, NOW_MS);
		await store.prune(KEPT, NOW_MS);
		expect(seqs(store)).toEqual(range(20).map((index) => 21 + index));
		await store.prune(KEPT, NOW_MS + 365 * 86_400_000);
		expect(seqs(store)).toEqual([36, 37, 38, 39, 40]);
	});

	test("keeps the newest exits of each agent, every open run, and all that agents remember", async () => {
		const store = await open(newPath(), { driver });
		const agents = ["a", "b"].map((name) => agentNamed(name));
		await store.commit((transaction) => {
			for (const agent of agents) transaction.putAgent(agent);
			transaction.putRun(runNumbered(1_000, { agentId: "web:a" }));
			transaction.putRun(runNumbered(1_001, { agentId: "web:b", state: "intended" }));
		});
		await end(store, range(30), "web:a");
		await end(store, [100, 101, 102], "web:b", NOW_MS - 5_000);
		await end(store, [200, 201], "web:removed", NOW_MS - 5_000);
		expect(await store.prune(KEPT, NOW_MS)).toMatchObject({ events: 0, exits: 23, runs: 23 });
		const kept = (id: string) => store.readExits(id, 1e6).map(({ runId }) => runId);
		expect(kept("web:a")).toEqual(range(10).map((index) => `run-${29 - index}`));
		expect(kept("web:b")).toEqual(["run-102", "run-101"]);
		expect(kept("web:removed")).toEqual([]);
		expect(store.readOpenRuns().map(({ runId }) => runId)).toEqual(["run-1000", "run-1001"]);
		expect(store.readAgents()).toEqual(agents);
	});

	test("keeps the newest slots of each schedule, and every open one", async () => {
		const store = await open(newPath(), { driver });
		await store.commit((transaction) => {
			for (const number of range(20)) {
				const status = number === 0 ? "fired" : "succeeded";
				transaction.putSlot(slotNumbered(number, { status, decidedAtMs: NOW_MS }));
			}
			for (const number of range(5)) {
				const old = { schedule: "web:old", decidedAtMs: NOW_MS - 5_000 };
				transaction.putSlot(slotNumbered(100 + number, old));
			}
		});
		expect(await store.prune(KEPT, NOW_MS)).toMatchObject({ slots: 13 });
		const kept = (schedule: string) => store.readSlots(schedule, 99).map(({ id }) => id);
		expect(kept("web:nightly")).toEqual(
			[19, 18, 17, 16, 15, 14, 13, 12, 0].map((n) => `slot-${n}`),
		);
		expect(kept("web:old")).toEqual(["slot-104", "slot-103", "slot-102"]);
	});

	test("is kept whole by the defaults while it is small", async () => {
		const store = await open(newPath(), { driver });
		await append(store, 50);
		await end(store, range(50), "web:a");
		const none = { events: 0, exits: 0, runs: 0, tasks: 0, plans: 0, slots: 0 };
		expect(await store.prune(DEFAULT_RETENTION, NOW_MS)).toEqual(none);
	});

	test("loses old tasks with all their data, but no open plan's and no dead letter", async () => {
		const store = await open(newPath(), { driver });
		const plan = {
			...{
				name: "p",
				onFailure: "continue" as const,
				reason: "",
				correlationId: "c",
				createdAtMs: 0,
			},
			...{ idempotencyKey: null, fingerprint: null, endedAtMs: null },
		};
		await store.commit((transaction) => {
			transaction.putPlan({ ...plan, planId: "plan-3", status: "running" });
			transaction.putPlan({ ...plan, planId: "plan-4", status: "failed" });
			for (const number of range(30)) {
				const status = number === 2 ? "dead_lettered" : number === 5 ? "queued" : "succeeded";
				transaction.putTask(taskNumbered(number, { status, createdAtMs: NOW_MS }));
				transaction.putTaskInput(`task-${number}`, { payload: number, context: null });
				transaction.putTaskResult(`task-${number}`, number);
			}
		});
		const ids = () => store.readTasks({ limit: 99 }).map(({ taskId }) => taskId);
		expect(await store.prune(KEPT, NOW_MS)).toMatchObject({ tasks: 7, plans: 1 });
		expect(ids().slice(20)).toEqual(["task-5", "task-3", "task-2"]);
		expect([store.readTaskInput("task-1"), store.readTaskResult("task-1")]).toEqual([
			null,
			undefined,
		]);
		expect(store.readTaskResult("task-3")).toBe(3);
		expect([store.readPlan("plan-3")?.status, store.readPlan("plan-4")]).toEqual(["running", null]);
		// By age, except for the newest.
		await store.prune(KEPT, NOW_MS + 2_000);
		expect(ids()).toHaveLength(8);
	});
});

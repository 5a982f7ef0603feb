/**
 * The guarantees of every store (`ports/store`): records come back as they were stored, a change is
 * applied as a whole or not at all, and events have no gap and no repeat (A3).
 */

import assert from "node:assert/strict";
import type { ReeveEvent } from "../../core/events.js";
import type { NewEvent } from "../../ports/store.js";
import { assertHas, type ConformanceTest, testsIn } from "./conformance-test.js";
import {
	ACCOUNT,
	agentNamed,
	effectFor,
	eventWith,
	exitOf,
	FINISHED_TURN,
	messageWith,
	putAgentStates,
	QUESTION,
	runNumbered,
	SCHEDULE,
	SCREEN_QUESTION,
	slotNumbered,
	taskNumbered,
	USAGE,
} from "./store-records.js";
import { STORE_TASK_TESTS } from "./store-task-conformance.js";
import {
	append,
	numbersIn,
	range,
	reopen,
	type StoreTests,
	type StoreWorld,
} from "./store-world.js";

/** Tests for an implementation of `Store`. Run each with any test runner. */
export function storeConformance(
	createWorld: () => Promise<StoreWorld>,
): readonly ConformanceTest[] {
	return testsIn(createWorld, { ...RECORDS, ...COMMITS, ...STORE_TASK_TESTS });
}

const RECORDS: StoreTests = {
	async "returns agents as they were stored, by file and position"(world) {
		const store = await world.open();
		const second = agentNamed("b", { position: 1, restarts: 7, waiting: true, desired: "down" });
		const first = agentNamed("z", { position: 0, spec: null });
		const other = agentNamed("a", { fleetFile: "/srv/other.yaml" });
		await store.commit((transaction) => {
			for (const agent of [second, first, other]) transaction.putAgent(agent);
		});
		assert.deepEqual(store.readAgents(), [other, first, second]);
		const moved = { ...first, position: 2, reason: "moved" };
		await store.commit((transaction) => {
			transaction.putAgent(moved);
			transaction.removeAgent(other.id);
			transaction.removeAgent("web:missing");
		});
		assert.deepEqual((await reopen(world, store)).readAgents(), [second, moved]);
	},

	async "returns runs until they have ended, in the order of their first record"(world) {
		const store = await world.open();
		const intended = runNumbered(2, { state: "intended", handle: null });
		const runs = [runNumbered(3), runNumbered(1, { askedBy: "operator" }), intended];
		await store.commit((transaction) => {
			for (const run of runs) transaction.putRun(run);
		});
		assert.deepEqual(store.readOpenRuns(), runs);
		await store.commit((transaction) => transaction.putRun(runNumbered(3, { state: "ended" })));
		assert.deepEqual((await reopen(world, store)).readOpenRuns(), runs.slice(1));
	},

	async "returns exits newest first, even if the wall clock was set back"(world) {
		const store = await world.open();
		const exits = range(5).map((number) => exitOf(number, { atMs: 1_000 - number }));
		const killed = exitOf(9, { agentId: "web:b", code: null, signal: "SIGKILL", class: null });
		await store.commit((transaction) => {
			for (const number of [...range(5), 9]) transaction.putRun(runNumbered(number));
			for (const exit of [...exits, killed]) transaction.putExit(exit);
		});
		const again = await reopen(world, store);
		assert.deepEqual(again.readExits("web:a", 3), exits.toReversed().slice(0, 3));
		assert.deepEqual(again.readExits("web:b", 10), [killed]);
		assert.deepEqual(again.readExits("web:a", -1), []);
		assert.equal(again.readExits("web:a", Number.POSITIVE_INFINITY).length, 5);
	},

	async "rejects the exit of an unknown run, and stores at most one exit of a run (S8)"(world) {
		const store = await world.open();
		await assert.rejects(store.commit((transaction) => transaction.putExit(exitOf(1))));
		await store.commit((transaction) => {
			transaction.putRun(runNumbered(1));
			transaction.putExit(exitOf(1));
		});
		const repeated = exitOf(1, { reason: "stored again" });
		await store.commit((transaction) => transaction.putExit(repeated)).catch(() => {});
		assert.equal(store.readExits("web:a", 10).length, 1);
	},

	async "returns pending effects by their due time, one for each key"(world) {
		const store = await world.open();
		await store.commit((transaction) => {
			transaction.putEffect(effectFor("late", { dueAtMs: 3 }));
			transaction.putEffect(effectFor("early", { dueAtMs: 1 }));
			transaction.putEffect(effectFor("late", { dueAtMs: 2.5 }));
			transaction.putEffect(effectFor("done"));
			transaction.removeEffect("done");
		});
		assert.deepEqual((await reopen(world, store)).readEffects("start"), [
			effectFor("early", { dueAtMs: 1 }),
			effectFor("late", { dueAtMs: 2.5 }),
		]);
	},

	async "returns messages, questions, usage, accounts and cursors, one for each key"(world) {
		const store = await world.open();
		await store.commit(putAgentStates);
		const again = await reopen(world, store);
		assert.deepEqual(again.readMessages(), [messageWith("1", "first"), messageWith("2", "NUL \0")]);
		assert.deepEqual(again.readQuestions(), [QUESTION]);
		assert.deepEqual(again.readAccounts(), [ACCOUNT]);
		assert.deepEqual(again.readScreenQuestions(), [SCREEN_QUESTION]);
		assert.deepEqual(again.readFinishedTurns(), [FINISHED_TURN]);
		assert.deepEqual(again.readUsage(), [USAGE]);
		assert.equal(again.readCursor("reader"), 8);
		assert.equal(again.readCursor("other"), null);
		assert.equal(again.readCursor("removed"), null);
	},

	async "returns schedules in fleet order, their open slots, and the newest of all"(world) {
		const store = await world.open();
		const other = { ...SCHEDULE, id: "web:a", position: 1 };
		await store.commit((transaction) => {
			transaction.putSchedule({ ...SCHEDULE, pausedAtMs: 1 });
			transaction.putSchedule(other);
			transaction.putSchedule(SCHEDULE);
			transaction.putSchedule({ ...other, id: "web:removed", position: 2 });
			transaction.putSlot(slotNumbered(1));
			transaction.putSlot(slotNumbered(2, { status: "queued" }));
			transaction.putSlot(slotNumbered(3, { status: "fired" }));
			transaction.putSlot(slotNumbered(2, { status: "fired" }));
			transaction.putSlot(slotNumbered(4, { schedule: "web:removed", status: "fired" }));
			transaction.removeSchedule("web:removed");
		});
		const again = await reopen(world, store);
		assert.deepEqual(again.readSchedules(), [SCHEDULE, other]);
		assert.deepEqual(
			again.readOpenSlots().map(({ id, status }) => [id, status]),
			[
				["slot-2", "fired"],
				["slot-3", "fired"],
			],
		);
		assert.deepEqual(
			again.readSlots(SCHEDULE.id, 2).map(({ id }) => id),
			["slot-3", "slot-2"],
		);
		assert.deepEqual(again.readSlots("web:removed", 9), []);
		assert.deepEqual(again.readSlots(SCHEDULE.id, 9).at(-1), slotNumbered(1));
	},

	async "keeps the outcome of a slot"(world) {
		const store = await world.open();
		await store.commit((transaction) => transaction.putSlot(slotNumbered(1)));
		const again = store.commit((transaction) =>
			transaction.putSlot(slotNumbered(1, { status: "fired" })),
		);
		await assert.rejects(again, /has ended/);
		assert.deepEqual(store.readSlots(SCHEDULE.id, 9), [slotNumbered(1)]);
	},

	async "numbers events from 1 and finds them by position and agent (A3)"(world) {
		const store = await world.open();
		assert.equal(store.lastSeq(), 0);
		assert.equal(store.firstSeq(), 1);
		const full: NewEvent = {
			type: "task.changed",
			task: "t1",
			plan: "p1",
			run_id: "r1",
			correlation_id: "c1",
			data: {
				from: "queued",
				to: "dispatched",
				attempt: 1,
				error: null,
				code: null,
				duration_ms: null,
				reason: "its turn",
			},
		};
		await store.commit((transaction) => {
			transaction.appendEvent(eventWith(1, "web:a"), 0);
			transaction.appendEvent(full, 1_700_000_000_123);
			transaction.appendEvent(eventWith(2, "web:b"), 5);
			transaction.appendEvent(eventWith(3, "web:a"), 4);
		});
		const again = await reopen(world, store);
		const all = again.readEvents({ afterSeq: 0, limit: 10 });
		assert.deepEqual(all, [
			{ seq: 1, at: "1970-01-01T00:00:00.000Z", ...eventWith(1, "web:a") },
			{ seq: 2, at: "2023-11-14T22:13:20.123Z", ...full },
			{ seq: 3, at: "1970-01-01T00:00:00.005Z", ...eventWith(2, "web:b") },
			{ seq: 4, at: "1970-01-01T00:00:00.004Z", ...eventWith(3, "web:a") },
		]);
		assert.deepEqual(again.readEvents({ afterSeq: 1, limit: 2 }), all.slice(1, 3));
		const ofOne = again.readEvents({ afterSeq: 1, limit: 9, agent: "web:a" });
		assert.deepEqual(ofOne, all.slice(3));
		assert.deepEqual(again.readEvents({ afterSeq: 4, limit: 9 }), []);
		assert.equal(again.lastSeq(), 4);
	},
};

const COMMITS: StoreTests = {
	async "applies a thousand changes at once in order"(world) {
		const store = await world.open();
		const answers = range(1_000).map((number) =>
			store.commit((transaction) => {
				append(number)(transaction);
				return number;
			}),
		);
		assert.deepEqual(await Promise.all(answers), range(1_000));
		assert.deepEqual(numbersIn(store), range(1_000));
	},

	async "undoes a change that throws, alone and completely"(world) {
		const store = await world.open();
		const undone: string[] = [];
		const results = await Promise.allSettled([
			store.commit((transaction) => {
				transaction.putAgent(agentNamed("before"));
				transaction.putRun(runNumbered(1));
			}),
			store.commit((transaction) => {
				transaction.putAgent(agentNamed("undone"));
				transaction.removeAgent("web:before");
				transaction.putRun(runNumbered(1, { state: "ended" }));
				transaction.putExit(exitOf(1));
				transaction.putEffect(effectFor("undone"));
				transaction.putTask(taskNumbered(1));
				transaction.onRollback(() => undone.push("first"));
				transaction.onRollback(() => undone.push("second"));
				append(1)(transaction);
				throw new Error("on purpose");
			}),
			store.commit((transaction) => append(2)(transaction)),
		]);
		assert.deepEqual(
			results.map(({ status }) => status),
			["fulfilled", "rejected", "fulfilled"],
		);
		assertHas(results[1], { reason: new Error("on purpose") });
		assert.deepEqual(store.readAgents(), [agentNamed("before")]);
		assert.deepEqual(store.readOpenRuns(), [runNumbered(1)]);
		assert.deepEqual(store.readExits("web:a", 9), []);
		assert.deepEqual(store.readEffects("start"), []);
		assert.deepEqual(store.readOpenTasks(), []);
		assert.deepEqual(numbersIn(store), [2]);
		assert.deepEqual(undone, ["second", "first"]);
		assert.deepEqual(store.health(), { ok: true });
	},

	async "lets a change read the results of earlier changes"(world) {
		const store = await world.open();
		await store.commit((transaction) => transaction.putAgent(agentNamed("a")));
		const increment = () =>
			store.commit((transaction) => {
				const [agent] = store.readAgents();
				if (agent !== undefined) transaction.putAgent({ ...agent, restarts: agent.restarts + 1 });
			});
		await Promise.all(range(50).map(increment));
		assert.equal(store.readAgents()[0]?.restarts, 50);
	},

	async "stores a copy: later changes to a record have no effect"(world) {
		const store = await world.open();
		const data = { pid: 1, with_continue: false };
		const published: ReeveEvent[] = [];
		store.onCommit((events) => published.push(...events));
		await store.commit((transaction) => {
			transaction.appendEvent({ type: "agent.started", agent: "web:a", data }, 1);
			data.pid = 99;
		});
		assert.deepEqual(published[0]?.data, { pid: 1, with_continue: false });
		assert.deepEqual(numbersIn(store), [1]);
	},

	async "publishes events in order, before the commit resolves, until the listener leaves"(world) {
		const store = await world.open();
		const log: string[] = [];
		const leave = store.onCommit((events) => {
			for (const { seq } of events) log.push(`event ${seq}`);
		});
		await Promise.all(
			range(2).map(async (number) => {
				await store.commit(append(number));
				log.push(`resolved ${number}`);
			}),
		);
		await store.commit((transaction) => transaction.putAgent(agentNamed("a")));
		leave();
		await store.commit(append(2));
		assert.deepEqual(
			log.filter((line) => line.startsWith("event")),
			["event 1", "event 2"],
		);
		for (const number of range(2)) {
			assert.ok(log.indexOf(`event ${number + 1}`) < log.indexOf(`resolved ${number}`));
		}
	},
};

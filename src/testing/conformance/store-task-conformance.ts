/** The guarantees of every store for tasks, plans and circuits. */

import assert from "node:assert/strict";
import { NEW_BREAKER } from "../../core/breaker.js";
import type { TaskQuery } from "../../ports/task-store.js";
import { assertHas } from "./conformance-test.js";
import { planNumbered, taskNumbered } from "./store-records.js";
import { reopen, type StoreTests } from "./store-world.js";

export const STORE_TASK_TESTS: StoreTests = {
	async "returns tasks as they were stored, and the unfinished ones in order"(world) {
		const store = await world.open();
		const tasks = [
			taskNumbered(3, { status: "in_progress", running: { runId: "r", startedAtMs: 1 } }),
			taskNumbered(1, { status: "retried", next: { dueAtMs: 5, afterMs: 4 } }),
			taskNumbered(2, { status: "succeeded", endedAtMs: 9 }),
		];
		await store.commit((transaction) => {
			for (const task of tasks) transaction.putTask(task);
		});
		const again = await reopen(world, store);
		assert.deepEqual(again.readOpenTasks(), tasks.slice(0, 2));
		assert.deepEqual(again.readTask("task-2"), tasks[2]);
		assert.equal(again.readTask("task-9"), null);
	},

	async "returns inputs and results unchanged"(world) {
		const store = await world.open();
		const input = { payload: { text: "a\u0000b\u2028 ü", list: [1, null] }, context: null };
		await store.commit((transaction) => {
			transaction.putTaskInput("task-1", input);
			transaction.putTaskResult("task-1", "done\u0000");
			transaction.putTaskResult("task-2", undefined);
		});
		assert.deepEqual(store.readTaskInput("task-1"), input);
		assert.equal(store.readTaskResult("task-1"), "done\u0000");
		assert.equal(store.readTaskResult("task-2"), null);
		assert.equal(store.readTaskResult("task-3"), undefined);
		assert.equal(store.readTaskInput("task-3"), null);
	},

	async "stores every attempt, and none twice"(world) {
		const store = await world.open();
		const first = {
			taskId: "task-1",
			n: 1,
			runId: "r1",
			startedAtMs: 1,
			endedAtMs: 2,
			log: "oh\n",
			error: { kind: "io", message: "broken pipe" },
		} as const;
		const second = { ...first, n: 2, runId: "r2", error: null };
		await store.commit((transaction) => {
			transaction.putAttempt(second);
			transaction.putAttempt(first);
		});
		assert.deepEqual(store.readAttempts("task-1"), [first, second]);
		await assert.rejects(store.commit((transaction) => transaction.putAttempt(first)));
	},

	async "rejects another end of a task (T2)"(world) {
		const store = await world.open();
		const letter = { type: "discarded", atMs: 7 } as const;
		const put = (changes: Parameters<typeof taskNumbered>[1]) =>
			store.commit((transaction) => transaction.putTask(taskNumbered(1, changes)));
		await put({ status: "dead_lettered" });
		await assert.rejects(put({ status: "succeeded" }));
		await put({ status: "dead_lettered", letter });
		assertHas(store.readTask("task-1"), { status: "dead_lettered", letter });
	},

	async "finds tasks by agent, status, plan and time, newest first and page by page"(world) {
		const store = await world.open();
		await store.commit((transaction) => {
			for (const number of [1, 2, 3, 4, 5, 6]) {
				const agentId = number % 2 === 0 ? "web:git" : "web:db";
				const status = number > 4 ? "dead_lettered" : "queued";
				transaction.putTask(taskNumbered(number, { agentId, status }));
			}
		});
		const finds = (query: TaskQuery, ...numbers: number[]) =>
			assert.deepEqual(
				store.readTasks(query).map(({ taskId }) => taskId),
				numbers.map((number) => `task-${number}`),
			);
		finds({ limit: 2 }, 6, 5);
		finds({ limit: 2, before: "task-5" }, 4, 3);
		finds({ limit: 9, agent: "web:db", status: "queued" }, 3, 1);
		finds({ limit: 9, within: "web", status: "dead_lettered" }, 6, 5);
		finds({ limit: 9, within: "we" });
		finds({ limit: 9, sinceMs: 4, agent: "web:git" }, 6, 4);
		finds({ limit: 9, plan: "plan-2" }, 2);
		finds({ limit: 9, openLetters: true }, 6, 5);
		finds({ limit: -1 });
		finds({ limit: 9, part: "task-3" }, 3);
		finds({ limit: 9, part: "k-3" }, 3);
		finds({ limit: 2, part: "task" }, 6, 5);
		finds({ limit: 9, part: "t%k" });
		assert.deepEqual({ ...store.countTasks({}) }, { queued: 4, dead_lettered: 2 });
		const ofOne = store.countTasks({ agent: "web:db", sinceMs: 2 });
		assert.deepEqual({ ...ofOne }, { queued: 1, dead_lettered: 1 });
	},

	async "stores one task for an idempotency key (T5)"(world) {
		const store = await world.open();
		const first = taskNumbered(1, { idempotencyKey: "k" });
		await store.commit((transaction) => transaction.putTask(first));
		assert.deepEqual(store.findTask("k"), first);
		assert.equal(store.findTask("other"), null);
		const second = taskNumbered(2, { idempotencyKey: "k" });
		await assert.rejects(store.commit((transaction) => transaction.putTask(second)));
	},

	async "returns plans and circuits as they were stored"(world) {
		const store = await world.open();
		const plan = planNumbered(1, { idempotencyKey: "pk", fingerprint: "f" });
		const ended = planNumbered(2, { status: "failed", endedAtMs: 9 });
		const breaker = { agentId: "web:git", state: { ...NEW_BREAKER, consecutiveFailures: 2 } };
		await store.commit((transaction) => {
			transaction.putPlan(plan);
			transaction.putPlan(ended);
			transaction.putBreaker({ ...breaker, state: NEW_BREAKER });
			transaction.putBreaker(breaker);
		});
		const again = await reopen(world, store);
		assert.deepEqual(again.readOpenPlans(), [plan]);
		assert.deepEqual(again.readPlans({ limit: 5 }), [ended, plan]);
		assert.deepEqual(again.readPlans({ limit: 5, status: "failed" }), [ended]);
		assert.deepEqual(again.findPlan("pk"), plan);
		assert.equal(again.readPlan("plan-3"), null);
		assert.deepEqual(again.readBreakers(), [breaker]);
	},
};

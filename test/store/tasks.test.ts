import { describe, expect, test } from "vitest";
import { NEW_BREAKER } from "../../src/core/breaker.js";
import type { StoredPlan } from "../../src/ports/task-store.js";
import { DRIVERS, newPath, open, taskNumbered } from "./support.js";

const ids = (found: readonly { readonly taskId: string }[]) => found.map(({ taskId }) => taskId);

describe.each(DRIVERS)("tasks in %s", (driver) => {
	test("come back as they were after a restart, those that have not ended in order", async () => {
		const path = newPath();
		const store = await open(path, { driver });
		const tasks = [
			taskNumbered(3, { status: "in_progress", running: { runId: "r", startedAtMs: 1 } }),
			taskNumbered(1, { status: "retried", next: { dueAtMs: 5, afterMs: 4 } }),
			taskNumbered(2, { status: "succeeded", endedAtMs: 9 }),
		];
		await store.commit((transaction) => {
			for (const task of tasks) transaction.putTask(task);
		});
		await store.close();
		const again = await open(path, { driver });
		expect(again.readOpenTasks()).toEqual(tasks.slice(0, 2));
		expect(again.readTask("task-2")).toEqual(tasks[2]);
		expect(again.readTask("task-9")).toBeNull();
	});

	test("keep what they were given and what they answered to the letter", async () => {
		const store = await open(newPath(), { driver });
		const input = { payload: { text: "a\u0000b\u2028 ü", list: [1, null] }, context: null };
		await store.commit((transaction) => {
			transaction.putTaskInput("task-1", input);
			transaction.putTaskResult("task-1", "done\u0000");
			transaction.putTaskResult("task-2", undefined);
		});
		expect(store.readTaskInput("task-1")).toEqual(input);
		expect(store.readTaskResult("task-1")).toBe("done\u0000");
		expect(store.readTaskResult("task-2")).toBeNull();
		expect(store.readTaskResult("task-3")).toBeUndefined();
		expect(store.readTaskInput("task-3")).toBeNull();
	});

	test("keep every attempt, and no attempt twice", async () => {
		const store = await open(newPath(), { driver });
		const attempt = {
			...{ taskId: "task-1", n: 1, runId: "r1", startedAtMs: 1, endedAtMs: 2, log: "oh\n" },
			error: { kind: "io", message: "broken pipe" },
		} as const;
		const second = { ...attempt, n: 2, runId: "r2", error: null };
		await store.commit((transaction) => {
			transaction.putAttempt(second);
			transaction.putAttempt(attempt);
		});
		expect(store.readAttempts("task-1")).toEqual([attempt, second]);
		await expect(store.commit((transaction) => transaction.putAttempt(attempt))).rejects.toThrow();
	});

	test("stay as they ended, even if the program has a bug (T2)", async () => {
		const store = await open(newPath(), { driver });
		const letter = { type: "discarded", atMs: 7 } as const;
		await store.commit((transaction) =>
			transaction.putTask(taskNumbered(1, { status: "dead_lettered" })),
		);
		await expect(
			store.commit((transaction) => transaction.putTask(taskNumbered(1, { status: "succeeded" }))),
		).rejects.toThrow(/ended stays so/);
		await store.commit((transaction) =>
			transaction.putTask(taskNumbered(1, { status: "dead_lettered", letter })),
		);
		expect(store.readTask("task-1")).toMatchObject({ status: "dead_lettered", letter });
	});

	test("are found by agent, status, plan and time, newest first and page by page", async () => {
		const store = await open(newPath(), { driver });
		await store.commit((transaction) => {
			for (const number of [1, 2, 3, 4, 5, 6]) {
				const agentId = number % 2 === 0 ? "web:git" : "web:db";
				const status = number > 4 ? "dead_lettered" : "queued";
				transaction.putTask(taskNumbered(number, { agentId, status }));
			}
		});
		const find = (query: Parameters<typeof store.readTasks>[0]) => ids(store.readTasks(query));
		expect(find({ limit: 2 })).toEqual(["task-6", "task-5"]);
		expect(find({ limit: 2, before: "task-5" })).toEqual(["task-4", "task-3"]);
		expect(find({ limit: 9, agent: "web:db", status: "queued" })).toEqual(["task-3", "task-1"]);
		expect(find({ limit: 9, sinceMs: 4, agent: "web:git" })).toEqual(["task-6", "task-4"]);
		expect(find({ limit: 9, plan: "plan-2" })).toEqual(["task-2"]);
		expect(find({ limit: 9, openLetters: true })).toEqual(["task-6", "task-5"]);
		expect(find({ limit: -1 })).toEqual([]);
		expect(find({ limit: 9, part: "task-3" })).toEqual(["task-3"]);
		expect(find({ limit: 9, part: "k-3" })).toEqual(["task-3"]);
		expect(find({ limit: 2, part: "task" })).toEqual(["task-6", "task-5"]);
		expect(find({ limit: 9, part: "t%k" })).toEqual([]);
		expect(store.countTasks({})).toEqual({ queued: 4, dead_lettered: 2 });
		expect(store.countTasks({ agent: "web:db", sinceMs: 2 })).toEqual({
			...{ queued: 1, dead_lettered: 1 },
		});
	});

	test("one idempotency key is one task, also for two programs at once (T5)", async () => {
		const store = await open(newPath(), { driver });
		const first = taskNumbered(1, { idempotencyKey: "k" });
		await store.commit((transaction) => transaction.putTask(first));
		expect(store.findTask("k")).toEqual(first);
		expect(store.findTask("other")).toBeNull();
		const second = taskNumbered(2, { idempotencyKey: "k" });
		await expect(store.commit((transaction) => transaction.putTask(second))).rejects.toThrow();
	});

	test("plans and circuits come back after a restart", async () => {
		const path = newPath();
		const store = await open(path, { driver });
		const plan: StoredPlan = {
			...{ planId: "p1", name: "release", status: "running", onFailure: "continue", reason: "x" },
			...{
				correlationId: "c",
				idempotencyKey: "pk",
				fingerprint: "f",
				createdAtMs: 5,
				endedAtMs: null,
			},
		};
		const ended = { ...plan, planId: "p2", status: "failed", idempotencyKey: null } as const;
		const breaker = { agentId: "web:git", state: { ...NEW_BREAKER, consecutiveFailures: 2 } };
		await store.commit((transaction) => {
			transaction.putPlan(plan);
			transaction.putPlan(ended);
			transaction.putBreaker({ ...breaker, state: NEW_BREAKER });
			transaction.putBreaker(breaker);
		});
		await store.close();
		const again = await open(path, { driver });
		expect(again.readOpenPlans()).toEqual([plan]);
		expect(again.readPlans({ limit: 5 })).toEqual([ended, plan]);
		expect(again.readPlans({ limit: 5, status: "failed" })).toEqual([ended]);
		expect(again.findPlan("pk")).toEqual(plan);
		expect(again.readPlan("p3")).toBeNull();
		expect(again.readBreakers()).toEqual([breaker]);
	});
});

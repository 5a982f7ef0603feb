import { describe, expect, test } from "vitest";
import type { PlanSubmission } from "../../src/engine/tasks/submission.js";
import { answered, createTasksHost, failedWith, type TasksHost } from "./tasks-world.js";

const AGENTS = `tool: { kind: call, command: [tool], concurrency: 10, retry: { max_attempts: 1 },
  circuit_breaker: { failure_threshold: 100 } }`;
const ask = { agent: "p:tool", action: "go" };

async function submit(host: TasksHost, plan: PlanSubmission): Promise<string> {
	const { plan: taken } = await host.tasks.submitPlan(plan);
	await host.settle();
	return taken.planId;
}

function statuses(host: TasksHost, planId: string): Record<string, string> {
	const { tasks } = host.tasks.plan(planId);
	return Object.fromEntries(tasks.map(({ task }) => [task.name, task.status]));
}

const actions = (host: TasksHost) =>
	[...host.running].map(({ order }) => order.request.action).toSorted();

/** Ends the attempt at an action. */
async function end(host: TasksHost, action: string, how = answered()): Promise<void> {
	[...host.running].find(({ order }) => order.request.action === action)?.end(how);
	await host.settle();
}

const DIAMOND: PlanSubmission = {
	name: "diamond",
	tasks: {
		top: { ...ask, action: "top" },
		left: { ...ask, action: "left", dependsOn: ["top"] },
		right: { ...ask, action: "right", dependsOn: ["top"] },
		end: { ...ask, action: "end", dependsOn: ["left", "right"] },
	},
};

describe("a plan", () => {
	test("runs each task when all of its dependencies have succeeded", async () => {
		const host = await createTasksHost({ agents: AGENTS });
		host.script = () => null;
		const planId = await submit(host, DIAMOND);
		expect(actions(host)).toEqual(["top"]);
		await end(host, "top");
		expect(actions(host)).toEqual(["left", "right"]);
		await end(host, "right");
		expect(actions(host)).toEqual(["left"]);
		await end(host, "left");
		expect(actions(host)).toEqual(["end"]);
		expect(host.tasks.plan(planId).plan.status).toBe("running");
		await end(host, "end");
		expect(host.tasks.plan(planId).plan).toMatchObject({
			...{ status: "succeeded", reason: "all 4 tasks succeeded" },
		});
		expect(host.errors).toEqual([]);
	});

	test("passes results of earlier tasks to later ones", async () => {
		const host = await createTasksHost({ agents: AGENTS });
		const seen: unknown[] = [];
		host.script = ({ action, payload }) => {
			seen.push(payload);
			return answered(action === "fetch" ? { data: { url: "https://x" } } : null);
		};
		const planId = await submit(host, {
			tasks: {
				fetch: { ...ask, action: "fetch" },
				read: {
					...{ ...ask, action: "read", dependsOn: ["fetch"] },
					payload: { from: "${tasks.fetch.result.data.url}" },
				},
			},
		});
		expect(seen).toEqual([{}, { from: "https://x" }]);
		const [, read] = host.tasks.plan(planId).tasks;
		expect(read?.input?.payload).toEqual({ from: "https://x" });
	});

	test("fails if a result lacks a value that a later task needs, and names it", async () => {
		const host = await createTasksHost({ agents: AGENTS });
		const planId = await submit(host, {
			tasks: {
				a: ask,
				b: { ...ask, dependsOn: ["a"], payload: "${tasks.a.result.x}" },
				c: { ...ask, dependsOn: ["b"] },
			},
		});
		expect(statuses(host, planId)).toEqual({
			...{ a: "succeeded", b: "dead_lettered", c: "cancelled" },
		});
		const { plan, tasks } = host.tasks.plan(planId);
		expect(plan.status).toBe("failed");
		expect(tasks[1]?.task.error).toMatchObject({ code: "planning_failed" });
		// Its input is still a template, so there is nothing to retry.
		const replay = host.tasks.deadLetters.replay(tasks[1]?.task.taskId ?? "");
		await expect(replay).rejects.toMatchObject({ code: "planning_failed" });
	});

	test("ends immediately at a dead letter, with its running tasks, unless configured to finish (T11)", async () => {
		const host = await createTasksHost({ agents: AGENTS });
		host.script = () => null;
		const tasks = {
			bad: { ...ask, action: "bad" },
			slow: { ...ask, action: "slow" },
			after: { ...ask, action: "after", dependsOn: ["slow"] },
			never: { ...ask, action: "never", dependsOn: ["bad"] },
		};
		const fast = await submit(host, { tasks });
		await end(host, "bad", failedWith("backend_failure"));
		expect(host.tasks.plan(fast).plan.status).toBe("failed");
		expect(statuses(host, fast)).toEqual({
			...{ bad: "dead_lettered", slow: "cancelled", after: "cancelled", never: "cancelled" },
		});
		expect(host.running.size).toBe(0);

		const patient = await submit(host, { tasks, onFailure: "continue" });
		await end(host, "bad", failedWith("backend_failure"));
		await end(host, "slow");
		await end(host, "after");
		expect(host.tasks.plan(patient).plan.status).toBe("failed");
		expect(statuses(host, patient)).toEqual({
			...{ bad: "dead_lettered", slow: "succeeded", after: "succeeded", never: "cancelled" },
		});
		const never = host.tasks.plan(patient).tasks.find(({ task }) => task.name === "never");
		expect(never?.task.reason).toBe("it depends on bad, which is dead_lettered");
	});

	test("is cancelled with everything that has not ended", async () => {
		const host = await createTasksHost({ agents: AGENTS });
		host.script = () => null;
		const planId = await submit(host, DIAMOND);
		await end(host, "top");
		const cancelled = host.tasks.cancelPlan(planId, 10_000);
		await host.settle();
		expect((await cancelled).plan.status).toBe("cancelled");
		expect(host.running.size).toBe(0);
		expect(statuses(host, planId)).toEqual({
			...{ top: "succeeded", left: "cancelled", right: "cancelled", end: "cancelled" },
		});
		await expect(host.tasks.cancelPlan(planId, 0)).rejects.toMatchObject({
			code: "already_ended",
		});
	});

	test("that ended while its daemon died keeps the running attempts (T8)", async () => {
		const host = await createTasksHost({ agents: AGENTS });
		host.script = () => null;
		const planId = await submit(host, { tasks: { only: { ...ask, action: "only" } } });
		const { plan } = host.tasks.plan(planId);
		// The daemon is killed after it has stored the end of the plan and before the attempt has ended.
		const endedAtMs = host.clock.now().wallMs;
		await host.store.commit((change) =>
			change.putPlan({ ...plan, status: "cancelled", endedAtMs }),
		);
		await host.killAndRestart();
		const [only] = host.tasks.plan(planId).tasks;
		expect(only?.task).toMatchObject({ status: "cancelled", reason: "its plan is finished" });
		expect(only?.attempts).toMatchObject([{ n: 1, error: { kind: "internal" } }]);
		expect(host.ended).toEqual([only?.attempts[0]?.runId]);
	});

	test("continues under the next daemon, with its results", async () => {
		const host = await createTasksHost({
			agents: AGENTS.replace("max_attempts: 1", "max_attempts: 3"),
		});
		host.script = ({ action }) => (action === "fetch" ? answered({ n: 5 }) : null);
		const planId = await submit(host, {
			tasks: {
				fetch: { ...ask, action: "fetch" },
				wait: { ...ask, action: "wait" },
				use: {
					...{ ...ask, action: "use", dependsOn: ["fetch", "wait"] },
					payload: "${tasks.fetch.result.n}",
				},
			},
		});
		await host.killAndRestart(10);
		host.script = ({ payload }) => answered(payload);
		await host.pass(2_000);
		const { plan, tasks } = host.tasks.plan(planId);
		expect(plan.status).toBe("succeeded");
		expect(tasks[2]?.result).toBe(5);
	});

	test("that cannot run is refused as a whole", async () => {
		const host = await createTasksHost({ agents: AGENTS });
		const refused: [PlanSubmission["tasks"], RegExp][] = [
			[{}, /at least one/],
			[{ a: { ...ask, dependsOn: ["b"] }, b: { ...ask, dependsOn: ["a"] } }, /circular dependency/],
			[{ a: { ...ask, dependsOn: ["missing"] } }, /not in the plan/],
			[{ a: ask, b: { ...ask, payload: "${tasks.a.result}" } }, /does not depend on it/],
			[{ a: { ...ask, payload: ["${HOME}"] } }, /not a reference/],
		];
		for (const [tasks, message] of refused) {
			const submitted = host.tasks.submitPlan({ tasks });
			await expect(submitted).rejects.toMatchObject({
				code: "planning_failed",
				message: expect.stringMatching(message),
			});
		}
		expect(host.store.readOpenTasks()).toEqual([]);
	});

	test("with unusual names is refused or runs completely, and keys of payloads are passed unchanged", async () => {
		const host = await createTasksHost({ agents: AGENTS });
		const task = { agent: "p:tool", action: "go" };
		const proto = JSON.parse('{"tasks": {"ok": {}, "__proto__": {}}}') as PlanSubmission;
		await expect(host.tasks.submitPlan(proto)).rejects.toMatchObject({
			code: "planning_failed",
			message: expect.stringContaining("__proto__"),
		});
		const payloads: unknown[] = [];
		host.script = ({ payload }) => {
			payloads.push(payload);
			return answered({ constructor: "c" });
		};
		const payload: unknown = JSON.parse(
			'{"__proto__": {"a": "${tasks.constructor.result.constructor}"}}',
		);
		const { plan } = await host.tasks.submitPlan({
			tasks: { constructor: task, tostring: { ...task, dependsOn: ["constructor"], payload } },
		});
		await host.settle();
		expect(host.tasks.plan(plan.planId).plan.status).toBe("succeeded");
		expect(JSON.stringify(payloads[1])).toBe('{"__proto__":{"a":"c"}}');
	});

	test("or task that is nested too deeply is refused, also under a key", async () => {
		const host = await createTasksHost({ agents: AGENTS });
		const payload: unknown = JSON.parse(`${"[".repeat(50_000)}${"]".repeat(50_000)}`);
		const deep = { agent: "p:tool", action: "go", payload };
		const refused = { code: "validation_failed", message: /nested deeper than 500 levels/ };
		for (const options of [{}, { idempotencyKey: "k" }]) {
			for (const submit of [
				() => host.tasks.submit(deep, options),
				() => host.tasks.submitPlan({ tasks: { deep } }, options),
			]) {
				await expect((async () => submit())()).rejects.toMatchObject({
					...{ code: refused.code, message: expect.stringMatching(refused.message) },
				});
			}
		}
	});

	test("sent twice under one key is one plan (T5)", async () => {
		const host = await createTasksHost({ agents: AGENTS });
		const options = { idempotencyKey: "k" };
		const [a, b] = await Promise.all([
			host.tasks.submitPlan(DIAMOND, options),
			host.tasks.submitPlan(DIAMOND, options),
		]);
		expect(b.plan.planId).toBe(a.plan.planId);
		await host.settle();
		expect(host.begun).toHaveLength(4);
	});

	test("of one task is the plan that every call is", async () => {
		const host = await createTasksHost({ agents: AGENTS });
		const task = await host.tasks.submit(ask);
		await host.settle();
		expect(host.tasks.plan(task.planId).plan).toMatchObject({ status: "succeeded", name: "go" });
	});
});

describe("a dead letter", () => {
	async function deadLetter(host: TasksHost): Promise<string> {
		host.script = () => failedWith("backend_failure");
		const task = await host.tasks.submit({ ...ask, payload: { a: 1 } });
		await host.settle();
		return task.taskId;
	}

	test("is replayed once, as a new task that refers to it", async () => {
		const host = await createTasksHost({ agents: AGENTS });
		const taskId = await deadLetter(host);
		host.script = ({ payload }) => answered(payload);
		const replays = await Promise.allSettled([
			host.tasks.deadLetters.replay(taskId),
			host.tasks.deadLetters.replay(taskId),
		]);
		expect(replays.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
		await host.settle();
		const { letter } = host.tasks.task(taskId).task;
		const newId = letter?.type === "replayed" ? letter.taskId : "";
		expect(host.tasks.task(newId)).toMatchObject({
			task: { status: "succeeded", replayOf: taskId },
			result: { a: 1 },
		});
		expect(host.tasks.deadLetters.list({ limit: 9 })).toEqual([]);
		expect(host.tasks.task(taskId).task.status).toBe("dead_lettered");
	});

	test("is discarded, and stays visible", async () => {
		const host = await createTasksHost({ agents: AGENTS });
		const taskId = await deadLetter(host);
		await host.tasks.deadLetters.discard(taskId);
		expect(host.tasks.deadLetters.list({ limit: 9 })).toEqual([]);
		expect(host.tasks.task(taskId).attempts).toHaveLength(1);
		const again = host.tasks.deadLetters.discard(taskId);
		await expect(again).rejects.toMatchObject({ code: "not_a_dead_letter" });
	});
});

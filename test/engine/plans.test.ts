import { describe, expect, test } from "vitest";
import type { PlanSubmission } from "../../src/engine/tasks/submission.js";
import { answered, type CallsHost, createCallsHost, failedWith } from "./calls-world.js";

const AGENTS = `tool: { kind: call, command: [tool], concurrency: 10, retry: { max_attempts: 1 },
  circuit_breaker: { failure_threshold: 100 } }`;
const ask = { agent: "p:tool", action: "go" };

async function submit(host: CallsHost, plan: PlanSubmission): Promise<string> {
	const { plan: taken } = await host.calls.submitPlan(plan);
	await host.settle();
	return taken.planId;
}

function statuses(host: CallsHost, planId: string): Record<string, string> {
	const { tasks } = host.calls.plan(planId);
	return Object.fromEntries(tasks.map(({ task }) => [task.name, task.status]));
}

const actions = (host: CallsHost) =>
	[...host.running].map(({ order }) => order.request.action).toSorted();

/** Ends the attempt at an action. */
async function end(host: CallsHost, action: string, how = answered()): Promise<void> {
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
	test("runs each task when all that it depends on has succeeded", async () => {
		const host = await createCallsHost({ agents: AGENTS });
		host.script = () => null;
		const planId = await submit(host, DIAMOND);
		expect(actions(host)).toEqual(["top"]);
		await end(host, "top");
		expect(actions(host)).toEqual(["left", "right"]);
		await end(host, "right");
		expect(actions(host)).toEqual(["left"]);
		await end(host, "left");
		expect(actions(host)).toEqual(["end"]);
		expect(host.calls.plan(planId).plan.status).toBe("running");
		await end(host, "end");
		expect(host.calls.plan(planId).plan).toMatchObject({
			...{ status: "succeeded", reason: "all 4 tasks succeeded" },
		});
		expect(host.errors).toEqual([]);
	});

	test("feeds results of earlier tasks to later ones", async () => {
		const host = await createCallsHost({ agents: AGENTS });
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
		const [, read] = host.calls.plan(planId).tasks;
		expect(read?.input?.payload).toEqual({ from: "https://x" });
	});

	test("fails when a result has not what a later task needs, and says what", async () => {
		const host = await createCallsHost({ agents: AGENTS });
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
		const { plan, tasks } = host.calls.plan(planId);
		expect(plan.status).toBe("failed");
		expect(tasks[1]?.task.error).toMatchObject({ code: "planning_failed" });
		// What it was given is still a template, so there is nothing to try again.
		const replay = host.calls.deadLetters.replay(tasks[1]?.task.taskId ?? "");
		await expect(replay).rejects.toMatchObject({ code: "planning_failed" });
	});

	test("ends at once at a dead letter, with what still runs, unless told to go on (T11)", async () => {
		const host = await createCallsHost({ agents: AGENTS });
		host.script = () => null;
		const tasks = {
			bad: { ...ask, action: "bad" },
			slow: { ...ask, action: "slow" },
			after: { ...ask, action: "after", dependsOn: ["slow"] },
			never: { ...ask, action: "never", dependsOn: ["bad"] },
		};
		const fast = await submit(host, { tasks });
		await end(host, "bad", failedWith("backend_failure"));
		expect(host.calls.plan(fast).plan.status).toBe("failed");
		expect(statuses(host, fast)).toEqual({
			...{ bad: "dead_lettered", slow: "cancelled", after: "cancelled", never: "cancelled" },
		});
		expect(host.running.size).toBe(0);

		const patient = await submit(host, { tasks, onFailure: "continue" });
		await end(host, "bad", failedWith("backend_failure"));
		await end(host, "slow");
		await end(host, "after");
		expect(host.calls.plan(patient).plan.status).toBe("failed");
		expect(statuses(host, patient)).toEqual({
			...{ bad: "dead_lettered", slow: "succeeded", after: "succeeded", never: "cancelled" },
		});
		const never = host.calls.plan(patient).tasks.find(({ task }) => task.name === "never");
		expect(never?.task.reason).toBe("it depends on bad, which is dead_lettered");
	});

	test("is cancelled with everything that has not ended", async () => {
		const host = await createCallsHost({ agents: AGENTS });
		host.script = () => null;
		const planId = await submit(host, DIAMOND);
		await end(host, "top");
		const cancelled = host.calls.cancelPlan(planId, 10_000);
		await host.settle();
		expect((await cancelled).plan.status).toBe("cancelled");
		expect(host.running.size).toBe(0);
		expect(statuses(host, planId)).toEqual({
			...{ top: "succeeded", left: "cancelled", right: "cancelled", end: "cancelled" },
		});
		await expect(host.calls.cancelPlan(planId, 0)).rejects.toMatchObject({
			code: "already_ended",
		});
	});

	test("that ended while its daemon died keeps the attempts that were under way (T8)", async () => {
		const host = await createCallsHost({ agents: AGENTS });
		host.script = () => null;
		const planId = await submit(host, { tasks: { only: { ...ask, action: "only" } } });
		const { plan } = host.calls.plan(planId);
		// The daemon is killed after it has stored the end of the plan and before the attempt has ended.
		const endedAtMs = host.clock.now().wallMs;
		await host.store.commit((change) =>
			change.putPlan({ ...plan, status: "cancelled", endedAtMs }),
		);
		await host.killAndRestart();
		const [only] = host.calls.plan(planId).tasks;
		expect(only?.task).toMatchObject({ status: "cancelled", reason: "its plan is finished" });
		expect(only?.attempts).toMatchObject([{ n: 1, error: { kind: "internal" } }]);
		expect(host.ended).toEqual([only?.attempts[0]?.runId]);
	});

	test("goes on under the next daemon, with the results it had", async () => {
		const host = await createCallsHost({
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
		const { plan, tasks } = host.calls.plan(planId);
		expect(plan.status).toBe("succeeded");
		expect(tasks[2]?.result).toBe(5);
	});

	test("that cannot run is refused whole", async () => {
		const host = await createCallsHost({ agents: AGENTS });
		const refused: [PlanSubmission["tasks"], RegExp][] = [
			[{}, /at least one/],
			[{ a: { ...ask, dependsOn: ["b"] }, b: { ...ask, dependsOn: ["a"] } }, /circular dependency/],
			[{ a: { ...ask, dependsOn: ["nobody"] } }, /not in the plan/],
			[{ a: ask, b: { ...ask, payload: "${tasks.a.result}" } }, /does not depend on it/],
			[{ a: { ...ask, payload: ["${HOME}"] } }, /not a reference/],
		];
		for (const [tasks, message] of refused) {
			const submitted = host.calls.submitPlan({ tasks });
			await expect(submitted).rejects.toMatchObject({
				code: "planning_failed",
				message: expect.stringMatching(message),
			});
		}
		expect(host.store.readOpenTasks()).toEqual([]);
	});

	test("with odd names is refused or runs whole, and keys of payloads are handed on as they are", async () => {
		const host = await createCallsHost({ agents: AGENTS });
		const task = { agent: "p:tool", action: "go" };
		const proto = JSON.parse('{"tasks": {"ok": {}, "__proto__": {}}}') as PlanSubmission;
		await expect(host.calls.submitPlan(proto)).rejects.toMatchObject({
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
		const { plan } = await host.calls.submitPlan({
			tasks: { constructor: task, tostring: { ...task, dependsOn: ["constructor"], payload } },
		});
		await host.settle();
		expect(host.calls.plan(plan.planId).plan.status).toBe("succeeded");
		expect(JSON.stringify(payloads[1])).toBe('{"__proto__":{"a":"c"}}');
	});

	test("or task that is nested too deeply is refused, also under a key", async () => {
		const host = await createCallsHost({ agents: AGENTS });
		const payload: unknown = JSON.parse(`${"[".repeat(50_000)}${"]".repeat(50_000)}`);
		const deep = { agent: "p:tool", action: "go", payload };
		const refused = { code: "validation_failed", message: /nested deeper than 500 levels/ };
		for (const options of [{}, { idempotencyKey: "k" }]) {
			for (const submit of [
				() => host.calls.submit(deep, options),
				() => host.calls.submitPlan({ tasks: { deep } }, options),
			]) {
				await expect((async () => submit())()).rejects.toMatchObject({
					...{ code: refused.code, message: expect.stringMatching(refused.message) },
				});
			}
		}
	});

	test("sent twice under one key is one plan (T5)", async () => {
		const host = await createCallsHost({ agents: AGENTS });
		const options = { idempotencyKey: "k" };
		const [a, b] = await Promise.all([
			host.calls.submitPlan(DIAMOND, options),
			host.calls.submitPlan(DIAMOND, options),
		]);
		expect(b.plan.planId).toBe(a.plan.planId);
		await host.settle();
		expect(host.begun).toHaveLength(4);
	});

	test("of one task is the plan that every call is", async () => {
		const host = await createCallsHost({ agents: AGENTS });
		const task = await host.calls.submit(ask);
		await host.settle();
		expect(host.calls.plan(task.planId).plan).toMatchObject({ status: "succeeded", name: "go" });
	});
});

describe("a dead letter", () => {
	async function deadLetter(host: CallsHost): Promise<string> {
		host.script = () => failedWith("backend_failure");
		const task = await host.calls.submit({ ...ask, payload: { a: 1 } });
		await host.settle();
		return task.taskId;
	}

	test("is replayed once, as a new task that points back", async () => {
		const host = await createCallsHost({ agents: AGENTS });
		const taskId = await deadLetter(host);
		host.script = ({ payload }) => answered(payload);
		const replays = await Promise.allSettled([
			host.calls.deadLetters.replay(taskId),
			host.calls.deadLetters.replay(taskId),
		]);
		expect(replays.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
		await host.settle();
		const { letter } = host.calls.task(taskId).task;
		const newId = letter?.type === "replayed" ? letter.taskId : "";
		expect(host.calls.task(newId)).toMatchObject({
			task: { status: "succeeded", replayOf: taskId },
			result: { a: 1 },
		});
		expect(host.calls.deadLetters.list({ limit: 9 })).toEqual([]);
		expect(host.calls.task(taskId).task.status).toBe("dead_lettered");
	});

	test("is given up, and can still be looked at", async () => {
		const host = await createCallsHost({ agents: AGENTS });
		const taskId = await deadLetter(host);
		await host.calls.deadLetters.discard(taskId);
		expect(host.calls.deadLetters.list({ limit: 9 })).toEqual([]);
		expect(host.calls.task(taskId).attempts).toHaveLength(1);
		const again = host.calls.deadLetters.discard(taskId);
		await expect(again).rejects.toMatchObject({ code: "not_a_dead_letter" });
	});
});

import { describe, expect, test } from "vitest";
import type { StoredTask } from "../../src/ports/task-store.js";
import { answered, createTasksHost, failedWith } from "./tasks-world.js";

const ask = { agent: "p:tool", action: "go" };
const CALM = "retry: { jitter: 0 }, circuit_breaker: { failure_threshold: 100 }";
const CALM_TOOL = `tool: { kind: call, command: [tool], ${CALM} }`;

const statusOf = ({ status }: StoredTask) => status;

describe("a task", () => {
	test("returns the agent's answer", async () => {
		const host = await createTasksHost();
		host.script = ({ payload }) => answered({ twice: [payload, payload] });
		const task = await host.tasks.submit({ ...ask, payload: 7 });
		const waited = host.tasks.waitForTask(task.taskId, 1_000);
		await host.settle();
		expect(await waited).toMatchObject({
			task: { status: "succeeded", attempts: 1, error: null },
			result: { twice: [7, 7] },
			attempts: [{ n: 1, error: null }],
		});
		expect(host.errors).toEqual([]);
	});

	test("is retried after waits that double, then dead-lettered with every error (T3, T8)", async () => {
		const host = await createTasksHost({ agents: CALM_TOOL });
		host.script = ({ request_id: id }) => failedWith("io", { reason: `no luck with ${id}` });
		const task = await host.tasks.submit({ ...ask, payload: { keep: "me" } });
		await host.settle();
		expect(host.begun).toHaveLength(1);
		await host.pass(499);
		expect(host.begun).toHaveLength(1);
		await host.pass(2);
		expect(host.begun).toHaveLength(2);
		await host.pass(998);
		expect(host.begun).toHaveLength(2);
		await host.pass(60_000);
		expect(host.begun).toHaveLength(3);
		const { task: dead, attempts, input } = host.tasks.task(task.taskId);
		expect(dead).toMatchObject({ status: "dead_lettered", error: { code: "execution_failed" } });
		expect(attempts.map(({ error }) => error?.message)).toEqual(
			[1, 2, 3].map((n) => `no luck with ${task.taskId}.${n}`),
		);
		expect(attempts[0]?.log).toBe("what it said\n");
		expect(input?.payload).toEqual({ keep: "me" });
		expect(host.tasks.deadLetters.list({ limit: 9 })).toEqual([dead]);
	});

	test("is not retried when the caller is at fault (T9)", async () => {
		const host = await createTasksHost();
		host.script = () => failedWith("invalid_request");
		const task = await host.tasks.submit(ask);
		await host.pass(60_000);
		expect(host.begun).toHaveLength(1);
		expect(host.tasks.task(task.taskId).task.error?.code).toBe("validation_failed");
	});

	test("waits as long as the agent requests", async () => {
		const host = await createTasksHost({ agents: CALM_TOOL });
		host.script = () => failedWith("backend_failure", { retryAfterMs: 30_000 });
		await host.tasks.submit(ask);
		await host.pass(29_000);
		expect(host.begun).toHaveLength(1);
		await host.pass(2_000);
		expect(host.begun).toHaveLength(2);
	});

	test("of an agent whose account waits for a limit is kept until that is over", async () => {
		const host = await createTasksHost({ agents: CALM_TOOL });
		host.limited = true;
		const task = await host.tasks.submit(ask);
		await host.pass(86_400_000);
		expect(host.begun).toHaveLength(0);
		expect(host.tasks.task(task.taskId).task.status).toBe("queued");
		host.limited = false;
		await host.pass(2_000);
		expect(host.tasks.task(task.taskId).task.status).toBe("succeeded");
	});

	test("that hit a limit is retried soon: its account decides how long to wait", async () => {
		const host = await createTasksHost({ agents: CALM_TOOL });
		host.script = () => failedWith("usage_limit", { retryAfterMs: 3_600_000 });
		await host.tasks.submit(ask);
		await host.settle();
		expect(host.begun).toHaveLength(1);
		await host.pass(2_000);
		expect(host.begun.length).toBeGreaterThan(1);
		expect(host.tasks.circuit("p:tool").consecutiveFailures).toBe(0);
	});

	test("that hits a limit on its only attempt is tried again after the limit", async () => {
		const once = "tool: { kind: call, command: [tool], retry: { max_attempts: 1, jitter: 0 } }";
		const host = await createTasksHost({ agents: once });
		host.script = () => failedWith("usage_limit", { retryAfterMs: 3_600_000 });
		const { taskId } = await host.tasks.submit(ask);
		await host.settle();
		expect(host.tasks.task(taskId).task.status).not.toBe("dead_lettered");
		host.script = () => answered("done");
		await host.pass(60_000);
		expect(host.tasks.task(taskId).task.status).toBe("succeeded");
	});

	test("that hits a limit and then fails otherwise has no additional attempts", async () => {
		const once = "tool: { kind: call, command: [tool], retry: { max_attempts: 1, jitter: 0 } }";
		const host = await createTasksHost({ agents: once });
		host.script = () => failedWith("usage_limit", { retryAfterMs: 1_000 });
		const { taskId } = await host.tasks.submit(ask);
		await host.settle();
		const limited = host.begun.length;
		host.script = () => failedWith("io");
		await host.pass(60_000);
		expect(host.tasks.task(taskId).task.status).toBe("dead_lettered");
		expect(host.begun).toHaveLength(limited + 1);
	});

	test("is not tried again before its worker is done with the attempt before (T6)", async () => {
		const host = await createTasksHost({ agents: CALM_TOOL });
		let done = () => {};
		const over = new Promise<void>((resolve) => {
			done = resolve;
		});
		host.script = () => ({ ...failedWith("timeout"), over });
		await host.tasks.submit(ask);
		await host.pass(10_000);
		expect(host.begun).toHaveLength(1);
		host.script = () => answered();
		done();
		await host.settle();
		await host.pass(10);
		expect(host.begun).toHaveLength(2);
	});

	test("that must not run twice is left to the operator, unless it certainly had no effect", async () => {
		const agents =
			"tool: { kind: call, command: [tool], unsafe_actions: [pay], retry: { jitter: 0 } }";
		const host = await createTasksHost({ agents });
		host.script = () => failedWith("timeout");
		const task = await host.tasks.submit({ ...ask, action: "pay" });
		await host.pass(60_000);
		expect(host.begun).toHaveLength(1);
		expect(host.tasks.task(task.taskId).task.reason).toContain("the operator decides");
		host.script = () => failedWith("host_exhausted");
		await host.tasks.submit({ ...ask, action: "pay" });
		await host.pass(60_000);
		expect(host.begun).toHaveLength(4);
	});

	test("sent twice under one key is one task, also at the same moment (T5)", async () => {
		const host = await createTasksHost();
		const options = { idempotencyKey: "k" };
		const [first, second] = await Promise.all([
			host.tasks.submit(ask, options),
			host.tasks.submit(ask, options),
		]);
		const third = await host.tasks.submit(ask, options);
		expect([second.taskId, third.taskId]).toEqual([first.taskId, first.taskId]);
		await host.settle();
		expect(host.begun).toHaveLength(1);
		const other = host.tasks.submit({ ...ask, action: "other" }, options);
		await expect(other).rejects.toMatchObject({ code: "idempotency_conflict" });
	});

	test("for an unknown agent is rejected, and nothing is accepted", async () => {
		const host = await createTasksHost();
		const unknownAgent = host.tasks.submit({ ...ask, agent: "p:missing" });
		await expect(unknownAgent).rejects.toMatchObject({ code: "agent_not_found" });
		const session = host.tasks.submit({ ...ask, agent: "p:session" });
		await expect(session).rejects.toMatchObject({ code: "not_callable" });
		expect(host.store.readOpenTasks()).toEqual([]);
	});
});

describe("cancelling", () => {
	test("ends a task that waits without trying it", async () => {
		const host = await createTasksHost({ concurrency: 1 });
		host.script = () => null;
		await host.tasks.submit(ask);
		const task = await host.tasks.submit(ask);
		await host.tasks.cancelTask(task.taskId, 1_000);
		expect(host.tasks.task(task.taskId).task.status).toBe("cancelled");
		[...host.running][0]?.end(answered());
		await host.settle();
		expect(host.begun).toHaveLength(1);
	});

	test("kills the running attempt first, and then reports it", async () => {
		const host = await createTasksHost();
		host.script = () => null;
		const task = await host.tasks.submit(ask);
		await host.settle();
		const cancelled = host.tasks.cancelTask(task.taskId, 10_000);
		await host.settle();
		expect((await cancelled).task.status).toBe("cancelled");
		expect(host.running.size).toBe(0);
		const again = host.tasks.cancelTask(task.taskId, 0);
		await expect(again).rejects.toMatchObject({ code: "already_ended" });
	});

	test("is too late for a task that has succeeded (T2)", async () => {
		const host = await createTasksHost();
		const task = await host.tasks.submit(ask);
		await host.settle();
		await expect(host.tasks.cancelTask(task.taskId, 0)).rejects.toMatchObject({
			code: "already_ended",
		});
		expect(host.tasks.task(task.taskId).task.status).toBe("succeeded");
	});
});

describe("the queue", () => {
	test("never runs more than allowed, of one agent and of all (T10)", async () => {
		const agents = ["a", "b", "c"].map(
			(name) => `${name}: { kind: call, command: [x], concurrency: 2 }`,
		);
		const host = await createTasksHost({ agents: agents.join("\n"), concurrency: 5 });
		host.script = () => null;
		for (let n = 0; n < 30; n++) {
			await host.tasks.submit({ ...ask, agent: `p:${"abc"[n % 3]}` });
		}
		await host.settle();
		const perAgent = [...host.running].map(({ order }) => order.spec.id);
		expect(host.running.size).toBe(5);
		for (const id of ["p:a", "p:b", "p:c"]) {
			expect(perAgent.filter((each) => each === id).length).toBeLessThanOrEqual(2);
		}
		for (let n = 0; n < 30; n++) {
			[...host.running][0]?.end(answered());
			await host.settle();
		}
		expect(host.begun).toHaveLength(30);
		expect(host.peak.count).toBe(5);
	});

	test("runs tasks with a higher priority first", async () => {
		const host = await createTasksHost({ concurrency: 1 });
		host.script = () => null;
		await host.tasks.submit(ask);
		await host.settle();
		await host.tasks.submit({ ...ask, action: "later" });
		await host.tasks.submit({ ...ask, action: "urgent", priority: 5 });
		[...host.running][0]?.end(answered());
		await host.settle();
		expect([...host.running][0]?.order.request.action).toBe("urgent");
	});
});

describe("a circuit", () => {
	const agents = `tool: { kind: call, command: [tool], concurrency: 100, retry: { max_attempts: 1 } }`;

	/** Three requests that fail, one after another. */
	async function openCircuit(host: Awaited<ReturnType<typeof createTasksHost>>) {
		host.script = () => failedWith("backend_failure");
		for (let n = 0; n < 3; n++) {
			await host.tasks.submit(ask);
			await host.settle();
		}
		expect(host.tasks.circuit("p:tool").circuit).toBe("open");
	}

	test("counts requests that finally failed, not their attempts", async () => {
		const host = await createTasksHost({
			agents: "tool: { kind: call, command: [tool], retry: { jitter: 0, max_attempts: 3 } }",
		});
		host.script = () => failedWith("backend_failure");
		for (const failures of [1, 2]) {
			await host.tasks.submit(ask);
			await host.pass(5_000);
			expect(host.tasks.circuit("p:tool")).toMatchObject({
				...{ circuit: "closed", health: "degraded", consecutiveFailures: failures },
			});
		}
		expect(host.begun).toHaveLength(6);
		await host.tasks.submit(ask);
		await host.pass(5_000);
		expect(host.begun).toHaveLength(9);
		expect(host.tasks.circuit("p:tool")).toMatchObject({
			...{ circuit: "open", health: "unhealthy", consecutiveFailures: 3 },
		});
	});

	test("that is open refuses new requests and leaves nothing behind (B2)", async () => {
		const host = await createTasksHost({ agents });
		await openCircuit(host);
		const [letters, events] = [host.tasks.deadLetters.list({ limit: 99 }), host.store.lastSeq()];
		const options = { idempotencyKey: "k" };
		for (let n = 0; n < 8; n++) {
			await expect(host.tasks.submit(ask, options)).rejects.toMatchObject({
				code: "agent_unavailable",
				message:
					"not accepted: the circuit of p:tool is open for another 1m, because 3 consecutive requests failed",
				details: { agents: ["p:tool"], retry_after_s: 60 },
			});
		}
		await host.settle();
		expect(host.begun).toHaveLength(3);
		expect(host.store.lastSeq()).toBe(events);
		expect(host.tasks.deadLetters.list({ limit: 99 })).toEqual(letters);
		const [letter] = letters;
		const replay = host.tasks.deadLetters.replay(letter?.taskId ?? "");
		await expect(replay).rejects.toMatchObject({ code: "agent_unavailable" });
		expect(host.tasks.task(letter?.taskId ?? "").task.letter).toBeNull();
		await host.pass(60_000);
		host.script = () => answered("with the same key");
		const task = await host.tasks.submit(ask, options);
		await host.settle();
		expect(host.tasks.task(task.taskId).task.status).toBe("succeeded");
		expect((await host.tasks.submit(ask, options)).taskId).toBe(task.taskId);
	});

	test("that is open still finds the task of a key that was accepted before", async () => {
		const host = await createTasksHost({ agents });
		const options = { idempotencyKey: "k" };
		const before = await host.tasks.submit(ask, options);
		await host.settle();
		await openCircuit(host);
		expect((await host.tasks.submit(ask, options)).taskId).toBe(before.taskId);
	});

	test("is checked for all agents of a plan before its first process starts", async () => {
		const host = await createTasksHost({
			agents: `${agents}\nother: { kind: call, command: [other] }`,
		});
		await openCircuit(host);
		const { length } = host.begun;
		const plan = host.tasks.submitPlan({
			tasks: {
				first: { agent: "p:other", action: "go" },
				second: { agent: "p:tool", action: "go", dependsOn: ["first"] },
			},
		});
		await expect(plan).rejects.toMatchObject({
			code: "agent_unavailable",
			details: { agents: ["p:tool"] },
		});
		await host.settle();
		expect(host.begun).toHaveLength(length);
		expect(host.tasks.plans({ limit: 9 }).filter(({ name }) => name === "plan")).toEqual([]);
	});

	test("lets tasks that were accepted before it opened wait until it closes", async () => {
		const host = await createTasksHost({
			agents:
				"tool: { kind: call, command: [tool], concurrency: 1, timeout: 90s, retry: { max_attempts: 1 } }",
		});
		host.script = () => failedWith("backend_failure");
		const ids: string[] = [];
		host.script = () => null;
		for (let n = 0; n < 6; n++) ids.push((await host.tasks.submit(ask)).taskId);
		for (let n = 0; n < 3; n++) {
			await host.settle();
			[...host.running][0]?.end(failedWith("backend_failure"));
		}
		await host.settle();
		expect(host.tasks.circuit("p:tool").circuit).toBe("open");
		host.script = () => answered();
		await host.pass(59_000);
		expect(host.begun).toHaveLength(3);
		await host.pass(2_000);
		expect(ids.map((id) => host.tasks.task(id).task.status)).toEqual([
			...["dead_lettered", "dead_lettered", "dead_lettered"],
			...["succeeded", "succeeded", "succeeded"],
		]);
	});

	test("ends a task that has waited for it until its deadline", async () => {
		const host = await createTasksHost({
			agents:
				"tool: { kind: call, command: [tool], timeout: 10s, retry: { max_attempts: 2, jitter: 0 }, circuit_breaker: { failure_threshold: 1 } }",
		});
		host.script = () => null;
		const failing = await host.tasks.submit({ ...ask, maxAttempts: 1 });
		const other = await host.tasks.submit(ask);
		await host.settle();
		const [first, second] = [...host.running];
		second?.end(failedWith("io"));
		first?.end(failedWith("backend_failure"));
		await host.settle();
		expect(host.tasks.task(failing.taskId).task.status).toBe("dead_lettered");
		await host.pass(20_000);
		expect(host.tasks.task(other.taskId).task.status).toBe("retried");
		await host.pass(3_000);
		const { task, attempts } = host.tasks.task(other.taskId);
		expect(task).toMatchObject({ status: "dead_lettered", error: { code: "agent_unavailable" } });
		expect(task.error?.message).toMatch(
			/^waited 20\.5s for the circuit of p:tool, which did not close; attempt 1 failed: io: /,
		);
		expect([attempts.length, host.begun.length]).toEqual([1, 2]);
	});

	test("keeps one probe over all its attempts while other requests wait (B1)", async () => {
		const host = await createTasksHost({
			agents: "tool: { kind: call, command: [tool], concurrency: 100, retry: { jitter: 0 } }",
		});
		host.script = () => failedWith("backend_failure");
		for (let n = 0; n < 3; n++) {
			await host.tasks.submit(ask);
			await host.pass(5_000);
		}
		await host.pass(61_000);
		const { length } = host.begun;
		const probe = await host.tasks.submit(ask);
		const others = [await host.tasks.submit(ask), await host.tasks.submit(ask)];
		await host.pass(400);
		expect(host.begun.slice(length)).toEqual([`${probe.taskId}.1`]);
		await host.pass(200);
		expect(host.begun.slice(length)).toEqual([`${probe.taskId}.1`, `${probe.taskId}.2`]);
		expect(host.tasks.circuit("p:tool").circuit).toBe("half_open");
		host.script = () => answered();
		await host.pass(2_000);
		expect(host.tasks.circuit("p:tool").circuit).toBe("closed");
		for (const { taskId } of others) {
			expect(host.tasks.task(taskId).task.status).toBe("succeeded");
		}
	});

	test("lets another probe when the probe is cancelled between two attempts (B3)", async () => {
		const host = await createTasksHost({
			agents:
				"tool: { kind: call, command: [tool], concurrency: 100, retry: { jitter: 0 }, circuit_breaker: { failure_threshold: 1 } }",
		});
		host.script = () => failedWith("backend_failure");
		await host.tasks.submit({ ...ask, maxAttempts: 1 });
		await host.settle();
		await host.pass(61_000);
		const probe = await host.tasks.submit(ask);
		const other = await host.tasks.submit(ask);
		await host.settle();
		expect(host.tasks.task(probe.taskId).task.status).toBe("retried");
		host.script = () => answered();
		await host.tasks.cancelTask(probe.taskId, 100);
		await host.settle();
		expect(host.tasks.task(other.taskId).task.status).toBe("succeeded");
	});

	test("is never opened by mistakes of callers (B6)", async () => {
		const host = await createTasksHost({ agents });
		host.script = () => failedWith("invalid_request");
		for (let n = 0; n < 5; n++) await host.tasks.submit(ask);
		await host.settle();
		expect(host.begun).toHaveLength(5);
		expect(host.tasks.circuit("p:tool").circuit).toBe("closed");
	});

	test("lets one probe through after its time while fifty wait, and closes for all (B1, B4)", async () => {
		const host = await createTasksHost({ agents, concurrency: 100 });
		host.script = () => failedWith("backend_failure");
		for (let n = 0; n < 3; n++) await host.tasks.submit(ask);
		await host.settle();
		await host.pass(60_000);
		host.script = () => null;
		for (let n = 0; n < 50; n++) await host.tasks.submit(ask);
		await host.settle();
		expect(host.running.size).toBe(1);
		[...host.running][0]?.end(answered());
		await host.settle();
		expect(host.running.size).toBe(49);
		expect(host.tasks.circuit("p:tool").circuit).toBe("closed");
	});

	test("opens again when the probe fails, and waiting tasks keep waiting", async () => {
		const host = await createTasksHost({ agents, concurrency: 100 });
		host.script = () => failedWith("backend_failure");
		for (let n = 0; n < 3; n++) await host.tasks.submit(ask);
		await host.settle();
		await host.pass(60_000);
		host.script = () => null;
		for (let n = 0; n < 50; n++) await host.tasks.submit(ask);
		await host.settle();
		[...host.running][0]?.end(failedWith("timeout"));
		await host.settle();
		expect(host.running.size).toBe(0);
		expect(host.begun).toHaveLength(4);
		expect(host.tasks.circuit("p:tool").circuit).toBe("open");
		expect(host.tasks.deadLetters.list({ limit: 99 })).toHaveLength(4);
		expect(host.store.readOpenTasks()).toHaveLength(49);
	});

	test("stays open across the daemon's death, for the rest of its time", async () => {
		const host = await createTasksHost({ agents });
		host.script = () => failedWith("backend_failure");
		for (let n = 0; n < 3; n++) await host.tasks.submit(ask);
		await host.settle();
		await host.killAndRestart(20_000);
		expect(host.tasks.circuit("p:tool").circuit).toBe("open");
		await host.pass(39_000);
		expect(host.tasks.circuit("p:tool").circuit).toBe("open");
		await host.pass(2_000);
		expect(host.tasks.circuit("p:tool").circuit).toBe("half_open");
	});

	test("gives the permit of a probe back that was cancelled (B3), and is closed by hand", async () => {
		const host = await createTasksHost({ agents });
		host.script = () => failedWith("backend_failure");
		for (let n = 0; n < 3; n++) await host.tasks.submit(ask);
		await host.settle();
		await host.pass(60_000);
		host.script = () => null;
		const task = await host.tasks.submit(ask);
		await host.settle();
		const cancelled = host.tasks.cancelTask(task.taskId, 100);
		await host.settle();
		await cancelled;
		await host.tasks.submit(ask);
		await host.settle();
		expect(host.running.size).toBe(1);
		expect(await host.tasks.closeCircuit("p:tool")).toBe("half_open");
		expect(host.tasks.circuit("p:tool")).toMatchObject({ circuit: "closed", health: "healthy" });
	});
});

describe("a daemon that dies", () => {
	test("leaves attempts that the next one ends and tries again", async () => {
		const host = await createTasksHost({ agents: CALM_TOOL });
		host.script = () => null;
		const task = await host.tasks.submit(ask);
		await host.settle();
		const runId = host.tasks.task(task.taskId).task.running?.runId;
		host.script = () => answered("late but well");
		await host.killAndRestart(1_000);
		expect(host.ended).toEqual([runId]);
		await host.pass(1_000);
		const { task: done, attempts, result } = host.tasks.task(task.taskId);
		expect([done.status, done.attempts, result]).toEqual(["succeeded", 2, "late but well"]);
		expect(attempts.map(({ error }) => error?.kind ?? null)).toEqual(["internal", null]);
		expect(host.tasks.circuit("p:tool").consecutiveFailures).toBe(0);
	});

	test("leaves tasks that must not run twice to the operator", async () => {
		const agents = "tool: { kind: call, command: [tool], idempotent: false }";
		const host = await createTasksHost({ agents });
		host.script = () => null;
		const task = await host.tasks.submit(ask);
		await host.settle();
		await host.killAndRestart();
		await host.pass(60_000);
		expect(host.begun).toHaveLength(1);
		expect(host.tasks.task(task.taskId).task.status).toBe("dead_lettered");
	});

	test("retries nothing next to an attempt that cannot be killed (T6)", async () => {
		const host = await createTasksHost({ agents: CALM_TOOL });
		host.script = () => null;
		const task = await host.tasks.submit(ask);
		await host.settle();
		host.immortal = true;
		await host.killAndRestart();
		await host.pass(60_000);
		expect(host.begun).toHaveLength(1);
		const { task: ended, attempts } = host.tasks.task(task.taskId);
		expect(ended.status).toBe("dead_lettered");
		expect(attempts.map(({ error }) => error)).toEqual([
			{ kind: "left_alive", message: "cannot be killed: it does not die" },
		]);
	});

	test("leaves delays that are neither restarted nor forgotten", async () => {
		const host = await createTasksHost({ agents: CALM_TOOL });
		host.script = () => failedWith("io", { retryAfterMs: 100_000 });
		await host.tasks.submit(ask);
		await host.settle();
		await host.killAndRestart(60_000);
		await host.pass(38_000);
		expect(host.begun).toHaveLength(1);
		await host.pass(3_000);
		expect(host.begun).toHaveLength(2);
	});

	test("is resumed in any state: each task has exactly one end (T1)", async () => {
		const host = await createTasksHost({ agents: CALM_TOOL, concurrency: 3 });
		host.script = () => (host.begun.length % 3 === 0 ? failedWith("io") : answered());
		const ids: string[] = [];
		for (let n = 0; n < 40; n++) {
			ids.push((await host.tasks.submit(ask)).taskId);
			if (n % 7 === 0) await host.killAndRestart(100);
		}
		for (let n = 0; n < 20; n++) {
			await host.pass(300);
			if (n % 4 === 0) await host.killAndRestart(10);
		}
		await host.pass(60_000);
		const ends = ids.map((id) => statusOf(host.tasks.task(id).task));
		expect(ends.every((end) => end === "succeeded" || end === "dead_lettered")).toBe(true);
		for (const id of ids) expect(host.tasks.task(id).task.attempts).toBeLessThanOrEqual(3);
	});
});

describe("an agent whose budget is spent", () => {
	test("accepts no calls, and queued ones become dead letters", async () => {
		const host = await createTasksHost({ concurrency: 1 });
		host.script = () => null;
		await host.tasks.submit({ agent: "p:tool", action: "first" });
		const second = await host.tasks.submit({ agent: "p:tool", action: "second" });
		await host.settle();
		host.spent = "daily budget used up";
		const third = host.tasks.submit({ agent: "p:tool", action: "third" });
		await expect(third).rejects.toMatchObject({
			code: "over_budget",
			message: "p:tool cannot be called: daily budget used up",
		});
		for (const attempt of host.running) attempt.end(answered());
		await host.settle();
		const { task } = host.tasks.task(second.taskId);
		expect(task).toMatchObject({ status: "dead_lettered", attempts: 0 });
		expect(task.error?.message).toContain("used up");
		host.spent = null;
		host.script = () => answered();
		await host.tasks.deadLetters.replay(second.taskId);
		await host.settle();
		expect(host.tasks.tasks({ limit: 1 })).toMatchObject([{ status: "succeeded" }]);
	});
});

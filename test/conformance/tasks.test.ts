/**
 * Tasks behave alike, whether one host runs them or the hosts of a cluster share them: the same requests have the same
 * results and the same events.
 */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Outcome } from "../../src/core/outcome.js";
import { isEnded } from "../../src/core/task.js";
import type { AttemptEnd } from "../../src/ports/executor.js";
import type { StoredTask } from "../../src/ports/task-store.js";
import { eventually } from "../faults/fleet-home.js";
import { describeWithPostgres } from "../support/needs.js";
import { startPostgres, type TestPostgres } from "../support/postgres.js";
import { answered, createOwnTasks, createSharedTasks, type TaskWorld } from "./task-world.js";

const WAIT_MS = 15_000;
const RETRY = "retry: { initial_backoff: 50ms, jitter: 0 }";
const CALM = `${RETRY}, circuit_breaker: { failure_threshold: 100 }`;
const TOOL = `tool: { kind: call, command: [tool], ${CALM} }`;
const ask = { agent: "p:tool", action: "go" };

const failedWith = (
	error: Extract<Outcome, { ok: false }>["error"],
	reason: string = error,
): AttemptEnd => ({
	outcome: { ok: false, error, reason, retryAfterMs: null },
	log: "what it said\n",
});

interface Scenario {
	readonly name: string;
	readonly agents?: string;
	run(world: TaskWorld): Promise<void>;
}

const untilBegun = (world: TaskWorld, count: number) =>
	eventually(() => world.begun.length >= count, `${count} attempts have begun`, WAIT_MS, 5);

const SCENARIOS: readonly Scenario[] = [
	{
		name: "a task returns the agent's answer",
		async run(world) {
			world.script = ({ payload }) => answered({ twice: [payload, payload] });
			const payload = { text: "a\u0000b \ud83d\ude00", n: 1 };
			const { taskId } = await world.desk.submit({ ...ask, payload }, {});
			const ended = await world.desk.wait(taskId, WAIT_MS);
			expect(ended).toMatchObject({
				task: { status: "succeeded", attempts: 1, error: null, running: null },
				input: { payload, context: {} },
				result: { twice: [payload, payload] },
				attempts: [{ n: 1, error: null }],
			});
		},
	},
	{
		name: "a failing task is retried, then dead-lettered with every error (T3, T8)",
		agents: TOOL,
		async run(world) {
			world.script = ({ request_id: id }) => failedWith("io", `no luck, ${id.split(".")[1]}`);
			const { taskId } = await world.desk.submit({ ...ask, payload: { keep: "me" } }, {});
			const { task, attempts, input } = await world.desk.wait(taskId, WAIT_MS);
			expect(task).toMatchObject({
				status: "dead_lettered",
				attempts: 3,
				error: { code: "execution_failed", kind: "io", message: "no luck, 3" },
			});
			expect(attempts.map(({ n, error, log }) => [n, error?.message, log])).toEqual(
				[1, 2, 3].map((n) => [n, `no luck, ${n}`, "what it said\n"]),
			);
			expect(world.begun).toEqual([1, 2, 3].map((n) => `${taskId}.${n}`));
			expect(input?.payload).toEqual({ keep: "me" });
			const { tasks } = await world.desk.letters({ limit: 9 });
			expect(tasks.map((each) => each.task.taskId)).toEqual([taskId]);
		},
	},
	{
		name: "a task whose caller is at fault is not retried (T9)",
		async run(world) {
			world.script = () => failedWith("invalid_request");
			const { taskId } = await world.desk.submit(ask, {});
			const { task } = await world.desk.wait(taskId, WAIT_MS);
			expect(task).toMatchObject({ status: "dead_lettered", error: { code: "validation_failed" } });
			expect(world.begun).toHaveLength(1);
		},
	},
	{
		name: "a task that must not run twice is left to the operator",
		agents: `tool: { kind: call, command: [tool], unsafe_actions: [pay], ${CALM} }`,
		async run(world) {
			world.script = () => failedWith("timeout");
			const { taskId } = await world.desk.submit({ ...ask, action: "pay" }, {});
			const { task } = await world.desk.wait(taskId, WAIT_MS);
			expect(task.status).toBe("dead_lettered");
			expect(task.reason).toContain("the operator decides");
			expect(world.begun).toHaveLength(1);
		},
	},
	{
		name: "a limit of the account costs no attempt",
		agents: `tool: { kind: call, command: [tool], retry: { max_attempts: 1, initial_backoff: 50ms, jitter: 0 } }`,
		async run(world) {
			world.script = ({ request_id: id }) =>
				id.endsWith(".1") ? failedWith("usage_limit") : answered("done");
			const { taskId } = await world.desk.submit(ask, {});
			expect(await world.desk.wait(taskId, WAIT_MS)).toMatchObject({
				task: { status: "succeeded", attempts: 2 },
				result: "done",
			});
		},
	},
	{
		name: "one idempotency key is one task, also at the same moment (T5)",
		async run(world) {
			const key = { idempotencyKey: "k" };
			const [one, other] = await Promise.all([
				world.desk.submit({ ...ask, payload: 1 }, key),
				world.desk.submit({ ...ask, payload: 1 }, key),
			]);
			expect(other.taskId).toBe(one.taskId);
			const conflict = world.desk.submit({ ...ask, payload: 2 }, key);
			await expect(conflict).rejects.toMatchObject({ code: "idempotency_conflict" });
			await world.desk.wait(one.taskId, WAIT_MS);
			expect((await world.desk.submit({ ...ask, payload: 1 }, key)).taskId).toBe(one.taskId);
			expect(world.begun).toHaveLength(1);
		},
	},
	{
		name: "a running task is cancelled when its attempt is gone, a waiting one at once",
		agents: `tool: { kind: call, command: [tool], concurrency: 1 }`,
		async run(world) {
			world.script = () => null;
			const first = await world.desk.submit(ask, {});
			await untilBegun(world, 1);
			const second = await world.desk.submit(ask, {});
			expect((await world.desk.cancel(second.taskId, WAIT_MS)).task.status).toBe("cancelled");
			const cancelled = await world.desk.cancel(first.taskId, WAIT_MS);
			expect(cancelled.task).toMatchObject({
				status: "cancelled",
				reason: "cancelled while running",
			});
			const again = world.desk.cancel(first.taskId, WAIT_MS);
			await expect(again).rejects.toMatchObject({ code: "already_ended" });
			expect(world.begun).toHaveLength(1);
		},
	},
	{
		name: "a dead letter is replayed once, as a task that refers to it, or discarded",
		async run(world) {
			world.script = () => failedWith("invalid_request");
			const letters: string[] = [];
			for (const n of [1, 2]) {
				const { taskId } = await world.desk.submit({ ...ask, payload: n }, {});
				letters.push((await world.desk.wait(taskId, WAIT_MS)).task.taskId);
			}
			const [replayed = "", discarded = ""] = letters;
			world.script = ({ payload }) => answered(payload);
			const { task } = await world.desk.replay(replayed);
			expect(task.replayOf).toBe(replayed);
			expect(await world.desk.wait(task.taskId, WAIT_MS)).toMatchObject({
				task: { status: "succeeded" },
				result: 1,
			});
			await expect(world.desk.replay(replayed)).rejects.toMatchObject({
				code: "not_a_dead_letter",
			});
			expect((await world.desk.discard(discarded)).task.letter).toMatchObject({
				type: "discarded",
			});
			expect((await world.desk.letters({ limit: 9 })).tasks).toEqual([]);
			const counts = await world.desk.count({});
			expect(counts).toEqual({ dead_lettered: 2, succeeded: 1 });
		},
	},
	{
		name: "no more attempts run at once than the agent allows (T10)",
		agents: `tool: { kind: call, command: [tool], concurrency: 2 }`,
		async run(world) {
			// The first waits for the second.
			world.script = async () => {
				await eventually(() => world.peak.count >= 2, "two attempts run", WAIT_MS, 5);
				return answered();
			};
			const tasks: StoredTask[] = [];
			for (let n = 0; n < 6; n++) tasks.push(await world.desk.submit(ask, {}));
			for (const { taskId } of tasks) {
				expect((await world.desk.wait(taskId, WAIT_MS)).task.status).toBe("succeeded");
			}
			expect(world.peak.count).toBe(2);
		},
	},
	{
		name: "waiting tasks run by priority, then in the order of their arrival",
		agents: `tool: { kind: call, command: [tool], concurrency: 1 }`,
		async run(world) {
			let free = () => {};
			const freed = new Promise<AttemptEnd>((resolve) => {
				free = () => resolve(answered());
			});
			world.script = ({ action }) => (action === "first" ? freed : answered());
			const ids = new Map<string, string>();
			const submit = async (action: string, priority = 0) => {
				const { taskId } = await world.desk.submit({ ...ask, action, priority }, {});
				ids.set(taskId, action);
			};
			await submit("first");
			await untilBegun(world, 1);
			await submit("low", -1);
			await submit("usual");
			await submit("later");
			await submit("high", 5);
			free();
			for (const taskId of ids.keys()) await world.desk.wait(taskId, WAIT_MS);
			const order = world.begun.map((id) => ids.get(id.split(".")[0] ?? ""));
			expect(order).toEqual(["first", "high", "usual", "later", "low"]);
		},
	},
	{
		name: "the circuit opens, refuses, and closes after a probe (B1, B2)",
		agents: `tool: { kind: call, command: [tool], retry: { max_attempts: 1 }, circuit_breaker: { failure_threshold: 2, cooldown: 1s } }`,
		async run(world) {
			world.script = () => failedWith("io");
			for (let n = 0; n < 2; n++) {
				const { taskId } = await world.desk.submit(ask, {});
				await world.desk.wait(taskId, WAIT_MS);
			}
			expect(world.desk.circuit("p:tool")).toMatchObject({
				circuit: "open",
				consecutiveFailures: 2,
			});
			await expect(world.desk.submit(ask, {})).rejects.toMatchObject({ code: "agent_unavailable" });
			world.script = () => answered();
			await eventually(() => world.desk.circuit("p:tool").circuit === "half_open", "half open");
			const { taskId } = await world.desk.submit(ask, {});
			expect((await world.desk.wait(taskId, WAIT_MS)).task.status).toBe("succeeded");
			await eventually(() => world.desk.circuit("p:tool").circuit === "closed", "closed");
		},
	},
	{
		name: "the operator closes a circuit",
		agents: `tool: { kind: call, command: [tool], retry: { max_attempts: 1 }, circuit_breaker: { failure_threshold: 1, cooldown: 1h } }`,
		async run(world) {
			world.script = () => failedWith("io");
			const { taskId } = await world.desk.submit(ask, {});
			await world.desk.wait(taskId, WAIT_MS);
			expect(await world.desk.closeCircuit("p:tool")).toBe("open");
			world.script = () => answered();
			const next = await world.desk.submit(ask, {});
			expect((await world.desk.wait(next.taskId, WAIT_MS)).task.status).toBe("succeeded");
		},
	},
];

/** The events of each task and each circuit, in order, with what differs from run to run replaced. */
function traceOf(world: TaskWorld): readonly unknown[] {
	const names = new Map<string, string>();
	const nameOf = (id: string) => {
		if (!names.has(id)) names.set(id, `id ${names.size + 1}`);
		return names.get(id);
	};
	const ids = /[0-9a-f]{8}-[0-9a-f-]{27}/g;
	const events = world.events();
	const order = [...new Set(events.map(({ task }) => task))];
	const sorted = events.toSorted((a, b) => order.indexOf(a.task) - order.indexOf(b.task));
	return sorted.map(({ type, agent, task, data }) => {
		const { host: _, ...rest } = data as { readonly host?: string };
		const text = JSON.stringify({ type, agent, task, data: rest })
			.replaceAll(ids, (id) => nameOf(id) ?? "")
			.replaceAll(/"duration_ms":\d+/g, '"duration_ms":0')
			.replaceAll(/open for another [^,"]+/g, "open for a while");
		return JSON.parse(text) as unknown;
	});
}

const traces = new Map<string, readonly unknown[]>();

describe("tasks of one host", () => {
	for (const { name, agents = TOOL, run } of SCENARIOS) {
		test(name, { timeout: 60_000 }, async () => {
			const world = await createOwnTasks(agents);
			await run(world);
			traces.set(name, traceOf(world));
			expect(traceOf(world).length).toBeGreaterThan(0);
		});
	}
});

describeWithPostgres("tasks that the hosts of a cluster share", () => {
	let postgres: TestPostgres;
	let databases = 0;
	beforeAll(async () => {
		postgres = await startPostgres();
	}, 60_000);
	afterAll(() => postgres.stop());

	for (const { name, agents = TOOL, run } of SCENARIOS) {
		test(`${name}, with the same events`, { timeout: 60_000 }, async () => {
			databases += 1;
			const url = await postgres.createDatabase(`tasks_${databases}`);
			const world = await createSharedTasks(agents, url);
			await run(world);
			const expected = traces.get(name) ?? [];
			await eventually(() => world.events().length >= expected.length, "all events are logged");
			expect(traceOf(world)).toEqual(expected);
			for (const { task } of (await world.desk.list({ limit: 100 })).tasks) {
				expect(isEnded(task.status)).toBe(true);
			}
		});
	}
});

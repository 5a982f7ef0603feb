/** Calls, plans and dead letters from the user's perspective: real agents, a real daemon, the built CLI. */

import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AgentJson } from "../../src/http/contract/agents.js";
import type { PlanDetailJson } from "../../src/http/contract/plans.js";
import type { TaskDetailJson } from "../../src/http/contract/tasks.js";
import { createFleetHome, eventually, type FleetHome } from "../faults/fleet-home.js";
import { runReeve } from "../support/reeve.js";

const fixture = (name: string) => resolve("test/fixtures/call-agents", name);

/** Behaves like Claude Code without a terminal. */
const FAKE = [
	...[process.execPath, resolve("dist/testing/fake-agent/fake-agent-main.js"), "--script"],
	'{"turns": [{"when": "log in", "fails": {"status": 401}}]}',
];

let home: FleetHome;
beforeAll(async () => {
	home = createFleetHome();
	const call = (name: string, keys: string, ...argv: string[]) =>
		`${name}: { kind: call, command: ${JSON.stringify(argv)}, ${keys} }`;
	const scripted = fixture("follows-instructions.pl");
	const quick = "retry: { initial_backoff: 10ms, max_attempts: 2 }";
	home.writeFleet(
		[
			call("ok", quick, fixture("answers.sh")),
			call("broken", `${quick}, circuit_breaker: { failure_threshold: 3 }`, "/bin/false"),
			call("missing", quick, "/nowhere/at-all"),
			call(
				"slow",
				"timeout: 1s, retry: { max_attempts: 1 }",
				fixture("leaves-writers.pl"),
				"hangs",
				home.folder,
			),
			`cli: { kind: call, adapter: claude, command: ${JSON.stringify(FAKE)} }`,
			`worker: { kind: worker, command: ["${scripted}", "${home.folder}"], env: { FIXTURES: "${resolve("test/fixtures/call-agents")}" } }`,
			`hangs: { kind: worker, command: ["${scripted}", "${home.folder}"], timeout: 500ms, workers: { min: 0, max: 1 }, retry: { max_attempts: 1 } }`,
			`session: { command: [sleep, "1000"] }`,
		].join("\n"),
	);
	await home.must("up");
}, 60_000);
afterAll(() => home.close(), 60_000);

const json = async <T>(...args: string[]): Promise<T> =>
	JSON.parse((await home.reeve(...args, "--json")).stdout) as T;

const psOf = async (id: string) => (await home.ps()).find((agent) => agent.id === id) as AgentJson;

describe("reeve call", () => {
	test("calls an agent CLI, and continues the conversation", async () => {
		const ask = (payload: object) =>
			json<TaskDetailJson>("call", "p:cli", "ask", "-p", JSON.stringify(payload));
		const first = await ask({ prompt: "hello" });
		expect(first).toMatchObject({
			...{ status: "succeeded", result: { text: "The fake received: hello", cost_usd: 0 } },
		});
		const { conversation } = first.result as { conversation: string };
		expect(await ask({ prompt: "more", conversation })).toMatchObject({ status: "succeeded" });
		expect(await ask({ prompt: "log in" })).toMatchObject({
			...{ status: "dead_lettered", attempts: [{ error: { kind: "unusable" } }] },
		});
	});

	test("prints the agent's answer on stdout, and nothing else", async () => {
		const ran = await home.reeve("call", "p:worker", "answer", "--payload", '{"a": 1}');
		expect([ran.code, JSON.parse(ran.stdout), ran.stderr]).toEqual([0, "at once", ""]);
	});

	test("reads its payload from a file and from stdin", async () => {
		const { folder, env } = home;
		writeFileSync(join(folder, "payload.json"), '{"from": "file"}');
		const file = await json<TaskDetailJson>("call", "p:ok", "go", "-p", "@payload.json");
		expect(file).toMatchObject({ status: "succeeded", payload: { from: "file" } });
		const piped = await runReeve(["call", "p:ok", "go", "-p", "-", "--json"], {
			...{ cwd: folder, env, input: "[1, 2]" },
		});
		expect(JSON.parse(piped.stdout)).toMatchObject({ payload: [1, 2] });
	});

	test("reports invalid input without a request", async () => {
		const wrong = await home.reeve("call", "p:ok", "go", "-p", "not json");
		expect([wrong.code, wrong.stdout]).toEqual([2, ""]);
		expect(wrong.stderr).toContain("--payload is not valid JSON");
		const session = await home.reeve("call", "p:session", "go");
		expect([session.code, session.stderr]).toEqual([
			5,
			expect.stringContaining("accepts no requests"),
		]);
		expect((await home.reeve("call", "p:no-such-agent", "go")).code).toBe(4);
	});

	test("fails with the reason on stderr, and the task on stdout only as JSON", async () => {
		const refused = await home.reeve("call", "p:worker", "refuse");
		expect([refused.code, refused.stdout]).toEqual([1, ""]);
		expect(refused.stderr).toContain("invalid_request");
		const task = await json<TaskDetailJson>("call", "p:worker", "refuse");
		expect(task).toMatchObject({ status: "dead_lettered", error: { code: "validation_failed" } });
		expect(task.attempts).toHaveLength(1);
	});

	test.each([
		[["--timeout", "0s"], "--timeout"],
		[["--attempts", "0"], "--attempts"],
		[["--priority", "high"], "--priority"],
		[["--idempotency-key", ""], "--idempotency-key"],
	])("refuses %j and names the option", async (args, option) => {
		const ran = await home.reeve("call", "p:ok", "go", ...args);
		expect([ran.code, ran.stdout, ran.stderr]).toEqual([2, "", expect.stringContaining(option)]);
	});

	test("passes an empty object to the agent if there is no payload", async () => {
		expect(await json<TaskDetailJson>("call", "p:ok", "go")).toMatchObject({ payload: {} });
	});

	test("names a program that is missing, and does not try it again", async () => {
		const task = await json<TaskDetailJson>("call", "p:missing", "go");
		expect(task.attempts).toHaveLength(1);
		expect(task.error).toMatchObject({
			code: "agent_unavailable",
			message: expect.stringContaining("/nowhere/at-all does not exist"),
		});
	});

	test("leaves no process of a timed-out attempt behind (T6)", { timeout: 60_000 }, async () => {
		const task = await json<TaskDetailJson>("call", "p:slow", "go");
		expect(task.error).toMatchObject({ code: "timeout" });
		const written = () =>
			["in-group", "on-its-own"].map(
				(name) => readFileSync(join(home.folder, name), "utf8").length,
			);
		const before = written();
		await sleep(300);
		expect(written()).toEqual(before);
		expect(Math.min(...before)).toBeGreaterThan(0);
	});

	test("under one key is one task, and without waiting only its id", async () => {
		const args = ["call", "p:ok", "go", "--idempotency-key", "once", "--no-wait"];
		const [first, second] = [await home.must(...args), await home.must(...args)];
		expect(second).toBe(first);
		const other = await home.reeve("call", "p:ok", "other", "--idempotency-key", "once");
		expect([other.code, other.stderr]).toEqual([5, expect.stringContaining("a different task")]);
	});

	test("keeps waiting while the daemon is killed and started again", {
		timeout: 60_000,
	}, async () => {
		const calling = json<TaskDetailJson>("call", "p:worker", "keep", "--attempts", "1");
		await eventually(async () => {
			const [task] = await json<TaskDetailJson[]>("tasks", "ls", "-n", "1");
			return task?.action === "keep" && task.status === "in_progress";
		}, "the task is running");
		await home.killDaemon();
		await home.must("daemon", "start");
		expect(await calling).toMatchObject({ status: "dead_lettered", error: { kind: "internal" } });
	});
});

describe("a daemon that shuts down cleanly", () => {
	test("cancels nothing: unfinished tasks are resumed by the next daemon", {
		timeout: 60_000,
	}, async () => {
		const id = (await home.must("call", "p:worker", "keep", "--no-wait", "--attempts", "2")).trim();
		const show = () => json<TaskDetailJson>("tasks", "show", id);
		await eventually(async () => (await show()).status === "in_progress", "it is running");
		await home.must("daemon", "restart");
		await eventually(async () => (await show()).attempts.length > 0, "it was resumed");
		expect((await show()).attempts[0]).toMatchObject({ error: { kind: "internal" } });
		expect(await psOf("p:worker")).toMatchObject({ policy: "healthy", restarts: 0 });
		await home.must("tasks", "cancel", id);
	});
});

describe("an agent's own response to a failed request", () => {
	test("is kept with each attempt and returned, and shown without control characters", async () => {
		const response = {
			...{ status: "error", code: 503, result: { partial: [1] } },
			error: { message: "red \u001b[31m \u009b2J", type: "quota" },
		};
		const failed = await json<TaskDetailJson>("call", "p:worker", "fail", "--attempts", "2");
		expect(failed).toMatchObject({
			...{ status: "dead_lettered", response },
			attempts: [
				{ n: 1, response },
				{ n: 2, response },
			],
		});
		const letter = await json<TaskDetailJson>("dead-letters", "show", failed.task_id);
		expect(letter).toMatchObject({ response, attempts: [{ response }, { response }] });
		const called = await home.reeve("call", "p:worker", "fail", "--attempts", "1");
		expect(called.stderr).toMatch(/response: .*"code":503.*"partial":\[1\].*"type":"quota"/);
		const shown = await home.must("dead-letters", "show", failed.task_id);
		expect(shown).toMatch(/response:[\s\S]*"type": "quota"/);
		for (const text of [called.stderr, shown]) {
			expect(text).not.toContain("\u001b");
			expect(text).not.toContain("\u009b");
		}
		await home.reeve("dead-letters", "discard", "--all");
	}, 60_000);
});

describe("a caller's own deadline", () => {
	test("that expires does not count as a crash of the worker, and other callers are served", {
		timeout: 60_000,
	}, async () => {
		const other = home.reeve("call", "p:worker", "keep", "--timeout", "20s");
		for (let n = 0; n < 6; n++) {
			const late = await json<TaskDetailJson>(
				...["call", "p:worker", "keep", "--timeout", "100ms", "--attempts", "1"],
			);
			expect(late).toMatchObject({ status: "dead_lettered", error: { code: "timeout" } });
		}
		expect(await psOf("p:worker")).toMatchObject({ policy: "healthy", process: "running" });
		await home.must("call", "p:worker", "answer-all");
		expect((await other).code).toBe(0);
		for (let n = 0; n < 6; n++) {
			await home.reeve("call", "p:worker", "keep", "--timeout", "100ms", "--attempts", "1");
		}
		expect(JSON.parse(await home.must("call", "p:worker", "answer"))).toBe("at once");
		expect(await psOf("p:worker")).toMatchObject({
			...{ policy: "healthy", restarts: 0, circuit: "closed", consecutive_failures: 0 },
		});
		await home.reeve("dead-letters", "discard", "--all");
	});

	test("opens no circuit of a call agent, whose own timeout still does", {
		timeout: 60_000,
	}, async () => {
		await home.must("resume", "p:slow");
		for (let n = 0; n < 4; n++) {
			const late = await home.reeve("call", "p:slow", "go", "--timeout", "100ms");
			expect(late.stderr).toContain("no response within 100 ms");
		}
		expect(await psOf("p:slow")).toMatchObject({ circuit: "closed", consecutive_failures: 0 });
		await home.reeve("call", "p:slow", "go");
		expect(await psOf("p:slow")).toMatchObject({ circuit: "closed", consecutive_failures: 1 });
		await home.reeve("dead-letters", "discard", "--all");
	});

	test("is not confused with the agent's timeout when the request waited for its worker", {
		timeout: 60_000,
	}, async () => {
		await home.reeve("call", "p:hangs", "keep");
		const { last_exit } = await psOf("p:hangs");
		expect(last_exit).toMatchObject({ cause: "crash", class: "transient" });
		await home.reeve("dead-letters", "discard", "--all");
	});
});

describe("a circuit", () => {
	test("opens, is shown, refuses without a process, and is closed by resume", {
		timeout: 60_000,
	}, async () => {
		await home.reeve("call", "p:broken", "go");
		// One request with all its attempts is one failure.
		expect(await psOf("p:broken")).toMatchObject({
			...{ circuit: "closed", health: "degraded", consecutive_failures: 1 },
		});
		for (let n = 0; n < 2; n++) await home.reeve("call", "p:broken", "go");
		expect(await psOf("p:broken")).toMatchObject({
			...{ circuit: "open", health: "unhealthy", consecutive_failures: 3 },
		});
		const { stdout } = await home.reeve("ps");
		expect(stdout).toMatch(/p:broken +circuit open/);
		const before = await json<TaskDetailJson[]>("tasks", "ls", "--agent", "p:broken");
		const refused = await home.reeve("call", "p:broken", "go", "--idempotency-key", "k");
		expect(refused.code).toBe(5);
		expect(refused.stderr).toMatch(/circuit of p:broken is open for another \d+/);
		expect(refused.stderr).toMatch(/Try again in .*reeve resume p:broken/);
		expect(await json<TaskDetailJson[]>("tasks", "ls", "--agent", "p:broken")).toEqual(before);
		await home.killDaemon();
		await home.must("daemon", "start");
		expect((await psOf("p:broken")).circuit).toBe("open");
		expect(await home.must("resume", "p:broken")).toContain("its circuit is closed (was open)");
		expect(await psOf("p:broken")).toMatchObject({ circuit: "closed", consecutive_failures: 0 });
	});
});

describe("reeve tasks", () => {
	test("lists, shows with input and log, and cancels", { timeout: 60_000 }, async () => {
		const said = await json<TaskDetailJson>("call", "p:worker", "say", "-p", '"hello"');
		const shown = await home.must("tasks", "show", said.task_id);
		expect(shown).toMatch(/status: +succeeded/);
		expect(shown).toContain('"hello"');
		expect(shown).toContain(`about ${said.task_id}.1`);
		const id = (await home.must("call", "p:worker", "keep", "--no-wait")).trim();
		await eventually(
			async () => (await json<TaskDetailJson>("tasks", "show", id)).status === "in_progress",
			"it is running",
		);
		expect(await home.must("tasks", "cancel", id)).toBe(`${id}: cancelled\n`);
		expect((await home.reeve("tasks", "cancel", id)).code).toBe(5);
		expect((await home.reeve("tasks", "show", "nothing")).code).toBe(4);
		expect(await home.must("tasks", "ls", "--status", "cancelled")).toContain(id);
		expect((await home.reeve("tasks", "ls", "--status", "maybe")).code).toBe(2);
	});
});

describe("reeve dead-letters", () => {
	test("are listed, shown, replayed and discarded", { timeout: 60_000 }, async () => {
		await home.reeve("dead-letters", "discard", "--all");
		const dead = await json<TaskDetailJson>("call", "p:worker", "refuse", "-p", '{"keep": "this"}');
		const list = await json<TaskDetailJson[]>("dead-letters", "ls", "--agent", "p:worker");
		expect(list.map(({ task_id: id }) => id)).toEqual([dead.task_id]);
		expect(await home.must("dead-letters", "show", dead.task_id)).toContain('"keep": "this"');
		expect((await home.reeve("dead-letters", "replay")).code).toBe(2);
		const replayed = await json<TaskDetailJson[]>(
			...["dead-letters", "replay", "--all", "--agent", "p:worker", "--since", "1h"],
		);
		expect(replayed).toMatchObject([{ replay_of: dead.task_id, payload: { keep: "this" } }]);
		await eventually(
			async () => (await json<TaskDetailJson[]>("dead-letters", "ls")).length === 1,
			"the replay has failed too",
		);
		const [again] = await json<TaskDetailJson[]>("dead-letters", "ls");
		expect(await home.must("dead-letters", "discard", again?.task_id ?? "")).toContain("discarded");
		expect((await home.reeve("dead-letters", "ls")).stderr).toBe("no dead letters\n");
	});
});

describe("reeve plan", () => {
	const write = (name: string, text: string) => writeFileSync(join(home.folder, name), text);

	test("runs a file, shows its progress and prints the outcome", { timeout: 60_000 }, async () => {
		write(
			"plan.yaml",
			`name: two steps
tasks:
  first: { agent: p:worker, action: answer }
  second:
    agent: p:ok
    action: go
    depends_on: [first]
    payload: { got: "\${tasks.first.result}" }
`,
		);
		const ran = await home.reeve("plan", "run", "plan.yaml");
		expect(ran.code).toBe(0);
		expect(ran.stdout).toMatch(/✓ +first +succeeded[\s\S]*✓ +second +succeeded/);
		expect(ran.stderr).toContain("succeeded: all 2 tasks succeeded");
		const [plan] = await json<PlanDetailJson[]>("plan", "ls");
		const shown = await json<PlanDetailJson>("plan", "show", plan?.plan_id ?? "");
		expect(shown).toMatchObject({ name: "two steps", status: "succeeded" });
		const second = await json<TaskDetailJson>("tasks", "show", shown.tasks[1]?.task_id ?? "");
		expect(second.payload).toEqual({ got: "at once" });
	});

	test("exits with 1 when it fails, and with 2 when the file is wrong", {
		timeout: 60_000,
	}, async () => {
		write("fails.yaml", "tasks:\n  bad: { agent: p:worker, action: refuse }\n");
		const failed = await home.reeve("plan", "run", "fails.yaml");
		expect([failed.code, failed.stderr]).toEqual([
			1,
			expect.stringContaining("task bad dead-lettered"),
		]);
		write("wrong.yaml", "tasks:\n  bad: { agnet: p:worker, action: go }\n");
		const wrong = await home.reeve("plan", "run", "wrong.yaml");
		expect(wrong.code).toBe(2);
		expect(wrong.stderr).toContain("wrong.yaml:2:10: tasks.bad.agnet: unknown key `agnet`");
		expect(wrong.stderr).toContain("did you mean `agent`?");
	});

	test("is cancelled while it runs", { timeout: 60_000 }, async () => {
		write(
			"long.yaml",
			"tasks:\n  a: { agent: p:worker, action: keep }\n  b: { agent: p:worker, action: answer, depends_on: [a] }\n",
		);
		const id = (await home.must("plan", "run", "long.yaml", "--no-wait")).trim();
		const cancelled = await json<PlanDetailJson>("plan", "cancel", id);
		expect(cancelled).toMatchObject({
			status: "cancelled",
			tasks: [{ status: "cancelled" }, { status: "cancelled" }],
		});
	});
});

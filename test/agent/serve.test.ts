import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { ActionRequest } from "../../src/core/outcome.js";
import {
	attempt,
	ending,
	LONG_MS,
	NEVER,
	newRunId,
	openExecutor,
	program,
	reasonOf,
	request,
	tempFolder,
} from "../executor/world.js";

const KIT = fileURLToPath(new URL("../../dist/agent/index.js", import.meta.url));
const AGENT = fileURLToPath(
	new URL("../fixtures/kit-agents/does-many-things.mjs", import.meta.url),
);
const agent = (args: readonly string[] = [], env: Record<string, string> = {}) =>
	program(process.execPath, [AGENT, KIT, ...args], {
		env: { PATH: process.env["PATH"] ?? "", ...env },
		// The kit keeps its stdout clean, so nothing else has to be tolerated.
		extraOutput: "refuse",
	});

const call = (action: string, payload: unknown = {}, of = agent()) =>
	openExecutor().call(attempt(of, { request: request({ action, payload }) }), NEVER);

describe("an agent made with the kit, called once", () => {
	test.each([
		["greet", 'ok {"text":"hello Ada"}'],
		["nothing", "ok undefined"],
		["refuse", "invalid_request"],
		["later", "backend_failure"],
		["fail", "backend_failure"],
		["throw-text", "backend_failure"],
		["cycle", "backend_failure"],
		["no-such-action", "action_not_supported"],
		["constructor", "action_not_supported"],
		["stay-open", 'ok "open"'],
		["die", "backend_failure"],
	])("answers %s as %s", async (action, expected) => {
		expect(ending(await call(action, { name: "Ada" }))).toBe(expected);
	});

	test("reports the failure without a stack", async () => {
		const end = await call("fail");
		expect(reasonOf(end)).toBe("agent returned error with code 500: the disk is on fire");
		expect(end.log).toBe("");
		expect(reasonOf(await call("throw-text"))).toContain("just a text");
		expect(reasonOf(await call("refuse"))).toContain("code 400: no name given");
		expect(reasonOf(await call("cycle"))).toContain("cannot be serialized as JSON");
		expect(reasonOf(await call("nope"))).toContain(
			"unknown action nope; available: greet, nothing",
		);
	});

	test("shows the stack in its log when it is debugged", async () => {
		const end = await call("fail", {}, agent([], { DEBUG: "1" }));
		expect(end.log).toMatch(/^Error: the disk is on fire\n {4}at .*does-many-things/);
	});

	test("may report a retry delay", async () => {
		expect((await call("later")).outcome).toMatchObject({ ok: false, retryAfterMs: 1500 });
	});

	test("keeps everything but its answer out of stdout", async () => {
		const end = await call("chat");
		expect(ending(end)).toBe('ok "chatted"');
		for (const words of ["via console.log\n", "table", "via stdout\n", "via log { n: 1 }\n"]) {
			expect(end.log).toContain(words);
		}
	});

	test("knows the request and its caller", async () => {
		const { outcome } = await call("who");
		expect(outcome?.ok && outcome.result).toEqual({
			...{ requestId: "r-1", tool: "fixture", action: "who", context: {} },
			...{ taskId: "task-1", planId: "plan-1", correlationId: "correlation-1" },
		});
	});

	test("answers for its own tool only, if it has one", async () => {
		expect(ending(await call("nothing", {}, agent(["fixture"])))).toBe("ok undefined");
		const end = await call("nothing", {}, agent(["another"]));
		expect(ending(end)).toBe("action_not_supported");
		expect(reasonOf(end)).toContain("this agent is the tool another, not fixture");
	});
});

describe("the same agent as a worker", () => {
	async function start() {
		const started = await openExecutor().startWorker({
			...{ runId: newRunId(), program: agent(), logDir: tempFolder() },
		});
		if (!started.ok) throw new Error(started.failure.detail);
		let asked = 0;
		const ask = (action: string, payload: unknown = {}) =>
			started.worker.ask(request({ request_id: `k-${++asked}`, action, payload }), LONG_MS, NEVER);
		return { worker: started.worker, ask };
	}

	test("answers many requests, each as soon as it is done, including failures", async () => {
		const { worker, ask } = await start();
		const order: string[] = [];
		const slow = ask("wait", { ms: 300 }).then(() => order.push("slow"));
		const fast = ask("greet", { name: "Ada" }).then(() => order.push("fast"));
		await Promise.all([slow, fast]);
		expect(order).toEqual(["fast", "slow"]);
		expect(ending(await ask("fail"))).toBe("backend_failure");
		expect(ending(await ask("refuse"))).toBe("invalid_request");
		const greetings = Array.from({ length: 300 }, (_, n) => ask("greet", { name: `${n}é` }));
		expect(ending((await Promise.all(greetings))[299] ?? { outcome: null, log: "" })).toBe(
			'ok {"text":"hello 299é"}',
		);
		expect(await worker.stop(LONG_MS)).toMatchObject({ outcome: "graceful" });
		expect(await worker.ended).toMatchObject({ code: 0 });
	});

	test("respects its concurrency limit", async () => {
		const { ask } = await start();
		const most = await Promise.all(Array.from({ length: 20 }, () => ask("wait", { ms: 5 })));
		expect(most.map(ending).at(-1)).toBe("ok 4");
	});
});

describe("an agent of the kit on its own", () => {
	/** All of an agent's output once it has ended. */
	function run(input: string | null): { child: ChildProcess; done: Promise<Ended> } {
		const child = spawn(process.execPath, [AGENT, KIT], { stdio: "pipe" });
		let [stdout, stderr] = ["", ""];
		child.stdout.on("data", (chunk) => {
			stdout += chunk;
		});
		child.stderr.on("data", (chunk) => {
			stderr += chunk;
		});
		if (input !== null) child.stdin.end(input);
		const done = new Promise<Ended>((resolve) =>
			child.once("close", (code, signal) => resolve({ code, signal, stdout, stderr })),
		);
		return { child, done };
	}
	interface Ended {
		readonly code: number | null;
		readonly signal: string | null;
		readonly stdout: string;
		readonly stderr: string;
	}
	const line = (facts: Partial<ActionRequest>) => `${JSON.stringify(request(facts))}\n`;

	test("needs no newline after its last request, and ignores empty lines", async () => {
		const input = `\n${line({ action: "nothing" })}\n${line({ action: "nothing" }).trim()}`;
		const { stdout, code } = await run(input).done;
		expect(stdout.split("\n")).toHaveLength(3);
		expect(code).toBe(0);
	});

	test("reports invalid requests, answers the rest, and exits with code 1", async () => {
		const ended = await run(`hello\n{}\nnull\n${line({ action: "nothing" })}`).done;
		expect(ended.stderr).toContain("invalid line on stdin");
		expect(JSON.parse(ended.stdout)).toEqual({
			...{ request_id: "r-1", status: "success", code: 0 },
			...{ plan_id: "plan-1", task_id: "task-1", correlation_id: "correlation-1" },
		});
		expect(ended.code).toBe(1);
	});

	test("finishes its current request when asked to stop, and responds", async () => {
		const { child, done } = run(null);
		child.stdin?.write(line({ action: "until-aborted" }));
		await new Promise((resolve) => child.stderr?.once("data", resolve));
		child.kill("SIGTERM");
		const ended = await done;
		expect(JSON.parse(ended.stdout)).toMatchObject({ code: 0, result: "aborted" });
		expect(ended).toMatchObject({ code: 0, signal: null });
	});
});

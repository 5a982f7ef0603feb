import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { AttemptEnd, Worker } from "../../src/ports/executor.js";
import { eventually } from "../../src/testing/conformance/backend-world.js";
import {
	ending,
	LONG_MS,
	liveProcesses,
	NEVER,
	newRunId,
	openExecutor,
	program,
	reasonOf,
	request,
	startWorker,
	tempFolder,
} from "./world.js";

let asked = 0;

const GRACEFUL = { outcome: "graceful", reason: null, killed: [] };

/** Asks a worker to do something; see `follows-instructions.pl`. */
function ask(
	worker: Worker,
	action: string,
	{ timeoutMs = LONG_MS, signal = NEVER, payload = {} as unknown, lateMs = 0 } = {},
): Promise<AttemptEnd> {
	const asks = request({ request_id: `q-${++asked}`, action, payload });
	return worker.ask(asks, timeoutMs, signal, lateMs);
}

const readLog = (logDir: string) => readFileSync(join(logDir, "current.log"), "utf8");

describe("requests and answers", () => {
	test("one process serves many requests", async () => {
		const { worker } = await startWorker(openExecutor());
		const ends = await Promise.all(Array.from({ length: 500 }, () => ask(worker, "answer")));
		expect(new Set(ends.map(ending))).toEqual(new Set(['ok "at once"']));
		expect(worker.pending).toBe(0);
		expect(liveProcesses(worker.runId)).toEqual([worker.process.pid]);
	});

	test("answers may come in any order", async () => {
		const { worker } = await startWorker(openExecutor());
		const order: number[] = [];
		const kept = [1, 2, 3].map((n) => ask(worker, "keep").then(() => order.push(n)));
		expect(worker.pending).toBe(3);
		const last = ask(worker, "answer-all").then(() => order.push(4));
		await Promise.all([...kept, last]);
		expect(order).toEqual([4, 3, 2, 1]);
	});

	test("a failure of one request leaves the others alone", async () => {
		const { worker } = await startWorker(openExecutor());
		expect(ending(await ask(worker, "refuse"))).toBe("invalid_request");
		expect(ending(await ask(worker, "answer-without-code"))).toBe("backend_failure");
		const broken = await ask(worker, "answer-invalid-utf8");
		expect(reasonOf(broken)).toBe("the response is not valid UTF-8");
		expect(ending(await ask(worker, "answer"))).toBe('ok "at once"');
	});

	test("a character may be split between two writes", async () => {
		const { worker } = await startWorker(openExecutor());
		expect(ending(await ask(worker, "answer-in-pieces"))).toBe('ok "aä€😀"');
	});

	test("unknown and repeated responses change nothing, and are counted (T7)", async () => {
		const { worker, logDir } = await startWorker(openExecutor());
		expect(ending(await ask(worker, "answer-twice"))).toBe('ok "first"');
		expect(ending(await ask(worker, "answer-twice"))).toBe('ok "first"');
		await worker.stop(LONG_MS);
		const notes = readLog(logDir).match(/ignored a late or unknown response \(\d+×\)/g);
		expect(notes).toEqual([1, 2, 4].map((n) => `ignored a late or unknown response (${n}×)`));
	});

	test("the same id cannot be asked twice at once", async () => {
		const { worker } = await startWorker(openExecutor());
		const twice = request({ request_id: "twice", action: "keep" });
		const first = worker.ask(twice, LONG_MS, NEVER);
		expect(() => worker.ask(twice, LONG_MS, NEVER)).toThrow("duplicate request");
		await worker.stop(0);
		expect(ending(await first)).toBe("internal");
	});
});

describe("other output of a worker", () => {
	test("is tolerated, and noted in its log", async () => {
		const { worker, logDir } = await startWorker(openExecutor());
		expect(ending(await ask(worker, "print-garbage"))).toBe('ok "after garbage"');
		expect(ending(await ask(worker, "answer"))).toBe('ok "at once"');
		await worker.stop(LONG_MS);
		expect(readLog(logDir)).toContain('printed a line that is not a response (1×): "Loading..."');
	});

	test("kills the worker if the settings forbid it, and fails its requests", async () => {
		const { worker } = await startWorker(openExecutor(), { extraOutput: "refuse" });
		const kept = ask(worker, "keep");
		const end = await ask(worker, "print-garbage");
		expect(ending(end)).toBe("backend_failure");
		expect(reasonOf(end)).toBe('its worker printed a line that is not a response: "Loading..."');
		expect(ending(await kept)).toBe("backend_failure");
		expect(await worker.ended).toMatchObject({ cause: "sick", signal: "SIGKILL" });
		expect(liveProcesses(worker.runId)).toEqual([]);
	});

	test("on stderr is in its log files, and with the request that it was written during", async () => {
		const { worker, logDir } = await startWorker(openExecutor());
		await ask(worker, "say");
		const end = await eventually(async () => {
			const said = await ask(worker, "say");
			return said.log !== "" && said;
		});
		expect(end.log).toMatch(/^about q-\d+\n/);
		await worker.stop(LONG_MS);
		expect(readLog(logDir).split("\n").length).toBeGreaterThan(2);
	});

	test("of unlimited length ends the worker (A6)", async () => {
		const { worker } = await startWorker(openExecutor({ answerBytesMax: 1024 * 1024 }));
		const end = await ask(worker, "print-without-end");
		expect(ending(end)).toBe("backend_failure");
		expect(reasonOf(end)).toBe("its worker printed a response larger than 1MiB");
		expect((await worker.ended).cause).toBe("sick");
	});
});

describe("a worker that does not answer", () => {
	test("in time is killed before the request fails; the rest is displaced (T6)", async () => {
		const { worker } = await startWorker(openExecutor());
		const other = ask(worker, "keep");
		const startMs = performance.now();
		const end = await ask(worker, "keep", { timeoutMs: 300 });
		expect(performance.now() - startMs).toBeGreaterThanOrEqual(300);
		expect(ending(end)).toBe("timeout");
		expect(liveProcesses(worker.runId)).toEqual([]);
		expect(worker.isOpen).toBe(false);
		const displaced = await other;
		expect(ending(displaced)).toBe("internal");
		expect(reasonOf(displaced)).toMatch(/its worker was killed: request q-\d+ had no response/);
		expect(await worker.ended).toMatchObject({ cause: "timed_out", outOfMemory: false });
		expect(reasonOf(await ask(worker, "answer"))).toBe("its worker accepts no more requests");
	});

	test("is killed when the request is cancelled", async () => {
		const { worker } = await startWorker(openExecutor());
		const operator = new AbortController();
		const other = ask(worker, "keep");
		const end = ask(worker, "keep", { signal: operator.signal });
		operator.abort();
		expect(ending(await end)).toBe("called off");
		expect(ending(await other)).toBe("internal");
		expect((await worker.ended).cause).toBe("called_off");
	});

	test("within its only caller's own deadline is ended, which is not its fault", async () => {
		const { worker } = await startWorker(openExecutor());
		const late = await ask(worker, "keep", { timeoutMs: 50, lateMs: LONG_MS });
		expect(ending(late)).toBe("timeout");
		expect(liveProcesses(worker.runId)).toEqual([]);
		expect((await worker.ended).cause).toBe("called_off");
	});

	test("to a caller that gave up keeps serving other callers, and a late response is ignored", async () => {
		const { worker, logDir } = await startWorker(openExecutor());
		const other = ask(worker, "keep");
		const late = await ask(worker, "keep", { timeoutMs: 50, lateMs: LONG_MS });
		expect(ending(late)).toBe("timeout");
		expect([worker.isOpen, worker.pending]).toEqual([true, 2]);
		expect(ending(await ask(worker, "answer-all"))).toBe('ok "backwards"');
		expect(ending(await other)).toBe('ok "backwards"');
		await late.over;
		expect([worker.isOpen, worker.pending]).toEqual([true, 0]);
		await worker.stop(LONG_MS);
		expect(readLog(logDir)).toContain("ignored a response without a pending request");
	});

	test("and has only requests of callers that gave up is stopped when the other requests are served", async () => {
		const { worker } = await startWorker(openExecutor());
		const kept = ask(worker, "keep", { timeoutMs: 50, lateMs: LONG_MS });
		const other = ask(worker, "stop-reading");
		// The other is answered at once, so that only the first is left.
		expect(ending(await other)).toBe('ok "deaf"');
		const end = await kept;
		expect(ending(end)).toBe("timeout");
		await end.over;
		expect((await worker.ended).cause).toBe("called_off");
	});

	test("within the agent's own timeout is ended even if the caller has gone before", async () => {
		const { worker } = await startWorker(openExecutor());
		const other = ask(worker, "keep");
		const late = await ask(worker, "keep", { timeoutMs: 50, lateMs: 350 });
		expect([ending(late), worker.isOpen]).toEqual(["timeout", true]);
		await late.over;
		expect(liveProcesses(worker.runId)).toEqual([]);
		expect((await worker.ended).cause).toBe("timed_out");
		expect(ending(await other)).toBe("internal");
	});

	test("because it has exited reports how", async () => {
		const { worker } = await startWorker(openExecutor());
		const end = await ask(worker, "exit");
		expect(ending(end)).toBe("backend_failure");
		expect(reasonOf(end)).toBe("its worker exited with code 7 without a response");
		expect(await worker.ended).toMatchObject({ code: 7, signal: null, cause: "exited" });
	});

	test("because it has closed its output is sick, and ended", async () => {
		const { worker } = await startWorker(openExecutor());
		const end = await ask(worker, "close-stdout");
		expect(ending(end)).toBe("backend_failure");
		expect(reasonOf(end)).toBe("its worker closed its stdout");
		expect(await worker.ended).toMatchObject({ cause: "sick", signal: "SIGKILL" });
	});

	test("after the cancellation of an answered request is not killed", async () => {
		const { worker } = await startWorker(openExecutor());
		const operator = new AbortController();
		await ask(worker, "answer", { signal: operator.signal });
		operator.abort();
		expect(ending(await ask(worker, "answer"))).toBe('ok "at once"');
	});
});

describe("a worker that does not read", () => {
	const payload = "x".repeat(64 * 1024);

	test("makes requests wait, in bounded memory, until it reads again (A6)", async () => {
		const { worker, folder } = await startWorker(openExecutor({ unreadBytesMax: 128 * 1024 }));
		await ask(worker, "stop-reading");
		const ends = Array.from({ length: 50 }, () => ask(worker, "answer", { payload }));
		expect(worker.pending).toBe(50);
		writeFileSync(join(folder, "go-on"), "");
		expect(new Set((await Promise.all(ends)).map(ending))).toEqual(new Set(['ok "at once"']));
	});

	test("only delays a request that it never received", async () => {
		const { worker, folder } = await startWorker(openExecutor({ unreadBytesMax: 128 * 1024 }));
		await ask(worker, "stop-reading");
		const first = Array.from({ length: 50 }, () => ask(worker, "answer", { payload }));
		const late = await ask(worker, "answer", { timeoutMs: 50 });
		expect(ending(late)).toBe("timeout");
		const operator = new AbortController();
		const calledOff = ask(worker, "answer", { signal: operator.signal });
		operator.abort();
		expect(ending(await calledOff)).toBe("called off");
		expect(worker.isOpen).toBe(true);
		writeFileSync(join(folder, "go-on"), "");
		expect(new Set((await Promise.all(first)).map(ending))).toEqual(new Set(['ok "at once"']));
	});

	test("is not blamed for requests that it never received", async () => {
		const { worker } = await startWorker(openExecutor({ unreadBytesMax: 128 * 1024 }));
		await ask(worker, "stop-reading");
		const ends = Array.from({ length: 50 }, () => ask(worker, "answer", { payload }));
		await worker.stop(0);
		const reasons = (await Promise.all(ends)).map(reasonOf);
		expect(new Set(reasons)).toEqual(
			new Set([
				"its worker was stopped before it responded",
				"its worker exited before it received the request",
			]),
		);
	});
});

describe("stopping", () => {
	test("lets it answer its open requests, and is graceful", async () => {
		const { worker } = await startWorker(openExecutor());
		const ends = Array.from({ length: 20 }, () => ask(worker, "answer"));
		expect(await worker.stop(LONG_MS)).toEqual(GRACEFUL);
		expect(new Set((await Promise.all(ends)).map(ending))).toEqual(new Set(['ok "at once"']));
		expect(await worker.ended).toMatchObject({ code: 0, cause: "stopped" });
		expect(reasonOf(await ask(worker, "answer"))).toBe("its worker accepts no more requests");
	});

	test("sends SIGTERM before the time is up, so that it need not be killed (S12)", async () => {
		const { worker } = await startWorker(openExecutor());
		const kept = ask(worker, "keep");
		expect(await worker.stop(10_000)).toEqual(GRACEFUL);
		expect(reasonOf(await kept)).toBe("its worker was stopped before it responded");
		expect(await worker.ended).toMatchObject({ cause: "stopped", signal: "SIGTERM" });
	});

	test("kills it when its time is up, and reports what was killed (S19)", async () => {
		const { worker } = await startWorker(openExecutor());
		await ask(worker, "ignore-sigterm");
		const kept = ask(worker, "keep");
		const { pid } = worker.process;
		expect(await worker.stop(100)).toMatchObject({
			...{ outcome: "timed_out_killed", reason: null },
			killed: [{ pid, name: expect.any(String) }],
		});
		expect(reasonOf(await kept)).toBe("its worker was stopped before it responded");
		expect(await worker.ended).toMatchObject({ cause: "stopped", signal: "SIGKILL" });
		expect(liveProcesses(worker.runId)).toEqual([]);
	});

	test("of an exited one completes immediately", async () => {
		const { worker } = await startWorker(openExecutor());
		await ask(worker, "exit");
		await worker.ended;
		expect(await worker.stop(LONG_MS)).toEqual(GRACEFUL);
	});

	test("happens when the executor closes", async () => {
		const executor = openExecutor();
		const { worker } = await startWorker(executor);
		const kept = ask(worker, "keep");
		await executor.close();
		expect(ending(await kept)).toBe("internal");
		expect(liveProcesses(worker.runId)).toEqual([]);
		const start = {
			runId: newRunId(),
			program: program("follows-instructions.pl"),
			logDir: tempFolder(),
		};
		expect(await executor.startWorker(start)).toMatchObject({ ok: false });
	});
});

test("a worker that cannot be started is reported with a hint", async () => {
	const started = await openExecutor().startWorker({
		...{ runId: newRunId(), program: program("/no/such/worker"), logDir: tempFolder() },
	});
	expect(started).toEqual({
		...{ ok: false },
		failure: { permanent: true, detail: "the program /no/such/worker does not exist" },
	});
});

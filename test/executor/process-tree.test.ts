import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { readProcessTable } from "../../src/host/process-table.js";
import type { AttemptEnd } from "../../src/ports/executor.js";
import { eventually } from "../../src/testing/conformance/backend-world.js";
import {
	attempt,
	ending,
	liveProcesses,
	NEVER,
	NO_LIMITS,
	newRunId,
	openExecutor,
	program,
	request,
	startWorker,
	tempFolder,
	writtenBytes,
} from "./world.js";

const bothWrite = (folder: string) => writtenBytes(folder).every((bytes) => bytes > 0);

/** Six times as long as the writers wait between two writes. */
async function expectSilence(folder: string, runId: string): Promise<void> {
	const atEnd = writtenBytes(folder);
	expect(liveProcesses(runId)).toEqual([]);
	await sleep(300);
	expect(writtenBytes(folder)).toEqual(atEnd);
}

describe("no process of an attempt is alive after its end (T6, S11)", () => {
	test("at its timeout, and not before", async () => {
		// A slow machine may need more time than this to get to the point of the test.
		for (let timeoutMs = 1_000; ; timeoutMs *= 4) {
			const folder = tempFolder();
			const of = attempt(program("leaves-writers.pl", ["hangs", folder]), { timeoutMs });
			const startMs = performance.now();
			const end = await openExecutor().call(of, NEVER);
			expect(performance.now() - startMs).toBeGreaterThanOrEqual(timeoutMs);
			expect(ending(end)).toBe("timeout");
			await expectSilence(folder, of.runId);
			if (bothWrite(folder)) return;
		}
	}, 120_000);

	test("when it is cancelled", async () => {
		const folder = tempFolder();
		const of = attempt(program("leaves-writers.pl", ["hangs", folder]));
		const operator = new AbortController();
		const call = openExecutor().call(of, operator.signal);
		await eventually(() => bothWrite(folder));
		operator.abort();
		expect(ending(await call)).toBe("called off");
		await expectSilence(folder, of.runId);
	});

	test.each([
		["answers", "ok undefined"],
		["exits", "backend_failure"],
	])("when it %s and leaves processes behind", async (what, expected) => {
		const folder = tempFolder();
		const of = attempt(program("leaves-writers.pl", [what, folder]));
		const end = await openExecutor().call(of, NEVER);
		expect(ending(end)).toBe(expected);
		expect(bothWrite(folder)).toBe(true);
		await expectSilence(folder, of.runId);
	});

	// Elsewhere than on Linux it would take a listing of all processes after every call.
	const testOnLinux = test.runIf(process.platform === "linux");
	testOnLinux("when it answers and leaves only one that has cut every tie to it", async () => {
		const folder = tempFolder();
		const of = attempt(program("leaves-writers.pl", ["answers", folder, "hidden"]));
		expect(ending(await openExecutor().call(of, NEVER))).toBe("ok undefined");
		expect(writtenBytes(folder)).toEqual([0, expect.any(Number)]);
		await expectSilence(folder, of.runId);
	});

	test("when the executor is closed", async () => {
		const folder = tempFolder();
		const of = attempt(program("leaves-writers.pl", ["hangs", folder]));
		const executor = openExecutor();
		const call = executor.call(of, NEVER);
		await eventually(() => bothWrite(folder));
		await executor.close();
		expect(ending(await call)).toBe("called off");
		await expectSilence(folder, of.runId);
		expect(ending(await executor.call(of, NEVER))).toBe("called off");
	});

	test.each(["deadline", "abort"])(
		"when it is one of a worker's, by %s",
		async (how) => {
			for (let timeoutMs = 1_000; ; timeoutMs *= 4) {
				const { worker, folder } = await startWorker(openExecutor());
				const operator = new AbortController();
				const kept = worker.ask(request({ request_id: "other", action: "keep" }), 60_000, NEVER);
				const call = worker.ask(
					request({ action: "leave-writers" }),
					how === "deadline" ? timeoutMs : 60_000,
					operator.signal,
				);
				if (how === "abort") {
					await eventually(() => bothWrite(folder));
					operator.abort();
				}
				expect(ending(await call)).toBe(how === "deadline" ? "timeout" : "called off");
				await expectSilence(folder, worker.runId);
				expect(ending(await kept)).toBe("internal");
				expect((await worker.ended).cause).toBe(how === "deadline" ? "timed_out" : "called_off");
				if (bothWrite(folder)) return;
			}
		},
		120_000,
	);
});

describe("an answer that is complete counts", () => {
	test("when its process hangs afterwards, and is ended", async () => {
		for (let timeoutMs = 500; ; timeoutMs *= 4) {
			const of = attempt(program("answers-then-hangs.sh"), { timeoutMs });
			const end = await openExecutor().call(of, NEVER);
			expect(liveProcesses(of.runId)).toEqual([]);
			if (ending(end) === "timeout" && timeoutMs < 60_000) continue;
			expect(ending(end)).toBe('ok "done"');
			return;
		}
	}, 120_000);

	test("when its process has closed its output and hangs", async () => {
		for (let timeoutMs = 500; ; timeoutMs *= 4) {
			const of = attempt(program("answers-then-hangs.sh", ["closes"]), { timeoutMs });
			const end = await openExecutor().call(of, NEVER);
			if (ending(end) === "timeout" && timeoutMs < 60_000) continue;
			expect(ending(end)).toBe('ok "done"');
			return;
		}
	}, 120_000);
});

test("an attempt that is cancelled before it starts creates no process", async () => {
	const folder = tempFolder();
	const of = attempt(program("leaves-writers.pl", ["hangs", folder]));
	expect(ending(await openExecutor().call(of, AbortSignal.abort()))).toBe("called off");
	expect(writtenBytes(folder)).toEqual([0, 0]);
});

describe("processes that a dead daemon left behind", () => {
	test("are found by their marks and killed, and no others", async () => {
		const executor = openExecutor();
		const folders = [tempFolder(), tempFolder(), tempFolder()];
		const operator = new AbortController();
		const calls = folders.map((folder) => {
			const of = attempt(program("leaves-writers.pl", ["hangs", folder]));
			return { of, folder, end: executor.call(of, operator.signal) };
		});
		await eventually(() => folders.every(bothWrite));
		const [first, second, other] = calls;
		const left = [first, second].map((call) => call?.of.runId ?? "");
		// Another executor, as of the next daemon.
		const next = openExecutor();
		expect(await next.endLeft([...left, newRunId()])).toEqual([]);
		for (const call of [first, second]) {
			await expectSilence(call?.folder ?? "", call?.of.runId ?? "");
			expect(ending((await call?.end) as AttemptEnd)).toBe("backend_failure");
		}
		expect(liveProcesses(other?.of.runId ?? "").length).toBeGreaterThan(2);
		operator.abort();
		await other?.end;
	});

	test("includes nothing when there are no runs", async () => {
		expect(await openExecutor().endLeft([])).toEqual([]);
	});
});

/** Of this process, on Linux. */
const openFiles = () => (process.platform === "linux" ? readdirSync("/proc/self/fd").length : 0);
const children = () => readProcessTable().entries.filter(({ ppid }) => ppid === process.pid);

test("200 calls of all kinds leave no process, no zombie and no open file", async () => {
	const executor = openExecutor();
	const programs = [
		program("answers.sh"),
		program("says-nothing.sh", ["1"]),
		program("/no/such/program"),
		program("prints-garbage.sh"),
	];
	const runIds: string[] = [];
	const callMany = async (count: number) => {
		for (let done = 0; done < count; done += 8) {
			const batch = Array.from({ length: 8 }, (_, at) => {
				const of = attempt(programs[at % programs.length] ?? program("answers.sh"));
				runIds.push(of.runId);
				return executor.call(of, NEVER);
			});
			await Promise.all(batch);
		}
	};
	await callMany(8);
	const [filesBefore, childrenBefore] = [openFiles(), children().length];
	await callMany(200);
	expect(children().length).toBe(childrenBefore);
	const table = readProcessTable();
	const marked = table.entries.filter(({ pid }) => runIds.includes(table.runIdOf(pid) ?? ""));
	expect(marked).toEqual([]);
	// Pipes are closed a turn of the event loop after the attempt.
	await eventually(() => openFiles() <= filesBefore);
});

describe("a host without free file descriptors", () => {
	const path = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
	async function runWithFewFiles(script: string, agent: string) {
		const args = [
			path(`test/fixtures/executor/${script}`),
			path("build/executor/executor.js"),
			path(`test/fixtures/call-agents/${agent}`),
		];
		const limited = 'ulimit -n 64 && exec "$0" "$@"';
		const { stdout } = await promisify(execFile)("sh", ["-c", limited, process.execPath, ...args]);
		return JSON.parse(stdout);
	}

	test("is not the agent's fault, and is temporary", async () => {
		const [without, again] = await runWithFewFiles("calls-without-files.mjs", "answers.sh");
		expect(without).toMatchObject({ ok: false, error: "host_exhausted" });
		expect(without.reason).toContain("too many open files");
		expect(again).toEqual({ ok: true });
	});

	test("still kills the processes of the run", { timeout: 60_000 }, async () => {
		const { runId, outcome } = await runWithFewFiles("ends-without-files.mjs", "never-reads.sh");
		expect(outcome).toMatchObject({ ok: false, error: "timeout" });
		expect(liveProcesses(runId)).toEqual([]);
	});
});

describe("an agent with limits", () => {
	const limits = { ...NO_LIMITS, pids: 20 };

	test("may not start more processes than it is allowed, and all are ended", async () => {
		const troubles: string[] = [];
		const executor = openExecutor({ onTrouble: (message) => troubles.push(message) });
		// Few enough to be harmless where the host gives no control groups.
		const of = attempt(program("forks-many.pl", ["60"], { limits }), { timeoutMs: 1_500 });
		const end = await executor.call(of, NEVER);
		expect(ending(end)).toBe("timeout");
		expect(liveProcesses(of.runId)).toEqual([]);
		const started = Number(/^started (\d+)$/m.exec(end.log)?.[1] ?? 0);
		if (troubles.length === 0) expect(started).toBeLessThan(20);
	});

	test("that cannot be started reports it like any other", async () => {
		const of = attempt(
			program("/no/such/program", [], { limits: { ...limits, memoryBytes: 1e9 } }),
		);
		expect(ending(await openExecutor().call(of, NEVER))).toBe("spawn_error");
	});
});

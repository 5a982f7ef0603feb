/**
 * What a call costs. Raw: `child_process.spawn` of the same program with the same request, its answer
 * collected and parsed, and nothing else: no deadline, no bounds, no look for what it left behind. Beside
 * it `executor.call`, and a worker agent. Taken in turns, so that a busy machine is as hard on all.
 *
 *   npm run bench:calls -- [--rounds 30] [--calls 40] [--program path]
 */

import { spawn } from "node:child_process";
import { setMaxListeners } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

const { values } = parseArgs({
	options: {
		rounds: { type: "string", default: "30" },
		calls: { type: "string", default: "40" },
		program: { type: "string", default: "test/fixtures/call-agents/answers.sh" },
	},
});
const rounds = Number(values.rounds);
const calls = Number(values.calls);
// By a name that is not checked: what is measured is the build, which may not be there yet.
const built = new URL("../dist/executor/executor.js", import.meta.url).href;
/** @type {typeof import("../src/executor/executor.js")} */
const { createExecutor } = await import(built);

const ENV = { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "/" };
const { signal } = new AbortController();
// Many calls listen to it at once.
setMaxListeners(0, signal);
let count = 0;

/** @returns {import("../src/core/outcome.js").ActionRequest} */
function newRequest() {
	const id = String(++count);
	return {
		...{ request_id: id, api_version: "1", tool: "bench", action: "answer", context: {} },
		...{ payload: { text: "x".repeat(200) }, plan_id: id, task_id: id, correlation_id: id },
	};
}

/** @param {string} file */
const programOf = (file) => ({
	...{
		agentId: "bench:agent",
		argv: /** @type {[string]} */ ([resolve(file)]),
		cwd: process.cwd(),
	},
	...{ env: ENV, limits: { memoryBytes: null, cpuPercent: null, pids: null } },
	extraOutput: /** @type {const} */ ("tolerate"),
});

/**
 * @param {boolean} detached in a session of its own, as every agent is: a busy Linux schedules each
 *   session as a group of its own, so that alone can make a difference
 * @returns {() => Promise<void>}
 */
const callRaw = (detached) => () => {
	const request = newRequest();
	return new Promise((done, fail) => {
		const child = spawn(resolve(values.program), [], { env: ENV, stdio: "pipe", detached });
		/** @type {Buffer[]} */
		const chunks = [];
		child.stdout.on("data", (chunk) => chunks.push(chunk));
		child.stderr.resume();
		child.stdin.end(`${JSON.stringify(request)}\n`);
		child.once("error", fail);
		child.once("close", () => {
			const answer = JSON.parse(Buffer.concat(chunks).toString("utf8"));
			if (answer.request_id === request.request_id) done();
			else fail(new Error("not the answer"));
		});
	});
};

/** @param {import("../src/ports/executor.js").AttemptEnd} end */
function expectOk({ outcome }) {
	if (outcome?.ok !== true) throw new Error(`the call failed: ${JSON.stringify(outcome)}`);
}

/** @param {import("../src/ports/executor.js").Executor} executor */
const callThrough = (executor) => async () => {
	const runId = `bench-${process.pid}-${count}`;
	const request = newRequest();
	const program = programOf(values.program);
	expectOk(
		await executor.call({ runId, program, adapter: null, request, timeoutMs: 30_000 }, signal),
	);
};

/** @param {import("../src/ports/executor.js").Worker} worker */
const askWorker = (worker) => async () => expectOk(await worker.ask(newRequest(), 30_000, signal));

/**
 * Milliseconds per call.
 *
 * @param {() => Promise<void>} one
 * @param {number} concurrency
 * @param {number} total
 */
async function measure(one, concurrency, total) {
	let left = total;
	const startedMs = performance.now();
	const work = async () => {
		while (left-- > 0) await one();
	};
	await Promise.all(Array.from({ length: concurrency }, work));
	return (performance.now() - startedMs) / total;
}

/**
 * The lower quartile: whatever else the machine does only ever adds.
 *
 * @param {number[]} numbers
 */
const typical = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 2] ?? 0;

/**
 * @param {string} what
 * @param {number} concurrency
 * @param {number[]} times
 * @param {number | null} ratio
 */
function printRow(what, concurrency, times, ratio) {
	const ms = typical(times);
	const cells = [
		what.padEnd(18),
		String(concurrency).padStart(11),
		ms.toFixed(3).padStart(12),
		Math.round(1_000 / ms)
			.toString()
			.padStart(10),
		(ratio === null ? "" : `${ratio.toFixed(2)}×`).padStart(8),
	];
	console.log(`  ${cells.join("")}`);
}

/**
 * In turns, so that all meet the same machine.
 *
 * @param {import("../src/ports/executor.js").Executor} executor
 * @param {number} concurrency
 */
async function compare(executor, concurrency) {
	/** @type {number[]} */
	const raw = [];
	/** @type {number[]} */
	const detached = [];
	/** @type {number[]} */
	const ours = [];
	for (let round = 0; round < rounds; round++) {
		raw.push(await measure(callRaw(false), concurrency, calls));
		detached.push(await measure(callRaw(true), concurrency, calls));
		ours.push(await measure(callThrough(executor), concurrency, calls));
	}
	printRow("raw spawn", concurrency, raw, 1);
	printRow("raw, own session", concurrency, detached, typical(detached) / typical(raw));
	printRow("executor.call", concurrency, ours, typical(ours) / typical(raw));
}

/**
 * @param {import("../src/ports/executor.js").Executor} executor
 * @param {string} logDir
 */
async function measureWorker(executor, logDir) {
	const program = programOf("test/fixtures/call-agents/does-as-told.pl");
	const started = await executor.startWorker({ runId: `bench-${process.pid}-w`, program, logDir });
	if (!started.ok) throw new Error(started.failure.detail);
	for (const concurrency of [1, 8, 64]) {
		/** @type {number[]} */
		const times = [];
		for (let round = 0; round < rounds; round++) {
			times.push(await measure(askWorker(started.worker), concurrency, calls * 10));
		}
		printRow("worker.ask", concurrency, times, null);
	}
	await started.worker.stop(1_000);
}

const folder = mkdtempSync(join(tmpdir(), "reeve-bench-"));
const executor = createExecutor({ owner: `bench-${process.pid}` });
console.log(`calls of ${values.program}: lower quartile of ${rounds} rounds of ${calls}`);
console.log(`  ${"".padEnd(18)}concurrency     ms/call   calls/s    ratio`);
try {
	await measure(callRaw(false), 4, 20);
	await measure(callThrough(executor), 4, 20);
	for (const concurrency of [1, 8]) await compare(executor, concurrency);
	await measureWorker(executor, join(folder, "log"));
} finally {
	await executor.close();
	rmSync(folder, { recursive: true, force: true });
}

/**
 * Durable tasks: how many a second go through a worker agent from acceptance to their recorded end, each
 * acknowledged only when it is on the disk; and what a durable call costs beside a bare
 * `child_process.spawn` of the same program, taken in turns. Engine, dispatcher, store and executor are
 * those of the daemon; only HTTP is left out.
 *
 *   npm run bench:tasks -- [--tasks 20000] [--callers 200] [--rounds 15] [--calls 40]
 */

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

const { values } = parseArgs({
	options: {
		tasks: { type: "string", default: "20000" },
		callers: { type: "string", default: "200" },
		rounds: { type: "string", default: "15" },
		calls: { type: "string", default: "40" },
	},
});
const [tasks, callers, rounds, calls] = [
	values.tasks,
	values.callers,
	values.rounds,
	values.calls,
].map(Number);

/** By a name that is not checked: what is measured is the build, which may not be there yet. */
const built = (/** @type {string} */ path) =>
	import(new URL(`../dist/${path}`, import.meta.url).href);
/** @type {typeof import("../src/engine/engine.js")} */
const { Engine } = await built("engine/engine.js");
/** @type {typeof import("../src/engine/calls/calls.js")} */
const { Calls } = await built("engine/calls/calls.js");
/** @type {typeof import("../src/executor/executor.js")} */
const { createExecutor } = await built("executor/executor.js");
/** @type {typeof import("../src/store/sqlite/open-store.js")} */
const { openStore } = await built("store/sqlite/open-store.js");
/** @type {typeof import("../src/config/parse-fleet.js")} */
const { parseFleet } = await built("config/parse-fleet.js");
/** @type {typeof import("../src/services/real-clock.js")} */
const { realClock } = await built("services/real-clock.js");
/** @type {typeof import("../src/host/ordered-id.js")} */
const { createIds } = await built("host/ordered-id.js");
const newId = createIds();

const folder = mkdtempSync(join(tmpdir(), "reeve-bench-"));
const shell = resolve("test/fixtures/call-agents/answers.sh");
const ENV = { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "/" };
const FLEET = `version: 1
projects:
  b:
    agents:
      worker: { kind: worker, command: ["${process.execPath}", "${resolve("bench/echo-worker.mjs")}"], concurrency: 1000, workers: { min: 1, max: 1 } }
      shell: { kind: call, command: ["${shell}"], concurrency: 1000 }
      node: { kind: call, command: ["${process.execPath}", "${resolve("bench/echo-worker.mjs")}"], concurrency: 1000 }
`;

const opened = await openStore(join(folder, "reeve.db"));
if (!opened.ok) throw new Error(opened.reason);
const { store } = opened;
const executor = createExecutor({ owner: `bench-${process.pid}` });
/** @type {() => never} */
const noBackend = () => {
	throw new Error("sessions are not measured here");
};
const engine = new Engine({
	...{ store, clock: realClock, executor, adapterFor: () => null, random: Math.random },
	...{ chooseBackend: noBackend, backendNamed: noBackend, newRunId: newId },
	minuteOfDay: () => 0,
	vault: { read: async () => ({}), write: async () => {} },
	prepare: async (spec) => {
		const [program = "", ...args] = spec.command ?? [];
		return {
			ok: true,
			request: {
				...{ agentId: spec.id, argv: [program, ...args], cwd: folder, env: ENV, terminal: false },
				...{ size: { columns: 80, rows: 24 }, logDir: folder, limits: spec.limits },
			},
		};
	},
	// Nothing here is a session.
	sessions: /** @type {import("../src/engine/life-world.js").SessionWorld} */ ({}),
	dayOf: () => ({ day: "2031-04-05", endsAtMs: Number.MAX_SAFE_INTEGER }),
	watchReady: (_, onReady) => realClock.schedule(0, onReady),
	onError: (agent, error) => console.error(agent, error),
});
const dispatcher = new Calls({
	...{ store, clock: realClock, random: Math.random, newId },
	specOf: (id) => engine.specOf(id),
	overBudget: (id) => engine.overBudget(id),
	mayCall: (id, underWay) => engine.mayCall(id, underWay),
	perform: (order, signal) => engine.perform(order, signal),
	endLeft: async () => [],
	concurrency: 64,
	log: () => {},
	onError: (about, error) => console.error(about, error),
});
await engine.recover();
await dispatcher.recover();
const parsed = parseFleet(FLEET, "reeve.yaml", { env: {}, homeDir: "/", baseDir: folder });
if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
await engine.up(parsed.fleet, "*");

/** @param {string} agent */
async function durable(agent) {
	const task = await dispatcher.submit({
		agent,
		action: "go",
		payload: { text: "x".repeat(200) },
	});
	const { task: ended } = await dispatcher.waitForTask(task.taskId, 60_000);
	if (ended.status !== "succeeded") throw new Error(`${agent}: ${ended.reason}`);
}

/**
 * @param {string} program
 * @param {string[]} args
 */
function raw(program, args) {
	return new Promise((resolve, reject) => {
		const child = spawn(program, args, {
			cwd: folder,
			env: ENV,
			stdio: ["pipe", "pipe", "inherit"],
		});
		let answer = "";
		child.stdout.setEncoding("utf8").on("data", (part) => {
			answer += part;
		});
		child.on("error", reject);
		child.on("close", () => resolve(JSON.parse(answer)));
		child.stdin.end(`${JSON.stringify({ request_id: "1", payload: "x".repeat(200) })}\n`);
	});
}

/**
 * How long it takes to do this many, so many at a time.
 *
 * @param {number} count
 * @param {number} width
 * @param {() => Promise<unknown>} once
 */
async function timeMs(count, width, once) {
	let left = count;
	const startedMs = performance.now();
	const lane = async () => {
		while (left-- > 0) await once();
	};
	await Promise.all(Array.from({ length: width }, lane));
	return performance.now() - startedMs;
}

const median = (/** @type {number[]} */ times) =>
	times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;

console.log(
	`node ${process.version}, ${tasks} durable tasks through one worker, ${callers} callers`,
);
await timeMs(2_000, callers ?? 1, () => durable("b:worker"));
const tookMs = await timeMs(tasks ?? 1, callers ?? 1, () => durable("b:worker"));
console.log(`${Math.round(((tasks ?? 1) / tookMs) * 1_000)} tasks/s`);

for (const [name, agent, program, args] of /** @type {const} */ ([
	["/bin/sh", "b:shell", shell, []],
	["node", "b:node", process.execPath, [resolve("bench/echo-worker.mjs")]],
])) {
	for (const width of [1, 8]) {
		/** @type {{ raw: number[], durable: number[] }} */
		const times = { raw: [], durable: [] };
		const count = name === "node" ? Math.ceil((calls ?? 1) / 4) : (calls ?? 1);
		for (let round = 0; round < (rounds ?? 1); round++) {
			times.raw.push((await timeMs(count, width, () => raw(program, [...args]))) / count);
			times.durable.push((await timeMs(count, width, () => durable(agent))) / count);
		}
		const [bare, ours] = [median(times.raw), median(times.durable)];
		const ratio = (ours / bare).toFixed(2);
		console.log(
			`${name}, ${width} at a time: spawn ${bare.toFixed(2)} ms, durable call ${ours.toFixed(2)} ms, ${ratio}x`,
		);
	}
}
await dispatcher.close(0);
await engine.down("*");
await executor.close();
await store.close();
rmSync(folder, { recursive: true, force: true });
process.exit();

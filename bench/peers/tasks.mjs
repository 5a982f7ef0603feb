/** Durable tasks: many callers that wait for each result, and single calls of a script beside a bare spawn. */

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { daemonPid, reeve } from "./keepers.mjs";
import { median, pssMb, timeMs, until, World } from "./world.mjs";

const PAYLOAD = { text: "x".repeat(200) };
const WARM_UP = 2_000;
/** A result that takes longer is lost. */
const RESULT_MS_MAX = 60_000;
const SHELL = resolve("test/fixtures/call-agents/answers.sh");

/**
 * How many a second.
 *
 * @param {number} count
 * @param {number} callers
 * @param {() => Promise<unknown>} once
 */
async function rateOf(count, callers, once) {
	let left = count;
	const lane = async () => {
		while (left-- > 0) await once();
	};
	const ms = await timeMs(() => Promise.all(Array.from({ length: callers }, lane)));
	return (count / ms) * 1_000;
}

/** @param {World} world */
function startReeve(world) {
	const worker = JSON.stringify([process.execPath, resolve("bench/echo-worker.mjs")]);
	writeFileSync(
		world.file("reeve.yaml"),
		`version: 1
projects:
  b:
    agents:
      worker: { kind: worker, command: ${worker}, concurrency: 1000, workers: { min: 1, max: 1 } }
      shell: { kind: call, command: ["${SHELL}"] }
`,
	);
	reeve(world, "up", "--all");
}

/**
 * A caller of the API on connections that are kept.
 *
 * @param {World} world
 * @param {number} callers
 */
function createCaller(world, callers) {
	const agent = new Agent({ keepAlive: true, maxSockets: callers });
	const socketPath = join(world.file("home"), "reeve.sock");
	/** @param {string} name @returns {Promise<void>} */
	const call = (name) =>
		new Promise((done, fail) => {
			const body = JSON.stringify({ agent: name, action: "go", payload: PAYLOAD });
			const headers = { "content-type": "application/json", "content-length": body.length };
			const options = {
				socketPath,
				path: "/api/v1/tasks?wait=60s",
				method: "POST",
				agent,
				headers,
			};
			const sent = request(options, (response) => {
				let text = "";
				response.setEncoding("utf8").on("data", (part) => {
					text += part;
				});
				response.on("end", () =>
					JSON.parse(text).status === "succeeded" ? done() : fail(new Error(text)),
				);
			});
			sent.on("error", fail);
			sent.end(body);
		});
	return { call, close: () => agent.destroy() };
}

/**
 * @param {number} count
 * @param {number} callers
 * @param {number} settleMs
 */
export async function measureReeveTasks(count, callers, settleMs) {
	const world = new World("tasks");
	startReeve(world);
	const caller = createCaller(world, callers);
	try {
		await rateOf(WARM_UP, callers, () => caller.call("b:worker"));
		const rate = await rateOf(count, callers, () => caller.call("b:worker"));
		const busyMb = pssMb([daemonPid(world)]);
		await sleep(settleMs);
		return { rate, busyMb, memory: pssMb([daemonPid(world)]) };
	} finally {
		caller.close();
		await world.close();
	}
}

/**
 * With an append-only file that is synchronised on each write.
 *
 * @param {import("./install.mjs").Peers} peers
 * @param {number} count
 * @param {number} callers
 */
export async function measureBullmqTasks(peers, count, callers) {
	const world = new World("bullmq");
	Object.assign(world.env, peers.env);
	const socket = world.file("r.sock");
	const redis = world.start(peers.redis, [
		...["--port", "0", "--unixsocket", socket, "--dir", world.folder, "--save", ""],
		...["--appendonly", "yes", "--appendfsync", "always"],
	]);
	redis.stdout?.resume();
	const { Queue, QueueEvents } = createRequire(join(peers.folder, "package.json"))("bullmq");
	const connection = { path: socket, maxRetriesPerRequest: null };
	try {
		const ping = [
			"-e",
			`require("node:net").connect(${JSON.stringify(socket)}).on("connect",()=>process.exit())`,
		];
		await until(() => isDone(() => world.run(process.execPath, ping)), "redis", 50);
		const worker = world.start(process.execPath, [
			...[resolve("bench/peers/bullmq-worker.mjs"), peers.folder, socket, String(callers)],
		]);
		worker.stdout?.resume();
		const queue = new Queue("bench", { connection });
		const events = new QueueEvents("bench", { connection });
		await events.waitUntilReady();
		const once = async () =>
			(await queue.add("go", PAYLOAD)).waitUntilFinished(events, RESULT_MS_MAX);
		await rateOf(WARM_UP, callers, once);
		const rate = await rateOf(count, callers, once);
		await Promise.all([queue.close(), events.close()]);
		return { rate };
	} finally {
		await world.close();
	}
}

/** @param {() => unknown} act */
function isDone(act) {
	try {
		act();
		return true;
	} catch {
		return false;
	}
}

/** @param {World} world */
function bareSpawn(world) {
	return new Promise((done, fail) => {
		const child = spawn(SHELL, { cwd: world.folder, env: world.env });
		let answer = "";
		child.stdout.setEncoding("utf8").on("data", (part) => {
			answer += part;
		});
		child.on("error", fail);
		child.on("close", () => done(JSON.parse(answer)));
		child.stdin.end(`${JSON.stringify({ request_id: "1", payload: PAYLOAD })}\n`);
	});
}

/** Medians of single calls, in turns. @param {number} calls */
export async function measureCalls(calls) {
	const world = new World("calls");
	startReeve(world);
	const caller = createCaller(world, 1);
	/** @type {{ bare: number[], durable: number[] }} */
	const times = { bare: [], durable: [] };
	try {
		for (let n = 0; n < calls + 10; n++) {
			const bare = await timeMs(() => bareSpawn(world));
			const durable = await timeMs(() => caller.call("b:shell"));
			if (n < 10) continue;
			times.bare.push(bare);
			times.durable.push(durable);
		}
		return { bare: median(times.bare), durable: median(times.durable) };
	} finally {
		caller.close();
		await world.close();
	}
}

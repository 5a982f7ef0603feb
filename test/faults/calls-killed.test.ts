/**
 * Tasks with random failures while the daemon is killed with -9 repeatedly. Each task ends in exactly
 * one way, none is lost and none is tried more often than allowed. The oracle is the agents' own ledger.
 *
 * REEVE_FAULT_TASKS makes it long (2000); REEVE_FAULT_SEED gives other moments.
 */

import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { type Client, createClient } from "../../src/client/client.js";
import { isEnded } from "../../src/core/task.js";
import type { TaskJson } from "../../src/http/contract/tasks.js";
import { createRandom } from "../../src/testing/random.js";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

const TASKS = Number(process.env["REEVE_FAULT_TASKS"] ?? 120);
const SEED = Number(process.env["REEVE_FAULT_SEED"] ?? 1);
const PROGRAM = resolve("test/fixtures/call-agents/notes-in-ledger.pl");

let home: FleetHome;
afterEach(() => home.close(), 120_000);

function writeFleet(): void {
	const command = JSON.stringify([PROGRAM, `${home.folder}/ledger`]);
	const common = `command: ${command}, concurrency: 8, retry: { initial_backoff: 20ms, max_backoff: 100ms }, circuit_breaker: { failure_threshold: 1000 }`;
	const policy =
		"crash_policy: { transient_delay: 10ms, flapping_delay: 50ms, halt_threshold: 1000, budget: { exits: 1000, within: 1h } }";
	home.writeFleet(
		[
			`call: { kind: call, ${common} }`,
			`once: { kind: call, idempotent: false, ${common} }`,
			`pool: { kind: worker, workers: { min: 1, max: 3 }, ${policy}, ${common} }`,
		].join("\n"),
	);
}

test(`${TASKS} tasks each have one end, however often the daemon is killed (T1, T2, T3)`, {
	timeout: 3_600_000,
}, async () => {
	const random = createRandom(SEED);
	home = createFleetHome();
	writeFleet();
	await home.must("up");
	const client = createClient({ socketPath: `${home.folder}/home/reeve.sock` });
	const keys = Array.from({ length: TASKS }, (_, n) => `key-${n}`);
	let submitted = 0;

	/** Like a careful client: repeats the request with the same key until it is acknowledged. */
	async function submit(key: string, n: number): Promise<string> {
		const body = { agent: `p:${["call", "once", "pool"][n % 3]}`, action: "go", payload: { n } };
		for (;;) {
			try {
				const task = await client.call("POST /api/v1/tasks", { body, idempotencyKey: key });
				submitted += 1;
				return task.task_id;
			} catch {
				await sleep(50);
			}
		}
	}
	const ids = inLanes(keys, submit);
	let over = false;
	const killing = (async () => {
		let kills = 0;
		while (!over || kills < 3) {
			await sleep(random.int(200, 900));
			await home.killDaemon().catch(() => {});
			await home.must("daemon", "start");
			kills += 1;
		}
		return kills;
	})();

	const taskIds = await ids;
	expect(submitted).toBe(TASKS);
	expect(new Set(taskIds).size).toBe(TASKS);
	over = true;
	const kills = await killing;
	let tasks: readonly TaskJson[] = [];
	await eventually(
		async () => {
			tasks = await readAll(client);
			return tasks.length === TASKS && tasks.every(({ status }) => isEnded(status));
		},
		"every task has ended",
		600_000,
	);
	expect(tasks.map(({ task_id: id }) => id).toSorted()).toEqual(taskIds.toSorted());
	expect(kills).toBeGreaterThanOrEqual(3);
	judge(tasks, home.ledger());
});

/** As many clients as a busy host has, each with one request after another. */
async function inLanes(
	keys: readonly string[],
	submit: (key: string, n: number) => Promise<string>,
): Promise<readonly string[]> {
	const ids: string[] = [];
	const left = [...keys.entries()];
	const lane = async () => {
		for (let next = left.shift(); next !== undefined; next = left.shift()) {
			ids.push(await submit(next[1], next[0]));
		}
	};
	await Promise.all(Array.from({ length: 20 }, lane));
	return ids;
}

/** Every task, page by page. */
async function readAll(client: Client): Promise<readonly TaskJson[]> {
	const all: TaskJson[] = [];
	let before: string | null = null;
	do {
		const query: { limit: number; before?: string } = { limit: 500, ...(before && { before }) };
		const page: { tasks: readonly TaskJson[]; next: string | null } = await client.call(
			"GET /api/v1/tasks",
			{ query },
		);
		all.push(...page.tasks);
		before = page.next;
	} while (before !== null);
	return all;
}

/** Compares the agents' ledger with the daemon's reports. */
function judge(tasks: readonly TaskJson[], ledger: readonly string[]): void {
	const begun = new Map<string, number[]>();
	for (const line of ledger) {
		const [word, request = ""] = line.split(" ");
		const [task = "", attempt = "0"] = request.split(".");
		if (word === "begin") begun.set(task, [...(begun.get(task) ?? []), Number(attempt)]);
	}
	for (const task of tasks) {
		const tries = begun.get(task.task_id) ?? [];
		// No attempt reaches an agent twice, and none beyond the limit.
		expect(tries).toEqual([...new Set(tries)]);
		expect(Math.max(0, ...tries)).toBeLessThanOrEqual(task.max_attempts);
		expect(task.attempts.length).toBeLessThanOrEqual(task.max_attempts);
		expect(task.attempts.map(({ n }) => n)).toEqual(task.attempts.map((_, index) => index + 1));
		// Whatever an agent saw is in the record, and a success was really answered.
		for (const n of tries) expect(task.attempts.map((each) => each.n)).toContain(n);
		if (task.status === "succeeded") expect(tries).toContain(task.attempts.length);
		const last = task.attempts.at(-1)?.error;
		expect([task.status, last === undefined]).toEqual([task.status, task.status === "succeeded"]);
		if (task.agent === "p:once") {
			// An attempt that may have taken effect was not repeated.
			const failures = task.attempts.slice(0, -1).map(({ error }) => error?.kind);
			for (const kind of failures) expect(["host_exhausted"]).toContain(kind);
		}
	}
	const ends = new Set(tasks.map(({ status }) => status));
	expect([...ends].toSorted()).toEqual(["dead_lettered", "succeeded"]);
}

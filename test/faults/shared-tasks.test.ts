/**
 * Tasks that three hosts share: real daemons and a real PostgreSQL, all of which are killed at random. Each task has
 * exactly one end, none is lost, and an agent sees a task again only if its host died or its attempt failed. The oracles
 * are the ledger that the agents of all hosts write, and the events in the database.
 *
 * REEVE_CLUSTER_TASKS makes it long (5000), REEVE_CLUSTER_SEED repeats a run.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { type Client, createClient } from "../../src/client/client.js";
import { isEnded } from "../../src/core/task.js";
import type { TaskJson } from "../../src/http/contract/tasks.js";
import { createRandom } from "../../src/testing/random.js";
import { killStrays } from "../support/kill-strays.js";
import { describeWithPostgres } from "../support/needs.js";
import { startPostgres, type TestPostgres } from "../support/postgres.js";
import { temporaryFolder } from "../support/reeve.js";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

const TASKS = Number(process.env["REEVE_CLUSTER_TASKS"] ?? 60);
const SEED = Number(process.env["REEVE_CLUSTER_SEED"] ?? 1);
const PROGRAM = resolve("test/fixtures/call-agents/notes-in-ledger.pl");
const SLOW = resolve("test/fixtures/call-agents/takes-a-while.pl");
const LANES = 12;
const IS_LONG = TASKS > 1_000;
const FROZEN_MS = 30_000;

interface Host {
	readonly name: string;
	readonly home: FleetHome;
	readonly client: Client;
}

/** A host with the agents of a fleet file. */
async function createHost(
	name: string,
	postgres: TestPostgres,
	agents: string,
	labels: Readonly<Record<string, string>> = {},
): Promise<Host> {
	const home = createFleetHome();
	onTestFinished(() => home.close());
	home.writeFleet(agents);
	await home.must("daemon", "start");
	const settings = join(home.env["REEVE_HOME"] ?? "", "daemon.json");
	const cluster = { database: postgres.url(), host: name, labels };
	writeFileSync(settings, JSON.stringify({ cluster }));
	await home.must("daemon", "reload");
	await home.must("up");
	const client = createClient({ socketPath: `${home.folder}/home/reeve.sock` });
	return { name, home, client };
}

/** Like a careful client: repeats the request with the same key, at any host, until one has accepted it. */
async function submit(n: number, hosts: readonly Host[]): Promise<string> {
	const body = { agent: n % 3 === 0 ? "p:once" : "p:call", action: "go", payload: { n } };
	for (let tries = 0; ; tries++) {
		const host = hosts[(n + tries) % hosts.length] as Host;
		try {
			const options = { body, idempotencyKey: `key-${n}` };
			return (await host.client.call("POST /api/v1/tasks", options)).task_id;
		} catch {
			await sleep(100);
		}
	}
}

async function readAll(client: Client): Promise<readonly TaskJson[]> {
	const all: TaskJson[] = [];
	let before: string | null = null;
	do {
		const query: { limit: number; before?: string } = { limit: 500, ...(before && { before }) };
		const page: {
			tasks: readonly TaskJson[];
			next: string | null;
			incomplete?: string | null | undefined;
		} = await client.call("GET /api/v1/tasks", { query });
		if (page.incomplete) throw new Error(page.incomplete);
		all.push(...page.tasks);
		before = page.next;
	} while (before !== null);
	return all;
}

/** Whether the host shares tasks by now. */
async function isReady(client: Client, agent: string): Promise<boolean> {
	const page = await client.call("GET /api/v1/tasks", { query: { agent, limit: 1 } });
	return !page.incomplete;
}

async function readTask(client: Client, place: string): Promise<TaskJson | null> {
	return client.call("GET /api/v1/tasks/:id", { place }).catch(() => null);
}

/** The highest number of requests that were under way at once. */
function peakIn(ledger: string): number {
	let [running, peak] = [0, 0];
	for (const line of linesOf(ledger)) {
		running += line.startsWith("begin") ? 1 : -1;
		peak = Math.max(peak, running);
	}
	return peak;
}

function linesOf(ledger: string): readonly string[] {
	try {
		return readFileSync(ledger, "utf8").trim().split("\n");
	} catch {
		return [];
	}
}

/** How often each task was begun, by attempt. */
function begunIn(ledger: string): ReadonlyMap<string, readonly number[]> {
	const begun = new Map<string, number[]>();
	for (const line of linesOf(ledger)) {
		const [word, request = ""] = line.split(" ");
		const [task = "", attempt = "0"] = request.split(".");
		if (word === "begin") begun.set(task, [...(begun.get(task) ?? []), Number(attempt)]);
	}
	return begun;
}

describeWithPostgres("tasks that three hosts share", () => {
	test(`${TASKS} tasks each have one end, whatever is killed (T1, T2, T3)`, {
		timeout: 3_600_000,
	}, async () => {
		const random = createRandom(SEED);
		const postgres = await startPostgres();
		onTestFinished(() => postgres.stop());
		const ledger = join(temporaryFolder(), "ledger");
		const command = JSON.stringify([PROGRAM, ledger]);
		const common = `kind: call, placement: {}, command: ${command}, concurrency: 8, retry: { max_attempts: 5, initial_backoff: 20ms, max_backoff: 100ms }, circuit_breaker: { failure_threshold: 1000 }`;
		const agents = `call: { ${common} }\nonce: { idempotent: false, ${common} }`;
		const hosts = await Promise.all(
			["one", "two", "three"].map((name) => createHost(name, postgres, agents)),
		);
		let submitted = 0;
		const ids: string[] = [];
		const lane = async (first: number) => {
			for (let n = first; n < TASKS; n += LANES) {
				ids.push(await submit(n, hosts));
				submitted += 1;
			}
		};
		const submitting = Promise.all(Array.from({ length: LANES }, (_, first) => lane(first)));
		const kills = { daemon: 0, host: 0, database: 0, frozen: 0 };
		const killOne = async () => {
			const dice = random.next();
			if (dice < 0.25) {
				kills.database += 1;
				await postgres.kill();
				await sleep(random.int(100, 1_500));
				await postgres.start();
				return;
			}
			const { home } = random.pick(hosts as [Host, ...Host[]]);
			if (dice < 0.32 && IS_LONG) {
				// Until others have taken over what it has.
				kills.frozen += 1;
				const pid = await home.daemonPid().catch(() => null);
				if (pid !== null) process.kill(pid, "SIGSTOP");
				await sleep(FROZEN_MS);
				if (pid !== null) process.kill(pid, "SIGCONT");
				return;
			}
			if (dice < 0.6) {
				kills.daemon += 1;
				await home.killDaemon().catch(() => {});
			} else {
				kills.host += 1;
				killStrays(home.folder);
			}
			await home.must("daemon", "start");
		};
		await eventually(() => submitted > TASKS / 10, "some tasks are accepted", 60_000);
		while (submitted < TASKS || kills.daemon + kills.host + kills.database < 5) {
			await sleep(random.int(100, 700));
			await killOne();
		}
		await submitting;
		// One host does not return: the others take over what it has.
		const [lost, ...others] = hosts as [Host, Host, Host];
		killStrays(lost.home.folder);
		expect(new Set(ids).size).toBe(TASKS);

		let tasks: readonly TaskJson[] = [];
		const client = others[0]?.client as Client;
		await eventually(
			async () => {
				tasks = await readAll(client).catch(() => []);
				return tasks.length === TASKS && tasks.every(({ status }) => isEnded(status));
			},
			"every task has ended",
			120_000 + TASKS * 200,
			500,
		);
		expect(tasks.map(({ task_id: id }) => id).toSorted()).toEqual(ids.toSorted());
		await judge(tasks, begunIn(ledger), postgres);
		const again = tasks.filter(({ attempts }) =>
			attempts.some(({ error }) => error?.kind === "internal"),
		);
		console.log(
			`${TASKS} tasks; killed: ${kills.daemon} daemons, ${kills.host} hosts, ${kills.database} times the database; frozen: ${kills.frozen} daemons; ${again.length} tasks had an attempt whose host died`,
		);
	});

	test("run where the labels are, unless that host drains, and as often at once as the agent allows", {
		timeout: 300_000,
	}, async () => {
		const postgres = await startPostgres();
		onTestFinished(() => postgres.stop());
		const ledger = join(temporaryFolder(), "ledger");
		const command = JSON.stringify([SLOW, ledger, "0.3"]);
		const agents = [
			`any: { kind: call, placement: {}, concurrency: 2, command: ${command} }`,
			`far: { kind: call, placement: { labels: { zone: b } }, command: ${command} }`,
		].join("\n");
		const [one, two] = await Promise.all([
			createHost("one", postgres, agents, { zone: "a" }),
			createHost("two", postgres, agents, { zone: "b" }),
		]);
		const call = (agent: string, wait: string) =>
			one.client.call("POST /api/v1/tasks", { body: { agent, action: "go" }, query: { wait } });
		await eventually(() => isReady(one.client, "p:any"), "shared tasks are accepted");
		const many = await Promise.all(Array.from({ length: 10 }, () => call("p:any", "60s")));
		expect(many.map(({ status }) => status)).toEqual(many.map(() => "succeeded"));
		expect(peakIn(ledger)).toBe(2);
		expect(await call("p:far", "60s")).toMatchObject({ status: "succeeded", host: "two" });
		await two.home.must("host", "drain", "two");
		// It has asked for its own state again.
		await sleep(4_000);
		const waiting = await call("p:far", "2s");
		expect(waiting).toMatchObject({ status: "queued", host: null });
		await one.home.must("host", "resume", "two");
		const place = { place: waiting.task_id, query: { wait: "60s" } };
		const ended = await one.client.call("GET /api/v1/tasks/:id", place);
		expect(ended).toMatchObject({ status: "succeeded", host: "two" });
	});

	test("continue on another host at once when their daemon is stopped", {
		timeout: 300_000,
	}, async () => {
		const postgres = await startPostgres();
		onTestFinished(() => postgres.stop());
		const ledger = join(temporaryFolder(), "ledger");
		const command = JSON.stringify([SLOW, ledger, "60"]);
		const agents = `slow: { kind: call, placement: {}, timeout: 5m, retry: { initial_backoff: 20ms }, command: ${command} }`;
		const hosts = await Promise.all(
			["one", "two"].map((name) => createHost(name, postgres, agents)),
		);
		const [one] = hosts as [Host, Host];
		await eventually(() => isReady(one.client, "p:slow"), "shared tasks are accepted");
		const body = { agent: "p:slow", action: "go" };
		const { task_id: taskId } = await one.client.call("POST /api/v1/tasks", { body });
		await eventually(() => begunIn(ledger).has(taskId), "the attempt has begun");
		const ran = (await readTask(one.client, taskId))?.host;
		const [stopped, other] = (ran === "one" ? hosts : hosts.toReversed()) as [Host, Host];
		await stopped.home.must("daemon", "stop");
		await eventually(() => begunIn(ledger).get(taskId)?.length === 2, "another attempt has begun");
		const task = await readTask(other.client, taskId);
		expect(task).toMatchObject({ status: "in_progress", host: other.name });
		// Its own daemon has recorded the end: no other host had to detect that.
		expect(task?.attempts).toMatchObject([
			{ host: ran, error: { message: "the daemon stopped during the attempt" } },
		]);
		const place = { place: taskId };
		await other.client.call("POST /api/v1/tasks/:id/cancel", place);
		expect((await readTask(other.client, taskId))?.status).toBe("cancelled");
	});

	test("without the database are refused, and an attempt that ends meanwhile counts once", {
		timeout: 300_000,
	}, async () => {
		const postgres = await startPostgres();
		onTestFinished(() => postgres.stop());
		const ledger = join(temporaryFolder(), "ledger");
		const command = JSON.stringify([SLOW, ledger, "7"]);
		const agents = `slow: { kind: call, placement: {}, command: ${command} }\nown: { kind: call, command: ${JSON.stringify([SLOW, ledger, "0"])} }`;
		const { home, client } = await createHost("one", postgres, agents);
		await eventually(() => isReady(client, "p:slow"), "shared tasks are accepted");
		const pid = await home.daemonPid();
		const body = { agent: "p:slow", action: "go" };
		const { task_id: taskId } = await client.call("POST /api/v1/tasks", { body });
		await eventually(() => begunIn(ledger).has(taskId), "the attempt has begun");
		// A database that hangs is as good as none.
		postgres.signal("SIGSTOP");
		const hangs = client.call("POST /api/v1/tasks", { body, idempotencyKey: "hangs" });
		await expect(hangs).rejects.toMatchObject({ code: "cluster_unavailable" });
		postgres.signal("SIGCONT");
		await postgres.kill();
		const refused = client.call("POST /api/v1/tasks", { body });
		await expect(refused).rejects.toMatchObject({ code: "cluster_unavailable" });
		expect((await home.reeve("call", "p:slow", "go")).stderr).toContain("hint: ");
		expect((await home.reeve("tasks", "ls")).stderr).toContain("shared tasks are missing");
		// Tasks of the host itself need no cluster.
		expect((await home.reeve("call", "p:own", "go")).code).toBe(0);
		await eventually(() => linesOf(ledger).includes(`end ${taskId}.1`), "it has ended");
		await postgres.start();
		await eventually(async () => {
			const task = await readTask(client, taskId);
			return task?.status === "succeeded" && task.attempts.length === 1;
		}, "its result is stored");
		expect(begunIn(ledger).get(taskId)).toEqual([1]);
		expect(await home.daemonPid()).toBe(pid);
		const events = (await home.must("events", "--json", "--lines", "100")).trim().split("\n");
		const ends = events.filter((line) => line.includes(taskId) && line.includes('"succeeded"'));
		expect(ends).toHaveLength(1);
	});
});

/** Compares the ledger of the agents and the events with what a host reports. */
async function judge(
	tasks: readonly TaskJson[],
	begun: ReadonlyMap<string, readonly number[]>,
	postgres: TestPostgres,
): Promise<void> {
	const rows = await postgres.query(
		`SELECT task_id, count(*)::int AS ends FROM reeve.task_events
			WHERE (event::jsonb -> 'data' ->> 'to') IN ('succeeded', 'dead_lettered', 'cancelled')
				AND event::jsonb ->> 'type' = 'task.changed'
			GROUP BY task_id`,
	);
	const ends = new Map(rows.map(({ task_id: id, ends: count }) => [id, count]));
	for (const task of tasks) {
		const tries = begun.get(task.task_id) ?? [];
		expect([task.task_id, ends.get(task.task_id)]).toEqual([task.task_id, 1]);
		// No attempt reaches an agent twice, and none beyond the limit.
		expect(tries).toEqual([...new Set(tries)]);
		expect(Math.max(0, ...tries)).toBeLessThanOrEqual(task.max_attempts);
		expect(task.attempts.map(({ n }) => n)).toEqual(task.attempts.map((_, index) => index + 1));
		// Whatever an agent saw is in the record, with its host, and a success was really answered.
		for (const n of tries) expect(task.attempts.map((each) => each.n)).toContain(n);
		for (const { host } of task.attempts) expect(["one", "two", "three"]).toContain(host);
		if (task.status === "succeeded") expect(tries).toContain(task.attempts.length);
		const last = task.attempts.at(-1)?.error;
		expect([task.status, last === undefined]).toEqual([task.status, task.status === "succeeded"]);
		if (task.agent === "p:once") {
			// An attempt that may have taken effect was not repeated, also when its host died.
			const failures = task.attempts.slice(0, -1).map(({ error }) => error?.kind);
			for (const kind of failures) expect(["host_exhausted"]).toContain(kind);
		}
	}
}

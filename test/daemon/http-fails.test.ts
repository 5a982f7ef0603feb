/** The daemon's http crashes, hangs and is opened: agents and tasks must not notice. Real processes. */

import { statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join, resolve } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createClient } from "../../src/client/client.js";
import { listeningPrivately } from "../../src/daemon/listening.js";
import { eventually } from "../faults/fleet-home.js";
import { freePort } from "../support/free-port.js";
import { temporaryFolder } from "../support/reeve.js";
import { createBrokenHome } from "./broken-home.js";

const TASKS = 30;
const answers = resolve("test/fixtures/call-agents/answers.sh");
/** Calls are answered one at a time, and none before the gate is there. */
const fleetOf = (gate: string) =>
	`
a: { command: [sleep, "1000"] }
b: { command: [sleep, "1001"] }
slow:
  kind: call
  concurrency: 1
  timeout: 5m
  env: { GATE: "${gate}" }
  command: [sh, -c, "until [ -e \\"$GATE\\" ]; do sleep 0.05; done; sleep 0.4; exec ${answers}"]`.trim();

function createHttpHome() {
	const broken = createBrokenHome({}, "breaks-http.mjs");
	onTestFinished(() => broken.close(), 120_000);
	const breakHttp = (how: "crash" | "hang" | "") =>
		writeFileSync(broken.fleet.env["BREAKS"] ?? "", how);
	return { ...broken, breakHttp };
}

describe("http that fails", { timeout: 240_000 }, () => {
	test("repeatedly, under load: exit 1 after its budget, a parent restarts it, agents keep their pids, no task is lost", async () => {
		const { fleet, client, breakHttp, startKept, answers, pids, status, reports } =
			createHttpHome();
		const kept = await startKept();
		const { pid } = await status();
		const gate = join(fleet.folder, "gate");
		fleet.writeFleet(fleetOf(gate));
		await fleet.must("up");
		const before = await pids();
		const submitted: string[] = [];
		for (let number = 0; number < TASKS; number++) {
			const body = { agent: "p:slow", action: "echo", payload: { number } };
			submitted.push((await client.call("POST /api/v1/tasks", { body })).task_id);
		}
		breakHttp("crash");
		writeFileSync(gate, "");
		await eventually(() => kept.ends() !== "", "the budget is spent", 120_000);
		expect(kept.ends()).toBe("code 1\n");
		breakHttp("");
		await eventually(answers, "another daemon answers");
		expect((await status()).pid).not.toBe(pid);
		expect(await pids()).toEqual(before);
		expect(reports()).toMatchObject([{ report: { pid, cause: "service_failed" } }]);
		expect(reports()[0]?.report.message).toContain("http: restartable service failed");

		const states = async () =>
			(await client.call("GET /api/v1/tasks", { query: { limit: 100 } })).tasks.map(
				(task) => [task.task_id, task.status] as const,
			);
		await eventually(
			async () => (await states()).every(([, state]) => state === "succeeded"),
			"every task has ended well",
		);
		expect((await states()).map(([id]) => id).sort()).toEqual(submitted.sort());

		const events = (await fleet.must("events", "--json", "--after", "0")).trim().split("\n");
		const all = events.map(
			(line) => JSON.parse(line) as { type: string; data: Record<string, unknown> },
		);
		const ends = all.filter(
			({ type, data }) => type === "service.ended" && data["service"] === "http",
		);
		expect(ends.map(({ data }) => data["action"])).toEqual([
			...["restart", "restart", "restart", "restart", "restart", "fatal"],
		]);
		const [first, last] = [all.indexOf(ends[0] as never), all.indexOf(ends.at(-1) as never)];
		const during = all.slice(first, last).filter(({ data }) => data["to"] === "succeeded");
		expect(during.length).toBeGreaterThan(0);
		await kept.stop();
	});

	test("to start is reported over the network and by /ready, and starts once it can", async () => {
		const { fleet, home, breakHttp, start, startChild, client, answers, kill } = createHttpHome();
		await start();
		fleet.writeFleet(fleetOf("/"));
		await fleet.must("up");
		const token = (await fleet.must("token", "show")).trim();
		await kill();
		const url = `http://127.0.0.1:${await freePort()}`;
		writeFileSync(home.settings, JSON.stringify({ listen: url.slice(7) }));
		breakHttp("hang");
		const child = startChild();
		const network = createClient({ url, token });
		const problems = () =>
			network.call("GET /ready").then(
				(reply) => reply.problems.join(),
				(error: Error) => error.message,
			);
		await eventually(
			async () => (await problems()).includes("did not listen within"),
			"it is reported",
		);
		const headers = { authorization: `Bearer ${token}` };
		const unready = await fetch(`${url}/ready`, { headers });
		expect(unready.status).toBe(503);
		expect(await unready.json()).toMatchObject({
			error: { code: "not_ready", message: expect.stringContaining("http is not ready: ") },
		});
		expect((await network.call("GET /api/v1/daemon")).ready).toBe(false);
		expect(await answers()).toBe(false);
		// Agents were adopted, and calls get responses.
		const { agents } = await network.call("GET /api/v1/agents");
		expect(agents.slice(0, 2).map((agent) => agent.process)).toEqual(["running", "running"]);
		const body = { agent: "p:slow", action: "echo" };
		const done = await network.call("POST /api/v1/tasks", { body, query: { wait: "60s" } });
		expect(done.status).toBe("succeeded");
		breakHttp("");
		await child;
		await eventually(
			() =>
				client.call("GET /ready").then(
					({ ready }) => ready,
					() => false,
				),
			"it is ready",
		);
		expect((await fetch(`${url}/ready`, { headers })).status).toBe(200);
	});
});

test("the socket is never open to other users, and agents inherit no umask", async () => {
	const path = join(temporaryFolder(), "socket");
	const before = process.umask();
	const server = createServer();
	const listens = listeningPrivately(server, path, new AbortController().signal);
	// Checked immediately, before it could have been changed.
	expect(statSync(path).mode & 0o777).toBe(0o600);
	expect(process.umask()).toBe(before);
	await listens;
	server.close();
});

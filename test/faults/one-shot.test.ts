/** Agents that are meant to finish, under a real daemon: completion, dependencies on it, `up --wait`. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AgentJson } from "../../src/http/contract/agents.js";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

let home: FleetHome;
beforeEach(() => {
	home = createFleetHome();
});
afterEach(() => home.close(), 120_000);

const LONG = { timeout: 120_000 };
const find = async (id: string) => (await home.ps()).find((agent) => agent.id === id) as AgentJson;

/** Counts its runs in a file, and exits with this code. */
const job = (name: string, code: number, more = "") =>
	`${name}: { command: [sh, -c, "echo run >> ${join(home.folder, name)}; sleep 0.3; exit ${code}"], terminal: false, on_clean_exit: complete${more} }`;

const SERVER = "command: [sleep, '1000'], terminal: false";

describe("an agent that completes", () => {
	test("is shown as completed, starts its dependents, and stays down", LONG, async () => {
		home.writeFleet(`${job("migrate", 0)}
web: { ${SERVER}, depends_on: { migrate: completed } }`);
		const waited = await home.reeve("up", "--wait", "--timeout", "60s");
		expect(waited.stderr).toMatch(/2 agents ready or completed \(1 completed\)/);
		expect(waited.code).toBe(0);
		expect(await find("p:migrate")).toMatchObject({
			...{ process: "stopped", desired: "down", reason: expect.stringMatching(/: completed$/) },
			last_exit: { code: 0, cause: "completed", uptime_ms: expect.any(Number) },
			status: { state: "completed", needs_you: false },
		});
		expect(await find("p:web")).toMatchObject({ process: "running", ready: true });
		expect(await home.must("ps")).toMatch(/p:migrate +completed .*code 0/);
		const events = await home.must("events", "--json");
		expect(events).toMatch(/"type":"agent.completed".*"code":0,"duration_ms":\d+/);
		await home.must("daemon", "restart");
		await home.must("restart", "p:web");
		await eventually(async () => (await find("p:web")).process === "running", "web runs again");
		expect((await find("p:migrate")).status.state).toBe("completed");
	});

	test("completes while no daemon runs, and the next one starts its dependents", LONG, async () => {
		home.writeFleet(`migrate: { command: [sleep, '2'], on_clean_exit: complete }
web: { ${SERVER}, depends_on: { migrate: completed } }
api: { ${SERVER}, depends_on: [migrate], ready: { delay: 100ms } }`);
		const up = home.reeve("up");
		await eventually(async () => {
			const agents = await home.ps().catch(() => []);
			return agents.some(({ id, process }) => id === "p:migrate" && process === "running");
		}, "migrate runs");
		await home.killDaemon();
		await up;
		await new Promise((resolve) => setTimeout(resolve, 2_500));
		await home.must("daemon", "start");
		await eventually(async () => (await find("p:web")).ready, "web is ready");
		expect(await find("p:migrate")).toMatchObject({
			...{ restarts: 0, last_exit: { code: 0 }, status: { state: "completed" } },
		});
		const events = await home.must("events", "--json");
		expect(events.match(/"type":"agent.completed"/g)).toHaveLength(1);
		await eventually(async () => (await find("p:api")).ready, "api is ready");
	});

	test("runs again with the next `up`", LONG, async () => {
		home.writeFleet(job("migrate", 0));
		await home.must("up", "--wait");
		await home.must("up", "--wait");
		expect((await find("p:migrate")).status.state).toBe("completed");
		expect(readFileSync(join(home.folder, "migrate"), "utf8")).toBe("run\nrun\n");
	});
});

describe("a dependency that fails", () => {
	test("fails `up --wait` with its reason, and the dependent never starts", LONG, async () => {
		home.writeFleet(`${job("migrate", 7, ", crash_policy: { on_failure: stop }")}
web: { command: [touch, ${join(home.folder, "started")}], depends_on: { migrate: completed } }`);
		const waited = await home.reeve("up", "--wait", "--timeout", "60s");
		expect(waited.code).toBe(1);
		expect(`${waited.stdout}${waited.stderr}`).toMatch(/p:migrate .*exit code 7/);
		expect(await find("p:web")).toMatchObject({
			process: "starting",
			blocked: expect.stringMatching(/^p:migrate has failed: exit code 7/),
			reason: expect.stringMatching(/^waits for p:migrate; p:migrate has failed: exit code 7/),
			status: { state: "waits_for_dependency", why: expect.stringMatching(/has failed/) },
		});
		expect(existsSync(join(home.folder, "started"))).toBe(false);
	});

	test("is not waited for longer than --timeout", LONG, async () => {
		home.writeFleet("slow: { command: [sleep, '1000'], ready: { log: never } }");
		const waited = await home.reeve("up", "--wait", "--timeout", "1s");
		expect(waited.code).toBe(1);
		expect(waited.stderr).toMatch(/not ready after 1s: p:slow/);
		expect(await find("p:slow")).toMatchObject({ process: "running", ready: false });
	});
});

test("--timeout needs --wait, and a valid duration", LONG, async () => {
	home.writeFleet(job("migrate", 0));
	expect(await home.reeve("up", "--timeout", "1s")).toMatchObject({
		...{ code: 2, stderr: expect.stringContaining("without --wait") },
	});
	expect(await home.reeve("up", "--wait", "--timeout", "soon")).toMatchObject({ code: 2 });
});

test("validate refuses a dependency on a completion that never comes", LONG, async () => {
	const file = join(home.folder, "bad.yaml");
	writeFileSync(
		file,
		`version: 1
projects:
  p:
    agents:
      db: { command: [sleep, "1"] }
      web: { command: [sleep, "1"], depends_on: { db: completed, dbb: ready } }
      api: { command: [sleep, "1"], depends_on: { db: finished } }
      cli: { command: [sleep, "1"], depends_on: db }
`,
	);
	const { code, stdout, stderr } = await home.reeve("validate", "-f", file);
	expect(code).not.toBe(0);
	const said = stdout + stderr;
	expect(said).toMatch(/`p:db` never completes/);
	expect(said).toMatch(/on_clean_exit: complete/);
	expect(said).toMatch(/unknown agent `dbb`/);
	expect(said).toMatch(/`finished` is not a supported value/);
	expect(said).toMatch(/or a map from each to `ready` or `completed`/);
});

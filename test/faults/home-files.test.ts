/**
 * The files of the home under several clients and a daemon that is killed at random moments. The oracle
 * reads the files itself and asks the agents for their environment.
 */

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { ensureDaemon } from "../../src/cli/daemon-process.js";
import { loadFleetFile } from "../../src/cli/read-fleet.js";
import { createClient } from "../../src/client/client.js";
import type { FleetSpec } from "../../src/config/spec.js";
import { fleetToJson } from "../../src/config/spec-schema.js";
import { ReeveError } from "../../src/core/errors.js";
import { resolveHome } from "../../src/home/paths.js";
import { createRandom } from "../../src/testing/random.js";
import { createFleetHome, type FleetHome } from "./fleet-home.js";

const CLIENTS = 8;
const KILLS = Number(process.env["REEVE_HOME_FILE_KILLS"] ?? 6);
const SEED = Number(process.env["REEVE_FAULT_SEED"] ?? 1);
const DAEMON = join(process.cwd(), "dist/daemon/main.js");

let fleet: FleetHome;
afterEach(() => fleet.close(), 120_000);

/** A call agent that answers with the value of its environment. */
const ECHO = `process.stdin.resume().on("end", () => console.log(JSON.stringify({
	request_id: JSON.parse(input).request_id, status: "success", code: 0, result: process.env.VALUE ?? null })))
	.on("data", (data) => { input += data; }); let input = "";`;

async function fleetOf(client: number, value: number): Promise<FleetSpec> {
	const file = join(fleet.folder, `fleet-${client}.yaml`);
	const agent = {
		kind: "call",
		command: [process.execPath, "-e", ECHO],
		env: { VALUE: String(value) },
	};
	const text = { version: 1, projects: { [`p${client}`]: { agents: { echo: agent } } } };
	writeFileSync(file, JSON.stringify(text));
	const loaded = await loadFleetFile(file, {});
	if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
	return loaded.fleet;
}

test("A9: eight clients change environments while the daemon is killed; no file is torn and no acknowledged value is lost", {
	timeout: 300_000,
}, async () => {
	fleet = createFleetHome();
	const home = resolveHome(fleet.env);
	const client = createClient({ socketPath: home.socket });
	const random = createRandom(SEED);
	const start = () =>
		ensureDaemon({ home, env: { ...process.env, ...fleet.env }, program: DAEMON });
	await start();
	const acknowledged = new Map<number, number>();
	const unexpected: string[] = [];
	let isOver = false;

	async function change(each: number): Promise<void> {
		for (let value = 1; !isOver; value++) {
			try {
				const body = { fleet: fleetToJson(await fleetOf(each, value)), scope: "*" };
				await client.call("POST /api/v1/fleet/up", { body });
				acknowledged.set(each, value);
			} catch (error) {
				const code = error instanceof ReeveError ? error.code : String(error);
				if (code !== "no_daemon" && code !== "connection_lost") unexpected.push(String(error));
				await sleep(20);
			}
		}
	}

	const clients = Array.from({ length: CLIENTS }, (_, each) => change(each));
	try {
		for (let kill = 0; kill < KILLS; kill++) {
			await sleep(100 + random.int(0, 400));
			const { pid } = await client.call("GET /api/v1/daemon");
			process.kill(pid, "SIGKILL");
			if (existsSync(home.vault)) JSON.parse(readFileSync(home.vault, "utf8"));
			await start();
		}
	} finally {
		isOver = true;
		await Promise.all(clients);
	}
	expect(unexpected).toEqual([]);
	expect(acknowledged.size).toBe(CLIENTS);

	const { pid } = await client.call("GET /api/v1/daemon");
	process.kill(pid, "SIGKILL");
	await start();
	for (const [each, value] of acknowledged) {
		const body = { agent: `p${each}:echo`, action: "say" };
		const task = await client.call("POST /api/v1/tasks", { body, query: { wait: "20s" } });
		expect(Number(task.result), `p${each}`).toBeGreaterThanOrEqual(value);
	}
	const names = readdirSync(home.dir);
	expect(names.filter((name) => /\.(tmp|new)$/.test(name))).toEqual([]);
	expect(names.filter((name) => name.includes("damaged"))).toEqual([]);
});

test("a damaged env.json: the daemon starts with the version before it, and reports the damage everywhere", {
	timeout: 120_000,
}, async () => {
	fleet = createFleetHome();
	const home = resolveHome(fleet.env);
	fleet.writeFleet("a: { command: [sleep, '1000'], backend: pty, env: { CANARY: canary-value } }");
	await fleet.must("up");
	fleet.writeFleet(
		"a: { command: [sleep, '1000'], backend: pty, env: { CANARY: canary-value } }\nb: { command: [sleep, '1001'], backend: pty }",
	);
	await fleet.must("up");
	await fleet.must("daemon", "stop");
	writeFileSync(home.vault, '{"p:a": {"CANARY": "canary-val');

	const before = await fleet.reeve("doctor");
	expect(before.stdout).toContain(`${home.vault} is not valid JSON`);
	await fleet.must("daemon", "start");

	const report = new RegExp(
		`${home.vault} was damaged \\(it is not valid JSON\\): using the previous version.*moved to ${home.vault}\\.damaged-`,
	);
	expect(await fleet.must("daemon", "status")).toMatch(report);
	expect(readFileSync(home.daemonLog, "utf8")).toMatch(report);
	expect(await fleet.must("events", "--json")).toContain('"type":"daemon.file_damaged"');
	const { stdout } = await fleet.reeve("doctor");
	expect(stdout).toContain("a daemon found damaged files and moved them to");
	expect(`${stdout}${readFileSync(home.daemonLog, "utf8")}`).not.toContain("canary-val");
	expect(JSON.parse(readFileSync(home.vault, "utf8"))).toMatchObject({
		"p:a#1": { CANARY: "canary-value" },
	});
	const [aside = ""] = readdirSync(home.dir).filter((name) => name.includes(".damaged-"));
	expect(readFileSync(join(home.dir, aside), "utf8")).toBe('{"p:a": {"CANARY": "canary-val');
});

test("every file of the home may be empty: the daemon starts, keeps its agents and names the files", {
	timeout: 120_000,
}, async () => {
	fleet = createFleetHome();
	const home = resolveHome(fleet.env);
	fleet.writeFleet("a: { command: [sleep, '1000'], backend: pty }");
	await fleet.must("up");
	const [{ pid } = { pid: null }] = await fleet.ps();
	await fleet.must("daemon", "stop");
	const locks = readdirSync(home.dir).filter((name) => name.startsWith("lock."));
	const files = [home.vault, `${home.vault}.previous`, home.tokens, home.token, home.settings];
	for (const path of [...files, home.marker, ...locks.map((name) => join(home.dir, name))]) {
		writeFileSync(path, "");
	}
	await fleet.must("daemon", "start");
	expect(await fleet.ps()).toMatchObject([{ id: "p:a", process: "running", pid }]);
	const { problems } = JSON.parse(await fleet.must("daemon", "status", "--json"));
	for (const file of [home.vault, home.tokens, home.settings]) {
		expect(problems).toContainEqual(expect.stringContaining(file));
	}
	expect(problems).toContainEqual(expect.stringContaining("stored environment variables are lost"));
	expect(problems).toContainEqual(expect.stringContaining("all API tokens"));
});

test("A9: `daemon start --listen` does not overwrite settings that it cannot read", {
	timeout: 120_000,
}, async () => {
	fleet = createFleetHome();
	const home = resolveHome(fleet.env);
	await fleet.must("daemon", "start");
	await fleet.must("daemon", "stop");
	writeFileSync(home.settings, '{ "notify": [] ');
	const refused = await fleet.reeve("daemon", "start", "--listen", "127.0.0.1:0");
	expect(refused.code).toBe(2);
	expect(refused.stderr).toContain(`${home.settings} is not valid JSON. Nothing was changed`);
	expect(readFileSync(home.settings, "utf8")).toBe('{ "notify": [] ');
});

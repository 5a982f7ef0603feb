/**
 * Another version of Reeve takes over a running fleet, and then the first version again. The other version is a
 * copy of the built one that calls itself newer, speaks a newer protocol to starter and
 * shims; the processes that hold the agents stay.
 */

import { spawn } from "node:child_process";
import {
	cpSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { afterEach, expect, test } from "vitest";
import { lookUp, readIdentity } from "../../src/host/process-identity.js";
import { loadDriver } from "../../src/store/sqlite/driver.js";
import { eventually } from "../faults/fleet-home.js";
import { killProcess } from "../support/kill.js";
import { describeWithTmux } from "../support/needs.js";
import { runReeve, temporaryFolder } from "../support/reeve.js";
import { type BrokenHome, createBrokenHome } from "./broken-home.js";

let broken: BrokenHome;
afterEach(() => broken.close(), 120_000);

/** Gives the command of a newer Reeve. */
function plantNewer(version: string): string {
	const root = temporaryFolder();
	cpSync(resolve("dist"), join(root, "dist"), { recursive: true });
	symlinkSync(resolve("node_modules"), join(root, "node_modules"));
	cpSync(resolve("package.json"), join(root, "package.json"));
	const built = readdirSync(join(root, "dist"), { recursive: true, encoding: "utf8" })
		.filter((path) => path.endsWith(".js"))
		.map((path) => join("dist", path));
	const edit = (paths: readonly string[], find: string, replace: string) => {
		const holding = paths.filter((path) => readFileSync(join(root, path), "utf8").includes(find));
		if (holding.length === 0) throw new Error(`nothing holds ${find}`);
		for (const path of holding.map((each) => join(root, each)))
			writeFileSync(path, readFileSync(path, "utf8").replace(find, replace));
	};
	edit(["package.json"], '"version": "0.1.0"', `"version": "${version}"`);
	edit(built, "{ oldest: 1, newest: 4 }", "{ oldest: 1, newest: 5 }");
	return join(root, "dist", "cli", "main.js");
}

describeWithTmux("another version of the daemon", () => {
	test("keeps every agent, starts more, and can be downgraded again", {
		timeout: 240_000,
	}, async () => {
		broken = createBrokenHome();
		const { fleet, client, status } = broken;
		const agents = (names: readonly string[]) =>
			names.map((name) => `${name}: { command: [cat], backend: ${name.split("-")[0]} }`).join("\n");
		fleet.writeFleet(agents(["pty-old", "tmux-old"]));
		await fleet.must("up");
		const pidsOf = async () =>
			Object.fromEntries(
				(await client.call("GET /api/v1/agents")).agents.map(({ agent, pid }) => [agent, pid]),
			);
		const before = await pidsOf();

		const newer = plantNewer("0.2.0");
		const reeve = (...args: string[]) =>
			runReeve(args, { program: newer, cwd: fleet.folder, env: fleet.env });
		expect((await reeve("daemon", "restart")).code).toBe(0);
		expect((await status()).version).toBe("0.2.0");
		expect(await pidsOf()).toEqual(before);
		fleet.writeFleet(agents(["pty-old", "tmux-old", "pty-new", "tmux-new"]));
		expect(await reeve("up")).toMatchObject({ code: 0 });

		// Input and exits work for each, whichever version started it.
		for (const agent of Object.keys(await pidsOf())) {
			await client.call("POST /api/v1/agents/:id/send", {
				place: `p:${agent}`,
				body: { text: "typed", submit: true },
			});
			killProcess((await pidsOf())[agent]);
		}
		const exits = async () =>
			(await client.call("GET /api/v1/agents")).agents.map((agent) => [
				agent.last_exit?.signal,
				agent.process,
			]);
		await eventually(
			async () =>
				(await exits()).every(([signal, state]) => signal === "SIGKILL" && state === "running"),
			"every exit was seen, and every agent runs again",
		);

		const after = await pidsOf();
		await fleet.must("daemon", "restart");
		expect((await status()).version).toBe("0.1.0");
		expect(await pidsOf()).toEqual(after);
	});
});

test("runs of the version before the shim are ended and started again, and its exits are read, each once", {
	timeout: 240_000,
}, async () => {
	broken = createBrokenHome();
	const { fleet, home, client } = broken;
	fleet.writeFleet(
		`alive: { command: [sleep, "1000"], backend: pty }\ndead: { command: [sleep, "1000"], backend: pty }`,
	);
	await fleet.must("up");
	const agents = async () => (await client.call("GET /api/v1/agents")).agents;
	const before = await agents();
	const runIds = Object.fromEntries(before.map(({ agent, run_id }) => [agent, run_id ?? ""]));
	await broken.kill();
	const pidsBefore = before.map(({ pid }) => pid ?? 0);

	// In the state of that version: handles without a folder, one recorded exit, and no shim to ask.
	const { open } = await loadDriver();
	const database = open(home.database, { readOnly: false });
	database.exec("UPDATE runs SET record = json_remove(record, '$.handle.data.agent')");
	database.close();
	const pty = join(home.runtime, "pty");
	for (const name of readdirSync(join(pty, "agents"))) {
		const record = JSON.parse(readFileSync(join(pty, "agents", name, "record"), "utf8"));
		killProcess(record.shim);
	}
	rmSync(join(pty, "agents"), { recursive: true });
	const survivor = spawn("sleep", ["1000"], {
		detached: true,
		stdio: "ignore",
		env: { ...process.env, REEVE_RUN_ID: runIds["alive"] },
	});
	const survivorPid = survivor.pid ?? 0;
	const identity = readIdentity(survivorPid);
	mkdirSync(join(pty, "exits"), { mode: 0o700 });
	const exit = {
		runId: runIds["dead"],
		code: 7,
		signal: null,
		atMs: Date.now(),
		outOfMemory: false,
	};
	writeFileSync(
		join(pty, "exits", `${runIds["dead"]}.json`),
		JSON.stringify({ exit, handle: null }),
	);
	const again = open(home.database, { readOnly: false });
	again.exec(
		`UPDATE runs SET record = json_set(record, '$.handle.process.pid', ${survivorPid}, '$.handle.process.startTime', '${identity?.startTime}') WHERE run_id = '${runIds["alive"]}'`,
	);
	again.close();

	await broken.start();
	await eventually(async () => {
		const now = await agents();
		return now.every(
			({ process: state, pid }) => state === "running" && !pidsBefore.includes(pid ?? 0),
		);
	}, "both run again");
	expect(lookUp(survivorPid) === "none" || survivor.signalCode !== null).toBe(true);
	const events = (await fleet.must("events", "--json"))
		.trim()
		.split("\n")
		.map((line) => JSON.parse(line));
	const exits = events.filter(({ type }) => type === "agent.exited");
	expect(exits.map(({ agent, data }) => [agent, data.code])).toEqual(
		expect.arrayContaining([["p:dead", 7]]),
	);
	expect(exits).toHaveLength(2);
	const reasons = events
		.filter(({ type }) => type === "agent.decided")
		.map(({ data }) => data.reason);
	expect(reasons.join("\n")).toContain("started by an earlier version of Reeve");
});

test("an older version refuses a newer database immediately, with both versions and a hint", {
	timeout: 120_000,
}, async () => {
	broken = createBrokenHome();
	const { fleet, home } = broken;
	await broken.start();
	await fleet.must("daemon", "stop");
	const { open } = await loadDriver();
	const change = (...statements: string[]) => {
		const database = open(home.database, { readOnly: false });
		for (const sql of statements) database.exec(sql);
		const version = database.readValue("SELECT user_version FROM pragma_user_version");
		database.close();
		return Number(version);
	};
	const known = change();
	change("PRAGMA user_version = 99", "UPDATE meta SET value = '9.8.7' WHERE key = 'program'");
	fleet.writeFleet(`a: { command: [sleep, "1000"] }`);
	for (const args of [["up"], ["daemon", "start"]]) {
		const ran = await fleet.reeve(...args);
		expect([ran.code, ran.stdout]).toEqual([1, ""]);
		expect(ran.stderr).toContain(
			`cannot start the daemon: ${home.database} was written by Reeve 9.8.7: its schema version is 99, and this is Reeve 0.1.0, which supports ${known}.`,
		);
		expect(ran.stderr).toContain("npm install -g reeve@9.8.7");
		expect(ran.stderr).not.toContain("    at ");
	}
	change(`PRAGMA user_version = ${known}`);
});

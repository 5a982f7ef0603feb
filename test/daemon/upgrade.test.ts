/**
 * Another version of Reeve takes over a running fleet, and the first one takes it back. The other version is a
 * copy of the built one that calls itself newer, speaks a newer protocol to its holder and has another
 * launcher; what holds the agents stays from before.
 */

import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterEach, expect, test } from "vitest";
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
	const edit = (path: string, find: string, replace: string) => {
		const text = readFileSync(path, "utf8");
		if (!text.includes(find)) throw new Error(`${path} does not hold ${find}`);
		writeFileSync(join(root, path), text.replace(find, replace));
	};
	edit("package.json", '"version": "0.1.0"', `"version": "${version}"`);
	edit("dist/backends/pty/protocol.js", "newest: 1, oldest: 1", "newest: 2, oldest: 1");
	edit("dist/backends/tmux/launcher.js", "# Runs one agent:", "# Runs one agent, in a newer way:");
	return join(root, "dist", "cli", "main.js");
}

describeWithTmux("another version of the daemon", () => {
	test("keeps every agent, starts more beside them, and can be left again", {
		timeout: 240_000,
	}, async () => {
		broken = createBrokenHome();
		const { fleet, home, client, status } = broken;
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
		expect((await reeve("up")).code).toBe(0);
		const launchers = () =>
			readdirSync(join(home.runtime, "tmux")).filter((name) => name.startsWith("launcher-"));
		expect(launchers()).toHaveLength(2);

		// Each is typed at, and the exit of each is seen, whoever started it.
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

test("an older version refuses a newer database with both versions and what to do, and says so at once", {
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
			`the daemon could not start: ${home.database} was written by Reeve 9.8.7: its schema is 99, and this is Reeve 0.1.0, which knows ${known}.`,
		);
		expect(ran.stderr).toContain("npm install -g reeve@9.8.7");
		expect(ran.stderr).not.toContain("    at ");
	}
	change(`PRAGMA user_version = ${known}`);
});

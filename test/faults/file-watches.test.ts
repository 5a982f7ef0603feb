/** Agents with `watch` under a real daemon: programs that are restarted when their files change. */

import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ReeveEvent } from "../../src/core/events.js";
import type { AgentJson } from "../../src/http/contract/agents.js";
import { createFleetHome, eventually, type FleetHome, lockedAgent } from "./fleet-home.js";

const LONG = { timeout: 300_000 };

let home: FleetHome;
beforeEach(() => {
	home = createFleetHome();
});
afterEach(() => home.close(), 120_000);

const find = async (id: string) => (await home.ps()).find((agent) => agent.id === id) as AgentJson;
const starts = (name: string) =>
	home.ledger().filter((line) => line.startsWith(`start ${name} `)).length;
const events = async (type: string) =>
	(await home.must("events", "--json", "--type", type))
		.split("\n")
		.filter(Boolean)
		.map((line) => JSON.parse(line) as ReeveEvent);
const watches = (id: string, folders: number) =>
	eventually(
		async () => (await find(id)).file_watch?.folders === folders,
		`${folders} folders of ${id} are watched`,
	);

function write(name: string, text = String(Math.random())): void {
	mkdirSync(join(home.folder, name, ".."), { recursive: true });
	writeFileSync(join(home.folder, name), text);
}

describe("an agent with `watch`", () => {
	test("is restarted when a file changes, and reports the file", LONG, async () => {
		write("src/app.mjs");
		write(".gitignore", "*.log\n");
		home.writeFleet(lockedAgent(home.folder, "web", ", terminal: false, watch: [src]"));
		await home.must("up");
		await watches("p:web", 1);
		expect(starts("web")).toBe(1);
		write("src/app.mjs");
		await eventually(() => starts("web") === 2, "a restart");
		await eventually(async () => (await find("p:web")).process === "running", "it runs");
		const explained = await home.must("explain", "p:web");
		expect(explained).toMatch(/watch +1 folder; restarted .* ago: src\/app\.mjs changed/);
		expect(explained).toMatch(/requested by reeve: not counted \(src\/app\.mjs changed\)/);
		// As an editor saves, and as a checkout replaces a folder.
		write("src/app.mjs.tmp");
		renameSync(join(home.folder, "src/app.mjs.tmp"), join(home.folder, "src/app.mjs"));
		await eventually(() => starts("web") === 3, "a restart after a rename");
		rmSync(join(home.folder, "src"), { recursive: true });
		write("src/lib/other.mjs");
		await eventually(() => starts("web") === 4, "a restart after the folder was replaced");
		await watches("p:web", 2);
		write("src/lib/other.mjs");
		await eventually(() => starts("web") === 5, "the new folder is watched");
		expect((await find("p:web")).restarts).toBe(0);
		expect(home.ledger().filter((line) => line.startsWith("DUPLICATE"))).toEqual([]);
	});

	test("is restarted once for ten thousand changes", LONG, async () => {
		for (let n = 0; n < 100; n++) write(`src/d${n}/f`);
		home.writeFleet(lockedAgent(home.folder, "web", ", terminal: false, watch: [src]"));
		await home.must("up");
		await watches("p:web", 101);
		for (let n = 0; n < 10_000; n++) write(`src/d${n % 100}/f${n}`);
		await eventually(() => starts("web") === 2, "a restart");
		await sleep(4_000);
		expect(starts("web")).toBe(2);
		expect(await events("agent.files_changed")).toMatchObject([{ data: { more: true } }]);
	});

	test("is restarted as a worker too, and after a daemon that was killed", LONG, async () => {
		const program =
			"process.stdin.on('data', (all) => { for (const line of String(all).trim().split('\\n')) console.log(JSON.stringify({ ok: true, request_id: JSON.parse(line).request_id, result: process.pid })); })";
		write("src/a.mjs");
		home.writeFleet(
			`w: { kind: worker, command: [${JSON.stringify(process.execPath)}, -e, ${JSON.stringify(program)}], watch: [src/a.mjs] }
${lockedAgent(home.folder, "web", ", terminal: false, watch: [src]")}`,
		);
		await home.must("up");
		await watches("p:w", 1);
		await watches("p:web", 1);
		const before = await find("p:w");
		write("src/a.mjs");
		await eventually(async () => {
			const { pid, process: state } = await find("p:w");
			return state === "running" && pid !== before.pid;
		}, "another process");
		await eventually(() => starts("web") === 2, "the session is restarted too");
		await home.killDaemon();
		await home.must("daemon", "start");
		await watches("p:web", 1);
		expect(starts("web")).toBe(2);
		write("src/a.mjs");
		await eventually(() => starts("web") === 3, "a restart under the new daemon");
	});

	test("that writes its own files is reported, and not restarted endlessly", LONG, async () => {
		const program = "require('fs').appendFileSync('own.txt', 'x'); setInterval(() => {}, 1000)";
		home.writeFleet(
			`web: { command: [${JSON.stringify(process.execPath)}, -e, ${JSON.stringify(program)}], terminal: false, watch: ["."] }`,
		);
		write("own.txt", "");
		await home.must("up");
		await eventually(
			async () => (await events("agent.watch_loop")).length > 0,
			"the loop is reported",
			120_000,
		);
		const [loop] = await events("agent.watch_loop");
		expect(loop?.data).toMatchObject({ restarts: 5, files: ["own.txt"] });
		expect(await home.must("explain", "p:web")).toMatch(
			/files keep changing: the next restart is delayed/,
		);
		const restarts = (await events("agent.files_changed")).length;
		await sleep(5_000);
		expect((await events("agent.files_changed")).length).toBeLessThanOrEqual(restarts + 1);
	});

	test("reports a path that does not exist", LONG, async () => {
		home.writeFleet(lockedAgent(home.folder, "web", ", terminal: false, watch: [scr]"));
		await home.must("up");
		await eventually(
			async () => (await events("agent.watch_incomplete")).length === 1,
			"the missing path is reported",
		);
		expect(await home.must("explain", "p:web")).toMatch(/watch .*\/scr does not exist/);
		write("scr/now.mjs");
		await eventually(() => starts("web") === 2, "a restart when it appears");
	});
});

test("validate refuses `watch` for agent CLIs and call agents, with the place", LONG, async () => {
	home.writeFleet(`cli: { adapter: claude, watch: [src] }
acp: { kind: worker, adapter: acp, command: [x], watch: [src] }
call: { kind: call, command: [x], watch: [src] }
text: { command: [x], watch: src }
fine: { command: [x], watch: [src, ~/conf.json] }`);
	const { code, stdout, stderr } = await home.reeve("validate");
	expect(code).not.toBe(0);
	const text = stdout + stderr;
	expect(text).toMatch(/:5:\d+.*\n?.*`watch` cannot restart an agent CLI \(adapter `claude`\)/);
	expect(text).toMatch(/:6:\d+.*\n?.*adapter `acp`/);
	expect(text).toMatch(/:7:\d+.*\n?.*watch/);
	expect(text).toMatch(/:8:\d+/);
	expect(text).toMatch(/hint: remove `watch`/);
	expect(text).not.toMatch(/:9:/);
});

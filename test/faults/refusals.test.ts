/** Requests that cannot be carried out: a real daemon answers in time, and each answer is true. */

import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { ReeveEvent } from "../../src/core/events.js";
import { connect, fill, mountDisk } from "../store/support.js";

import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

const { fakeAgentCommand } = (await import(
	new URL("../../dist/testing/index.js", import.meta.url).href
)) as typeof import("../../src/testing/index.js");

let home: FleetHome;
afterEach(() => home.close(), 120_000);

const ready = async () => (await home.reeve("daemon", "status", "--json")).stdout;
const events = async () =>
	(await home.must("events", "--json"))
		.trim()
		.split("\n")
		.map((line) => JSON.parse(line) as ReeveEvent);

test("a request that is refused while nothing can be stored has no effect later", {
	timeout: 300_000,
}, async () => {
	home = createFleetHome();
	home.writeFleet(`a: { command: [sleep, '1000'], backend: pty }
tool: { kind: call, command: [sh, '-c', 'echo called >> ledger; cat'] }`);
	await home.must("up");
	const [before] = await home.ps();
	const other = await connect(join(home.env["REEVE_HOME"] ?? "", "reeve.db"));
	other.exec("PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE");
	// All at once: none of them knows yet that nothing can be stored.
	const refused = await Promise.all([
		home.reeve("restart", "p:a"),
		home.reeve("down", "p:a"),
		home.reeve("call", "p:tool", "run"),
		home.reeve("resume", "p:a"),
	]);
	for (const ran of refused) {
		expect(ran.code).not.toBe(0);
		expect(ran.stderr).toContain("Nothing was done");
	}
	other.exec("ROLLBACK");
	await eventually(async () => JSON.parse(await ready()).ready, "it can store again");
	const [after] = await home.ps();
	expect(after).toMatchObject({ pid: before?.pid, desired: "up", process: "running" });
	expect(await home.must("tasks", "ls", "--json")).toBe("[]\n");
	expect(home.ledger()).toEqual([]);
	const types = (await events()).map(({ type }) => type);
	expect(types.filter((type) => /drained|resumed|task\./.test(type))).toEqual([]);
	await home.must("restart", "p:a");
});

test("a full disk: messages and tokens are refused with the reason, and typing still works", {
	timeout: 300_000,
}, async (context) => {
	const disk = mountDisk(16_384);
	if (typeof disk === "string") {
		home = createFleetHome();
		return context.skip(disk);
	}
	const folder = join(disk.folder, "fleet");
	mkdirSync(folder);
	home = createFleetHome({}, folder);
	const command = JSON.stringify(fakeAgentCommand({}));
	home.writeFleet(`a: { adapter: claude, backend: pty, command: ${command} }
b: { command: [cat], backend: pty }`);
	await home.must("up");
	const ballast = join(disk.folder, "ballast");
	fill(ballast);
	let sent = await home.reeve("send", "p:a", "hello");
	for (let tries = 0; tries < 50 && sent.code === 0; tries++) {
		sent = await home.reeve("send", "p:a", "hello ".repeat(200));
	}
	expect(sent.stderr).toMatch(/cannot write to the database: the disk/);
	const token = await home.reeve("token", "create", "--scope", "read");
	expect(token.code).toBe(1);
	expect(token.stderr).toMatch(/cannot store the tokens, nothing was changed: .*no space left/);
	expect(await home.must("token", "ls", "--json")).not.toContain('"read"');
	// Requests without the store work: an agent can be asked to free space.
	await home.must("send", "p:b", "rm ballast");
	rmSync(ballast);
	await eventually(async () => JSON.parse(await ready()).ready, "it can store again");
	await home.must("token", "create", "--scope", "read");
});

test("input for an agent that does not read its terminal is refused with an error of its own", {
	timeout: 300_000,
}, async () => {
	home = createFleetHome();
	home.writeFleet("a: { command: [sh, '-c', 'stty raw -echo; exec sleep 1000'], backend: pty }");
	await home.must("up");
	const ran = await home.reeve("send", "p:a", "x".repeat(100_000), "--json");
	expect(JSON.parse(ran.stdout)).toMatchObject({ error: { code: "input_not_read" } });
	expect(ran.code).toBe(1);
});

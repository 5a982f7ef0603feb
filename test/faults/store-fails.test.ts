/**
 * The database cannot be written: the disk is full, another program holds it, it was moved away. A real
 * daemon goes on keeping its agents, refuses with the reason, and goes on by itself when it can.
 */

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { DaemonJson } from "../../src/http/contract/daemon.js";
import { connect, fill, mountDisk } from "../store/support.js";
import type { Ran } from "../support/reeve.js";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

let home: FleetHome;
afterEach(() => home.close(), 120_000);

const FLEET =
	"a: { command: [sleep, '1000'], backend: pty }\nb: { command: [sleep, '1000'], backend: pty }";
const database = () => join(home.env["REEVE_HOME"] ?? "", "reeve.db");
const pids = async () => (await home.ps()).map(({ pid }) => pid);
const status = async () => JSON.parse(await home.must("daemon", "status", "--json")) as DaemonJson;

/** Asks for a change until one is refused: there may be room for a few. */
async function untilRefused(): Promise<Ran> {
	for (let tries = 0; tries < 20; tries++) {
		const ran = await home.reeve("restart", "p:b");
		if (ran.code !== 0) return ran;
	}
	throw new Error("nothing was refused");
}

/** What an operator sees while it lasts, and when it is over. */
async function expectRefusalAndRecovery(words: RegExp, cure: () => void): Promise<void> {
	const [a] = await pids();
	// This one finds out, and waits; the next is told at once.
	const first = await untilRefused();
	expect(first.stderr).toMatch(words);
	const second = await home.reeve("down", "p:a");
	expect(second.code).toBe(1);
	expect(second.stderr).toMatch(words);
	expect(second.stderr).toContain("Nothing was done");
	expect(second.stderr).toContain("hint: Make room");
	expect(await status()).toMatchObject({
		ready: false,
		problems: [expect.stringMatching(words)],
	});
	expect((await pids())[0]).toBe(a);
	process.kill(a ?? Number.NaN, 0);

	cure();
	await eventually(async () => (await status()).ready, "it can store again");
	await eventually(
		async () => (await home.ps()).every(({ process: state }) => state === "running"),
		"what waited was done",
	);
	expect((await pids())[0]).toBe(a);
	await home.must("down", "p:a");
	expect(await home.ps()).toMatchObject([{ process: "stopped" }, { process: "running" }]);
}

test("a full disk: agents live on, requests are refused clearly, and it recovers by itself", {
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
	home.writeFleet(FLEET);
	await home.must("up");
	const ballast = join(disk.folder, "ballast");
	fill(ballast);
	await expectRefusalAndRecovery(/nothing can be stored: the disk (is full|reports an error)/, () =>
		rmSync(ballast),
	);
});

test("a database that another program holds: the same, and it says so", {
	timeout: 300_000,
}, async () => {
	home = createFleetHome();
	home.writeFleet(FLEET);
	await home.must("up");
	const other = await connect(database());
	other.exec("BEGIN IMMEDIATE");
	await expectRefusalAndRecovery(/nothing can be stored: the database is locked/, () =>
		other.exec("ROLLBACK"),
	);
});

test("a database that was moved away is not made anew behind anybody's back", {
	timeout: 300_000,
}, async () => {
	home = createFleetHome();
	home.writeFleet(FLEET);
	await home.must("up");
	const away = `${database()}.away`;
	renameSync(database(), away);
	await expectRefusalAndRecovery(/nothing can be stored: .* was removed or replaced/, () => {
		expect(existsSync(database())).toBe(false);
		renameSync(away, database());
	});
});

test("a new database is not made while agents run that only the old one knows (S1)", {
	timeout: 300_000,
}, async () => {
	home = createFleetHome();
	home.writeFleet(FLEET);
	await home.must("up");
	const before = await pids();
	await home.must("daemon", "stop");
	const away = `${database()}.away`;
	renameSync(database(), away);
	const refused = await home.reeve("up");
	expect(refused.code).not.toBe(0);
	expect(refused.stderr).toContain("agents that it knew still run");
	for (const pid of before) expect(refused.stderr).toContain(String(pid));
	expect(existsSync(database())).toBe(false);
	renameSync(away, database());
	await home.must("daemon", "start");
	expect(await pids()).toEqual(before);
});

test("a daemon ends and begins while nothing can be stored, says why it waits, and adopts", {
	timeout: 300_000,
}, async () => {
	home = createFleetHome();
	home.writeFleet(FLEET);
	await home.must("up");
	const before = await pids();
	const other = await connect(database());
	other.exec("BEGIN IMMEDIATE");
	await home.must("daemon", "stop");
	const starting = home.reeve("daemon", "start");
	const log = () => readFileSync(join(home.env["REEVE_HOME"] ?? "", "daemon.log"), "utf8");
	await eventually(() => log().includes("locked by another program"), "it says why it waits");
	other.exec("ROLLBACK");
	expect(await starting).toMatchObject({ code: 0 });
	expect(await pids()).toEqual(before);
});

/**
 * The database cannot be written: the disk is full, another program has locked it, it was moved away. A
 * real daemon keeps its agents, refuses requests with the reason, and recovers by itself.
 */

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { createClient } from "../../src/client/client.js";
import type { DaemonJson } from "../../src/http/contract/daemon.js";
import { connect, fill, mountDisk } from "../store/support.js";
import { killProcess } from "../support/kill.js";
import type { Ran } from "../support/reeve.js";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

let home: FleetHome;
afterEach(() => home.close(), 120_000);

const FLEET =
	"a: { command: [sleep, '1000'], backend: pty }\nb: { command: [sleep, '1000'], backend: pty }";
const database = () => join(home.env["REEVE_HOME"] ?? "", "reeve.db");
const pids = async () => (await home.ps()).map(({ pid }) => pid);
const status = async () => JSON.parse(await home.must("daemon", "status", "--json")) as DaemonJson;

/** Requests changes until one is refused: there may be space for a few. */
async function untilRefused(): Promise<Ran> {
	for (let tries = 0; tries < 20; tries++) {
		const ran = await home.reeve("restart", "p:b");
		if (ran.code !== 0) return ran;
	}
	throw new Error("nothing was refused");
}

/** The operator's view during the fault and after it. */
async function expectRefusalAndRecovery(words: RegExp, cure: () => void): Promise<void> {
	const [a] = await pids();
	// The first may have stopped the agent before the store failed; the next request is refused immediately.
	const first = await untilRefused();
	const isBegun = first.stderr.includes("started but not finished");
	const why = first.stderr.replace(
		"then writes to the database failed",
		"cannot write to the database",
	);
	expect(isBegun ? why : first.stderr).toMatch(words);
	const second = await home.reeve("down", "p:a");
	expect(second.code).toBe(1);
	expect(second.stderr).toMatch(words);
	expect(second.stderr).toContain("Nothing was done");
	expect(second.stderr).toContain("hint: Free disk space");
	expect(await status()).toMatchObject({
		ready: false,
		problems: [expect.stringMatching(words)],
	});
	const client = createClient({ socketPath: join(home.env["REEVE_HOME"] ?? "", "reeve.sock") });
	const unready = client.call("GET /ready").catch((error: unknown) => error);
	expect(await unready).toMatchObject({ code: "not_ready", message: expect.stringMatching(words) });
	expect((await pids())[0]).toBe(a);
	process.kill(a ?? Number.NaN, 0);

	cure();
	await eventually(async () => (await status()).ready, "it can store again");
	expect(await client.call("GET /ready")).toEqual({ ready: true, problems: [] });
	await eventually(
		async () => (await home.ps()).every(({ process: state }) => state === "running"),
		"the queued changes were applied",
	);
	expect((await pids())[0]).toBe(a);
	await home.must("down", "p:a");
	expect(await home.ps()).toMatchObject([{ process: "stopped" }, { process: "running" }]);
}

test("a full disk: agents survive, requests are refused clearly, and it recovers by itself", {
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
	await expectRefusalAndRecovery(
		/cannot write to the database: the disk (is full|reported an error)/,
		() => rmSync(ballast),
	);
});

test("a database that another program has locked: the same, with that reason", {
	timeout: 300_000,
}, async () => {
	home = createFleetHome();
	home.writeFleet(FLEET);
	await home.must("up");
	const other = await connect(database());
	other.exec("PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE");
	await expectRefusalAndRecovery(/cannot write to the database: the database is locked/, () =>
		other.exec("ROLLBACK"),
	);
});

test("an agent that dies while nothing can be stored is shown as gone, not as running (S19)", {
	timeout: 300_000,
}, async () => {
	home = createFleetHome();
	home.writeFleet(`${FLEET}\nw: { kind: worker, workers: { min: 1 }, command: [cat] }`);
	await home.must("up");
	const before = await pids();
	const other = await connect(database());
	onTestFinished(() => other.close());
	other.exec("PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE");
	const [a, , w] = before;
	for (const pid of [a, w]) killProcess(pid);
	const gone = {
		...{ process: "stopped", pid: null, started_at: null, uptime_ms: null, ready: false },
		reason: "SIGKILL: the process is gone, its exit is not recorded yet",
	};
	await eventually(
		async () => (await home.ps()).every(({ id, pid }) => id === "p:b" || pid === null),
		"no dead pid is shown",
	);
	expect(await home.ps()).toMatchObject([gone, { process: "running", pid: before[1] }, gone]);
	other.exec("ROLLBACK");
	await eventually(
		async () => (await home.ps()).every(({ process: state }) => state === "running"),
		"both run again",
	);
	expect(await home.ps()).toMatchObject([
		{ last_exit: { signal: "SIGKILL" }, restarts: 1 },
		{ last_exit: null },
		{ last_exit: { signal: "SIGKILL" }, restarts: 1 },
	]);
});

test("a database that was moved away is not silently recreated", {
	timeout: 300_000,
}, async () => {
	home = createFleetHome();
	home.writeFleet(FLEET);
	await home.must("up");
	const away = `${database()}.away`;
	renameSync(database(), away);
	await expectRefusalAndRecovery(/cannot write to the database: .* was removed or replaced/, () => {
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
	expect(refused.stderr).toContain("agents that it recorded are still running");
	for (const pid of before) expect(refused.stderr).toContain(String(pid));
	expect(existsSync(database())).toBe(false);
	renameSync(away, database());
	await home.must("daemon", "start");
	expect(await pids()).toEqual(before);
});

test("a daemon stops and starts while the store is read-only, reports why it waits, and adopts the agents", {
	timeout: 300_000,
}, async () => {
	home = createFleetHome();
	home.writeFleet(FLEET);
	await home.must("up");
	const before = await pids();
	const other = await connect(database());
	other.exec("PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE");
	await home.must("daemon", "stop");
	const starting = home.reeve("daemon", "start");
	const log = () => readFileSync(join(home.env["REEVE_HOME"] ?? "", "daemon.log"), "utf8");
	await eventually(() => log().includes("locked by another program"), "it logs why it waits");
	other.exec("ROLLBACK");
	expect(await starting).toMatchObject({ code: 0 });
	expect(await pids()).toEqual(before);
});

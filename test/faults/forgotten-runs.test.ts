/**
 * A database without some of the running agents: its newest part is lost, it is an old copy, or it belongs to another
 * home. The oracle counts the processes that carry the mark of each agent.
 */

import { copyFileSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { createFleetHome, type FleetHome } from "./fleet-home.js";

const homes: FleetHome[] = [];
afterEach(async () => {
	for (const home of homes.splice(0)) await home.close();
}, 120_000);

function newHome(agents: string): FleetHome {
	const home = createFleetHome();
	homes.push(home);
	home.writeFleet(agents);
	return home;
}

const agent = (name: string, backend: string) =>
	`${name}: { command: [sleep, '1000'], backend: ${backend} }`;
const database = ({ env }: FleetHome) => join(env["REEVE_HOME"] ?? "", "reeve.db");
const pidsOf = async (home: FleetHome) => (await home.ps()).map(({ pid }) => pid ?? Number.NaN);
const FILES = ["", "-wal", "-shm"];

/** Moves the files of a database, as far as they exist. */
function move(from: string, to: string): void {
	for (const end of FILES) {
		rmSync(`${to}${end}`, { force: true });
		if (existsSync(`${from}${end}`)) renameSync(`${from}${end}`, `${to}${end}`);
	}
}

/** `sleep` processes that carry the mark of an agent of this home. */
function running({ folder }: FleetHome): number[] {
	return readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.filter((pid) => {
			try {
				return (
					readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith("sleep\0") &&
					readFileSync(`/proc/${pid}/environ`, "utf8").includes(`HOME=${folder}\0`)
				);
			} catch {
				return false;
			}
		})
		.map(Number);
}

async function expectRefusal(home: FleetHome, pids: readonly number[]): Promise<void> {
	const refused = await home.reeve("up");
	expect(refused.code).toBe(1);
	expect(refused.stderr).toContain("does not contain agents that are still running");
	for (const pid of pids) expect(refused.stderr).toContain(String(pid));
	expect(running(home).sort()).toEqual([...pids].sort());
}

test.each(["pty", "tmux"])(
	"S1: with %s, a lost write-ahead log starts no agent twice",
	{
		timeout: 300_000,
	},
	async (backend) => {
		const home = newHome(`${agent("a", backend)}\n${agent("b", backend)}`);
		await home.must("up");
		const pids = await pidsOf(home);
		await home.killDaemon();
		const away = `${database(home)}.away`;
		for (const end of FILES) copyFileSync(`${database(home)}${end}`, `${away}${end}`);
		rmSync(`${database(home)}-wal`);
		await expectRefusal(home, pids);
		move(away, database(home));
		await home.must("up");
		expect(await pidsOf(home)).toEqual(pids);
	},
);

test("S1: an old copy of the database starts no agent twice", { timeout: 300_000 }, async () => {
	const home = newHome(agent("a", "pty"));
	await home.must("up");
	await home.must("daemon", "stop");
	const old = `${database(home)}.old`;
	copyFileSync(database(home), old);
	home.writeFleet(`${agent("a", "pty")}\n${agent("b", "pty")}`);
	await home.must("up");
	await home.must("restart", "p:a");
	const pids = await pidsOf(home);
	await home.must("daemon", "stop");
	const away = `${database(home)}.away`;
	move(database(home), away);
	move(old, database(home));
	await expectRefusal(home, pids);
	move(away, database(home));
	await home.must("up");
	expect(await pidsOf(home)).toEqual(pids);
});

test("S1: the database of another home starts no agent twice", { timeout: 300_000 }, async () => {
	const [home, other] = [newHome(agent("a", "pty")), newHome(agent("a", "pty"))];
	await other.must("up");
	await other.must("daemon", "stop", "--all");
	await home.must("up");
	const pids = await pidsOf(home);
	await home.must("daemon", "stop");
	const away = `${database(home)}.away`;
	move(database(home), away);
	copyFileSync(database(other), database(home));
	await expectRefusal(home, pids);
	move(away, database(home));
	await home.must("up");
	expect(await pidsOf(home)).toEqual(pids);
});

test("S1: agents whose shim was killed are found too", {
	timeout: 300_000,
}, async () => {
	const home = newHome(agent("a", "pty").replace("[sleep, '1000']", "[nohup, sleep, '1000']"));
	await home.must("up");
	const pids = await pidsOf(home);
	await home.killDaemon();
	const parent = Number(
		readFileSync(`/proc/${pids[0]}/stat`, "latin1").split(") ")[1]?.split(" ")[1],
	);
	process.kill(parent, "SIGKILL");
	const away = `${database(home)}.away`;
	for (const end of FILES) copyFileSync(`${database(home)}${end}`, `${away}${end}`);
	rmSync(`${database(home)}-wal`);
	await expectRefusal(home, pids);
	move(away, database(home));
});

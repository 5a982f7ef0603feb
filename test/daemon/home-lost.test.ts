/** A home that is removed, moved or replaced under a running daemon, in real processes. */

import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { resolveHome } from "../../src/home/paths.js";
import { createFleetHome, eventually, type FleetHome } from "../faults/fleet-home.js";

let fleet: FleetHome;
afterEach(() => fleet.close(), 120_000);

const isAlive = (pid: number) => {
	try {
		process.kill(pid, 0);
		return true;
	} catch {
		return false;
	}
};

async function startFleet() {
	fleet = createFleetHome();
	fleet.writeFleet("a: { command: [sleep, '1000'], backend: pty }");
	await fleet.must("up");
	const [{ pid: agent } = { pid: null }] = await fleet.ps();
	return { home: resolveHome(fleet.env), daemon: await fleet.daemonPid(), agent: agent ?? 0 };
}

test("a daemon whose home was removed exits; its agents survive, and commands find them", {
	timeout: 120_000,
}, async () => {
	const { home, daemon, agent } = await startFleet();
	// Kept, so that the test can clean up.
	const away = join(fleet.folder, "away");
	renameSync(home.dir, away);
	await eventually(() => !isAlive(daemon), "stopping because the home is lost");
	expect(isAlive(agent)).toBe(true);
	expect(existsSync(home.dir)).toBe(false);

	const refused = await fleet.reeve("up");
	expect(refused.code).toBe(1);
	expect(refused.stderr).toContain(
		`${home.database} is missing, but agents that it recorded are still running`,
	);
	expect(refused.stderr).toContain(`pid ${agent}`);
	expect((await fleet.reeve("doctor")).stdout).toContain(String(agent));
	expect(isAlive(agent)).toBe(true);

	rmSync(home.dir, { recursive: true });
	renameSync(away, home.dir);
	await fleet.must("up");
	expect(await fleet.ps()).toMatchObject([{ process: "running", pid: agent }]);
});

test("a daemon whose home is restored in time continues", { timeout: 120_000 }, async () => {
	const { home, daemon, agent } = await startFleet();
	renameSync(home.dir, `${home.dir}.away`);
	await new Promise((resolve) => setTimeout(resolve, 3_000));
	renameSync(`${home.dir}.away`, home.dir);
	await eventually(async () => (await fleet.reeve("daemon", "status")).code === 0, "it answers");
	expect(await fleet.daemonPid()).toBe(daemon);
	expect(await fleet.ps()).toMatchObject([{ process: "running", pid: agent }]);
});

test("a daemon whose home another daemon has taken leaves it alone", {
	timeout: 120_000,
}, async () => {
	const { home, daemon, agent } = await startFleet();
	const away = join(fleet.folder, "away");
	renameSync(home.dir, away);
	// Without the runs of the first one, as if its agents had exited.
	mkdirSync(home.dir, { mode: 0o700 });
	process.kill(agent, "SIGKILL");
	await eventually(() => !isAlive(agent), "the agent is gone");
	await fleet.must("daemon", "start");
	const second = await fleet.daemonPid();
	expect(second).not.toBe(daemon);
	const socket = statSync(home.socket).ino;
	await eventually(() => !isAlive(daemon), "the first daemon ends");
	expect(statSync(home.socket).ino).toBe(socket);
	expect(await fleet.daemonPid()).toBe(second);
	expect(existsSync(home.marker)).toBe(true);
});

test("a socket or a lock that was removed is put back", { timeout: 120_000 }, async () => {
	const { home, daemon } = await startFleet();
	rmSync(home.socket);
	await eventually(async () => (await fleet.reeve("daemon", "status")).code === 0, "it answers");
	expect(await fleet.daemonPid()).toBe(daemon);
	const locks = () => readdirSync(home.dir).filter((name) => /^lock\.\d+$/.test(name));
	for (const name of locks()) rmSync(join(home.dir, name));
	await eventually(() => locks().length === 1, "the lock is back");
	await fleet.must("daemon", "start");
	expect(await fleet.daemonPid()).toBe(daemon);
});

/** Agents outlive the daemon, so commands about them work after it was killed. */

import { afterEach, expect, test } from "vitest";
import { createFleetHome, eventually, type FleetHome, lockedAgent } from "../faults/fleet-home.js";

let fleet: FleetHome | null = null;
afterEach(async () => {
	await fleet?.close();
	fleet = null;
});

function isAlive(pid: number): boolean {
	try {
		return process.kill(pid, 0);
	} catch {
		return false;
	}
}

async function agentsWithoutDaemon(): Promise<{ home: FleetHome; pids: readonly number[] }> {
	const home = createFleetHome();
	fleet = home;
	home.writeFleet(["one", "two"].map((name) => lockedAgent(home.folder, name)).join("\n"));
	await home.must("up");
	const pids = (await home.ps()).map(({ pid }) => pid ?? 0);
	await home.killDaemon();
	expect(pids.map(isAlive)).toEqual([true, true]);
	return { home, pids };
}

test("`reeve down --all` stops the agents that a killed daemon left", async () => {
	const { home, pids } = await agentsWithoutDaemon();
	const down = await home.reeve("down", "--all");
	expect(down.code).toBe(0);
	expect(down.stderr).toMatch(/^no daemon was running; started one \(pid \d+\)$/m);
	expect(down.stdout).toMatch(/2 agents: 2 \w+ gracefully/);
	expect(pids.map(isAlive)).toEqual([false, false]);
	expect(home.ledger().filter((line) => line.startsWith("start "))).toHaveLength(2);
});

test("`reeve daemon stop --all` stops the agents that a killed daemon left, and its own daemon", async () => {
	const { home, pids } = await agentsWithoutDaemon();
	expect((await home.reeve("daemon", "stop", "--all")).code).toBe(0);
	expect(pids.map(isAlive)).toEqual([false, false]);
	expect((await home.reeve("daemon", "status")).code).toBe(3);
});

test("`reeve sessions` lists the agents that a killed daemon left, with the same pids", async () => {
	const { home, pids } = await agentsWithoutDaemon();
	const listed = JSON.parse(await home.must("sessions", "--json")) as { pid: number }[];
	expect(listed.map(({ pid }) => pid)).toEqual(pids);
});

test("`reeve down` of an agent that does not exist starts a daemon and no agent", async () => {
	const { home } = await agentsWithoutDaemon();
	expect((await home.reeve("down", "p:three")).code).toBe(4);
	await eventually(async () => (await home.ps()).length === 2, "the daemon lists both agents");
	expect(home.ledger()).toHaveLength(2);
});

/** Faults of the host for a daemon and its agents: real processes, and the agents' ledger. */

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { killProcess } from "../support/kill.js";
import { describeWithTmux } from "../support/needs.js";
import { createFleetHome, eventually, type FleetHome, lockedAgent } from "./fleet-home.js";

let home: FleetHome;
afterEach(() => home.close(), 120_000);

const pids = async () => (await home.ps()).map(({ pid }) => pid);
const inHome = (...names: string[]) => join(home.env["REEVE_HOME"] ?? "", ...names);

describe("the shims, killed with -9", () => {
	holderSuite("pty", () =>
		readdirSync(inHome("run", "pty", "agents")).map((name) => {
			const record = readFileSync(inHome("run", "pty", "agents", name, "record"), "utf8");
			return (JSON.parse(record) as { shim: number }).shim;
		}),
	);
});
describeWithTmux("the tmux server, killed with -9", () => {
	test("no agent notices, and each is shown again (S17)", { timeout: 120_000 }, async () => {
		home = createFleetHome();
		home.writeFleet(
			["a0", "a1"].map((name) => lockedAgent(home.folder, name, ", backend: tmux")).join("\n"),
		);
		await home.must("up");
		const askTmux = (...args: string[]) => {
			const socket = inHome("run", "tmux", "server.sock");
			return spawnSync("tmux", ["-S", socket, ...args], { encoding: "utf8" }).stdout.trim();
		};
		const sessions = () => askTmux("list-sessions").split("\n").filter(Boolean);
		await eventually(() => sessions().length === 2, "both agents are shown");
		const before = await pids();
		killProcess(Number(askTmux("display-message", "-p", "#{pid}")));
		await eventually(() => sessions().length === 2, "both agents are shown again");
		expect(await pids()).toEqual(before);
		for (const { id, restarts } of await home.ps()) expect([id, restarts]).toEqual([id, 0]);
		const events = await home.must("events", "--json");
		expect(events.match(/"agent\.terminal_reopened"/g)).toHaveLength(2);
	});
});

function holderSuite(backend: string, holderPids: () => readonly number[]): void {
	test(`${backend}: survivors are ended and each agent is restarted once (S1, S8)`, {
		timeout: 300_000,
	}, async () => {
		home = createFleetHome();
		const policy = ", crash_policy: { transient_delay: 100ms }";
		// It got neither a hangup nor SIGTERM.
		const deaf = JSON.stringify(["sh", "-c", "trap '' HUP TERM; while :; do sleep 0.1; done"]);
		home.writeFleet(
			[
				...["a0", "a1", "a2"].map((name) =>
					lockedAgent(home.folder, name, `, backend: ${backend}${policy}`),
				),
				`deaf: { command: ${deaf}, backend: ${backend}${policy} }`,
			].join("\n"),
		);
		await home.must("up");
		await eventually(() => home.ledger().length === 3, "every agent is in the ledger");
		const before = await pids();
		for (const pid of holderPids()) process.kill(pid, "SIGKILL");
		await eventually(
			async () => {
				const agents = await home.ps();
				return agents.every(
					({ process: state, pid }) => state === "running" && !before.includes(pid),
				);
			},
			"every agent runs again",
			120_000,
		);
		for (const agent of await home.ps()) expect([agent.id, agent.restarts]).toEqual([agent.id, 1]);
		for (const pid of before) expect(isThere(pid)).toBe(false);
		await eventually(
			() => home.ledger().filter((line) => line.startsWith("start")).length === 6,
			"each has started twice",
		);
		expect(home.ledger().filter((line) => line.startsWith("DUPLICATE"))).toEqual([]);
	});
}

/** A zombie is not. */
function isThere(pid: number | null): boolean {
	const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
	return /^[^Z]/.test(stdout.trim());
}

test("a terminal that closes (SIGHUP) ends neither the daemon nor an agent", {
	timeout: 300_000,
}, async () => {
	home = createFleetHome();
	home.writeFleet("a: { command: [sleep, '1000'] }");
	await home.must("up");
	const [daemon, agents] = [await home.daemonPid(), await pids()];
	process.kill(daemon, "SIGHUP");
	await home.must("ps");
	expect([await home.daemonPid(), await pids()]).toEqual([daemon, agents]);
});

test("a fleet file that is half written or swapped changes nothing until it is accepted (A7)", {
	timeout: 300_000,
}, async () => {
	home = createFleetHome();
	home.writeFleet("a: { command: [sleep, '1000'] }\nb: { command: [sleep, '1001'] }");
	await home.must("up");
	const before = await pids();
	const file = join(home.folder, "reeve.yaml");
	const whole = readFileSync(file, "utf8");
	writeFileSync(file, whole.slice(0, whole.indexOf("b:") + 12));
	expect((await home.reeve("reload")).code).toBe(2);
	writeFileSync(`${file}.new`, whole.replace("1001", "1002"));
	renameSync(`${file}.new`, file);
	await home.killDaemon();
	await home.must("daemon", "start");
	expect(await pids()).toEqual(before);
	await home.must("reload");
	await eventually(async () => {
		const [a, b] = await pids();
		return a === before[0] && b !== null && b !== before[1];
	}, "only changed agents were started again");
});

const canLimit = spawnSync("prlimit", ["--version"]).status === 0;
test("a daemon without free file descriptors continues, keeps its agents, and serves again later", {
	timeout: 300_000,
	skip: !canLimit,
	meta: { skipReason: "there is no prlimit" },
}, async () => {
	home = createFleetHome();
	home.writeFleet("a: { command: [sleep, '1000'], backend: pty }");
	await home.must("up");
	const [daemon, agents] = [await home.daemonPid(), await pids()];
	const open = readdirSync(`/proc/${daemon}/fd`).length;
	const limit = (files: number) =>
		spawnSync("prlimit", ["--pid", String(daemon), `--nofile=${files}:4096`]);
	limit(open + 8);
	const sockets: Socket[] = Array.from({ length: 40 }, () =>
		connect(inHome("reeve.sock")).on("error", () => {}),
	);
	await eventually(
		() => readdirSync(`/proc/${daemon}/fd`).length >= open + 7,
		"it has no file left",
	);
	// An agent ends meanwhile, and cannot be started before there are files.
	killProcess(agents[0]);
	for (const socket of sockets) socket.destroy();
	limit(4_096);
	await eventually(async () => {
		const { code, stdout } = await home.reeve("ps", "--json");
		if (code !== 0) return false;
		const [agent] = JSON.parse(stdout) as { process: string; pid: number }[];
		return agent?.process === "running" && agent.pid !== agents[0];
	}, "it serves, and the agent runs again");
	expect(await home.daemonPid()).toBe(daemon);
});

/**
 * The daemon as a service of a real systemd, installed as a user would. The tests follow one another on
 * one installation: each leaves the daemon running and the agents as they were.
 */

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import type { AgentJson } from "../../src/http/contract/agents.js";
import { eventually } from "../../src/testing/conformance/backend-world.js";

const REEVE = resolve("dist/cli/main.js");
const UNITS = join(homedir(), ".config/systemd/user");
const UNIT = join(UNITS, "reeve.service");
const DROP_IN = join(UNITS, "reeve.service.d/test.conf");
const FLEET = join(homedir(), "fleet");
const FLEET_FILE = `version: 1
defaults: { command: [sleep, "100000"] }
projects:
  vm:
    cwd: .
    agents:
      auto: {}
      held: { limits: { memory: 200MiB, cpu: 50%, pids: 20 } }
      tmux: { backend: tmux }
      pty: { backend: pty }
`;

const run = (program: string, ...args: string[]) =>
	execFileSync(program, args, { cwd: FLEET, encoding: "utf8" });
const reeve = (...args: string[]) => run(process.execPath, REEVE, ...args);
const systemctl = (...args: string[]) => run("systemctl", "--user", ...args);
const show = (property: string, unit = "reeve.service") =>
	systemctl("show", unit, "-P", property).trim();
const mainPid = () => Number(show("MainPID"));
const isReady = () => show("ActiveState") === "active" && mainPid() > 0;

/** Whether another daemon is ready in the place of that one. Its pid first: states come after it. */
function isSucceeded(pid: number): boolean {
	const now = mainPid();
	return now > 0 && now !== pid && show("ActiveState") === "active" && mainPid() === now;
}

/** Never 0: as the target of a signal, that is every process here. */
function daemonPid(): number {
	const pid = mainPid();
	if (pid <= 1) throw new Error(`the daemon is ${show("ActiveState")}`);
	return pid;
}

interface Held {
	readonly backend: string;
	readonly pid: number;
	readonly restarts: number;
}

/** Who runs, on what, and how often it was restarted. */
function agents(): Record<string, Held> {
	const all = JSON.parse(reeve("ps", "--json")) as AgentJson[];
	return Object.fromEntries(
		all.map(({ id, backend, pid, restarts }) => [id, { backend, pid: pid ?? 0, restarts }]),
	);
}

/** Settings for one test; the unit itself stays as it was installed. */
function dropIn(text: string): void {
	mkdirSync(join(UNITS, "reeve.service.d"), { recursive: true });
	writeFileSync(DROP_IN, text);
	systemctl("daemon-reload");
}

describe("the daemon as a service of the user's systemd", () => {
	let before: Record<string, Held>;
	beforeAll(async () => {
		mkdirSync(FLEET);
		writeFileSync(join(FLEET, "reeve.yaml"), FLEET_FILE);
		console.log(reeve("daemon", "install"));
		try {
			reeve("up", "--all");
		} catch {
			// A slow machine may need a retry by the daemon.
		}
		await eventually(() => Object.values(agents()).every(({ pid }) => pid > 0));
		before = agents();
		console.log(before, systemctl("--no-pager", "status", "reeve", "app-reeve.slice"));
	});
	afterEach(async () => {
		if (!existsSync(DROP_IN)) return;
		rmSync(DROP_IN);
		systemctl("daemon-reload");
		await eventually(isReady);
	});

	test("is a unit that systemd finds nothing wrong with", () => {
		expect(run("systemd-analyze", "--user", "verify", UNIT)).toBe("");
	});

	test("is ready when systemd reports it as started", () => {
		expect(show("Type")).toBe("notify");
		expect(isReady()).toBe(true);
		expect(JSON.parse(reeve("daemon", "status", "--json"))).toMatchObject({ ready: true });
	});

	test("selects systemd for auto, with the reason", () => {
		const status = JSON.parse(reeve("daemon", "status", "--json"));
		expect(status.backends[0]).toMatchObject({ name: "systemd", usable: true, auto: true });
		expect(status.limits.map(({ enforced }: { enforced: string }) => enforced)).toEqual([
			"tree",
			"tree",
			"tree",
		]);
		expect(Object.values(before).map(({ backend }) => backend)).toEqual([
			"systemd",
			"systemd",
			"tmux",
			"pty",
		]);
	});

	test("passes no variable of its own service to agents", () => {
		const pid = before["vm:auto"]?.pid;
		const names = readFileSync(`/proc/${pid}/environ`, "utf8")
			.split("\0")
			.map((text) => text.split("=")[0]);
		for (const name of ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "INVOCATION_ID"]) {
			expect(names).not.toContain(name);
		}
	});

	test("has only itself and its relay in its own group", () => {
		const group = show("ControlGroup");
		for (const { pid } of Object.values(before)) {
			expect(readFileSync(`/proc/${pid}/cgroup`, "utf8")).not.toContain(group);
		}
	});

	test.each(["process", "control-group", "mixed"])(
		"leaves every agent as it was when it is restarted, and stopped, with KillMode=%s",
		async (mode) => {
			dropIn(`[Service]\nKillMode=${mode}\n`);
			const first = daemonPid();
			systemctl("restart", "reeve");
			expect(daemonPid()).not.toBe(first);
			expect(agents()).toEqual(before);
			systemctl("stop", "reeve");
			expect(show("Result")).toBe("success");
			systemctl("start", "reeve");
			expect(agents()).toEqual(before);
		},
	);

	test("reloads without ending", () => {
		const pid = daemonPid();
		systemctl("reload", "reeve");
		expect(agents()).toEqual(before);
		expect(daemonPid()).toBe(pid);
		expect(isReady()).toBe(true);
	});

	test("is restarted after it was killed", async () => {
		const pid = daemonPid();
		process.kill(pid, "SIGKILL");
		await eventually(() => isSucceeded(pid));
		expect(Number(show("NRestarts"))).toBeGreaterThan(0);
		expect(agents()).toEqual(before);
	});

	test("is killed and restarted when it no longer answers the watchdog", async () => {
		dropIn("[Service]\nWatchdogSec=40\n");
		systemctl("restart", "reeve");
		const pid = daemonPid();
		process.kill(pid, "SIGSTOP");
		await eventually(() => isSucceeded(pid));
		const journal = run("journalctl", "--user", "--no-pager", "-o", "cat", "-u", "reeve");
		expect(journal).toContain("Watchdog timeout");
		expect(agents()).toEqual(before);
	});

	test("is left alone after too many failures, and its agents are too", async () => {
		dropIn("[Unit]\nStartLimitIntervalSec=3600\nStartLimitBurst=3\n[Service]\nRestartSec=1\n");
		systemctl("reset-failed", "reeve");
		await eventually(() => {
			const pid = mainPid();
			if (pid > 1) process.kill(pid, "SIGKILL");
			return show("ActiveState") === "failed";
		});
		expect(() => systemctl("start", "reeve")).toThrow();
		for (const { pid } of Object.values(before)) expect(existsSync(`/proc/${pid}`)).toBe(true);
		systemctl("reset-failed", "reeve");
		systemctl("start", "reeve");
		expect(agents()).toEqual(before);
	});

	test("leaves nothing behind when it is uninstalled and its agents are down", async () => {
		reeve("down", "--all");
		console.log(reeve("daemon", "uninstall"));
		rmSync(join(UNITS, "reeve.service.d"), { recursive: true, force: true });
		systemctl("daemon-reload");
		expect(existsSync(UNIT)).toBe(false);
		expect(show("LoadState")).toBe("not-found");
		expect(existsSync(UNITS) ? readdirSync(UNITS, { recursive: true }) : []).toEqual(
			existsSync(join(UNITS, "default.target.wants")) ? ["default.target.wants"] : [],
		);
		const units = () => systemctl("list-units", "--all", "--plain", "--no-legend", "reeve*");
		// The holder of terminals on pty goes a minute after its last run.
		await eventually(() => units().trim() === "", { what: "no unit is left" });
	});
});

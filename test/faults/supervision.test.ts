/** The operator's view of a failing fleet: real programs, a real daemon, the command line. */

import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { AgentJson } from "../../src/http/contract/agents.js";
import type { StoppedJson } from "../../src/http/contract/shapes.js";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

let home: FleetHome;
afterEach(() => home.close(), 120_000);

const find = async (id: string) => (await home.ps()).find((agent) => agent.id === id) as AgentJson;

describe("a crash loop", () => {
	test("is halted at its 7th exit, shows the reason everywhere, stays halted, and can be resumed", {
		timeout: 300_000,
	}, async () => {
		home = createFleetHome();
		const policy = "crash_policy: { transient_delay: 50ms, flapping_delay: 100ms }";
		home.writeFleet(
			`looper: { command: [sh, -c, 'test -e "$FIXED" && exec sleep 1000; exit 3'], env: { FIXED: "${home.folder}/fixed" }, ${policy} }`,
		);
		await home.must("up");
		await eventually(async () => (await find("p:looper")).policy === "halted", "it is halted");
		const reason = /flapping 5 of 5 without a stable run/;
		expect(await find("p:looper")).toMatchObject({
			process: "stopped",
			pid: null,
			restarts: 6,
			last_exit: { code: 3, class: "flapping" },
			reason: expect.stringMatching(reason),
		});
		expect(await home.must("explain", "p:looper")).toMatch(reason);
		const events = (await home.must("events", "--json")).trim().split("\n");
		expect(events.filter((line) => line.includes('"agent.exited"'))).toHaveLength(7);
		expect(events.join("\n")).toMatch(reason);

		await home.must("daemon", "stop");
		await home.must("daemon", "start");
		expect(await find("p:looper")).toMatchObject({ policy: "halted", process: "stopped" });
		writeFileSync(`${home.folder}/fixed`, "");
		await home.must("resume", "p:looper");
		expect(await find("p:looper")).toMatchObject({ policy: "healthy", process: "running" });
	});
});

describe("a stop", () => {
	test("kills an agent that ignores SIGTERM with all of its processes, and nothing else", {
		timeout: 300_000,
	}, async () => {
		home = createFleetHome();
		const script = `trap '' TERM; setsid sh -c 'trap "" TERM HUP; echo $$ > ${home.folder}/grandchild; while :; do sleep 0.1; done' & while :; do sleep 0.1; done`;
		const decoy = spawn("sh", ["-c", "while :; do sleep 0.1; done"], { stdio: "ignore" });
		home.writeFleet(
			`stubborn: { command: ${JSON.stringify(["sh", "-c", script])}, drain: { timeout: 1s } }`,
		);
		await home.must("up");
		await eventually(() => existsSync(`${home.folder}/grandchild`), "the grandchild is there");
		const { run_id: runId } = await find("p:stubborn");
		const [stopped] = JSON.parse(await home.must("down", "--all", "--json")) as StoppedJson[];
		expect(stopped).toMatchObject({ id: "p:stubborn", outcome: "timed_out_killed" });
		expect(stopped?.duration_ms).toBeGreaterThanOrEqual(1_000);
		if (process.platform === "linux") expect(processesOf(runId ?? "")).toEqual([]);
		const grandchild = Number(readFileSync(`${home.folder}/grandchild`, "utf8"));
		// If orphans are not reaped, a zombie is left of it, which is dead.
		const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(grandchild)], {
			encoding: "utf8",
		});
		expect(stdout.trim()).toMatch(/^(Z.*)?$/);
		expect(decoy.exitCode === null && decoy.signalCode === null).toBe(true);
		decoy.kill("SIGKILL");
	});
});

/** Pids whose environment carries the run's id. */
function processesOf(runId: string): string[] {
	return readdirSync("/proc").filter((pid) => {
		if (!/^\d+$/.test(pid)) return false;
		try {
			return readFileSync(`/proc/${pid}/environ`, "latin1").includes(`REEVE_RUN_ID=${runId}`);
		} catch {
			return false;
		}
	});
}

describe("the daemon", () => {
	test("starts despite a socket that an earlier one left behind", {
		timeout: 300_000,
	}, async () => {
		home = createFleetHome();
		await home.must("daemon", "start");
		await home.killDaemon();
		expect(existsSync(`${home.env["REEVE_HOME"]}/reeve.sock`)).toBe(true);
		await home.must("daemon", "start");
		await home.must("ps");
	});

	test("does not change a corrupt database, and reports it", { timeout: 300_000 }, async () => {
		home = createFleetHome();
		await home.must("daemon", "start");
		await home.must("daemon", "stop");
		const database = `${home.env["REEVE_HOME"]}/reeve.db`;
		writeFileSync(database, "this is no database");
		const { code, stderr } = await home.reeve("daemon", "start");
		expect(code).toBe(1);
		expect(stderr).toContain("reeve.db");
		expect(readFileSync(database, "utf8")).toBe("this is no database");
	});

	test("a broken fleet file changes nothing that runs (A7)", { timeout: 300_000 }, async () => {
		home = createFleetHome();
		home.writeFleet("a: { command: [sleep, '1000'] }");
		await home.must("up");
		const { pid } = await find("p:a");
		writeFileSync(`${home.folder}/reeve.yaml`, "version: 1\nprojects: [\n");
		expect((await home.reeve("reload")).code).toBe(2);
		expect((await find("p:a")).pid).toBe(pid);
	});

	test("stores secrets only in the one file for them, and shows none", {
		timeout: 300_000,
	}, async () => {
		home = createFleetHome();
		const secret = "s3cret-canary-42";
		writeFileSync(`${home.folder}/.env`, `FROM_FILE=${secret}\n`);
		home.writeFleet(`a: { command: [sleep, '1000'], env_file: .env, env: { TOKEN: ${secret} } }`);
		await home.must("up");
		const said = [
			await home.must("ps", "--json"),
			await home.must("explain", "p:a", "--json"),
			await home.must("events", "--json"),
		].join("\n");
		expect(said).not.toContain(secret);
		await home.must("daemon", "stop");
		const folder = home.env["REEVE_HOME"] ?? "";
		const holders = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => {
			try {
				return readFileSync(resolve(folder, name), "latin1").includes(secret);
			} catch {
				return false;
			}
		});
		expect(holders).toEqual(["env.json"]);
	});
});

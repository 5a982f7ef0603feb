/** Starting, stopping and showing a daemon, with real processes in real homes. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { ensureDaemon } from "../../src/cli/daemon-process.js";
import { resolveHome } from "../../src/home/paths.js";
import { agentJson, daemonJson } from "../support/agents.js";
import { startFakeDaemon } from "../support/fake-daemon.js";
import { plantReeve, SMALL_DAEMON } from "../support/planted-reeve.js";
import { type Ran, runReeve, temporaryFolder } from "../support/reeve.js";

/** A separate home, and `reeve` with a daemon that the test chose. All started processes are stopped. */
function plant(daemonSource = SMALL_DAEMON) {
	const program = plantReeve(daemonSource);
	const home = join(temporaryFolder(), "home");
	const env = { REEVE_HOME: home };
	const run = (...args: string[]): Promise<Ran> => runReeve(args, { program, env });
	const log = () => readFileSync(join(home, "daemon.log"), "utf8");
	onTestFinished(() => {
		if (!existsSync(join(home, "daemon.log"))) return;
		for (const [, pid] of log().matchAll(/a small daemon, pid (\d+)/g)) end(Number(pid));
	});
	return { program, home, env, run, log };
}

function end(pid: number): void {
	try {
		process.kill(pid, "SIGKILL");
	} catch {
		// It has already exited.
	}
}

const pidIn = ({ stdout }: Ran) => (JSON.parse(stdout) as { pid: number }).pid;

describe("a daemon in the background", () => {
	test("is started, shown, started only once, replaced and stopped", async () => {
		const { home, run, log } = plant();
		const started = await run("daemon", "start", "--json");
		expect(started.code).toBe(0);
		const pid = pidIn(started);
		expect(JSON.parse(started.stdout)).toEqual({
			...{ started: true, pid, home },
			socket: join(home, "reeve.sock"),
		});
		expect(statSync(home).mode & 0o777).toBe(0o700);
		expect(statSync(join(home, "daemon.log")).mode & 0o777).toBe(0o600);
		expect(log()).toContain(`a small daemon, pid ${pid}`);

		expect((await run("daemon", "start")).stdout).toBe(`already running (pid ${pid})\n`);
		expect(JSON.parse((await run("daemon", "status", "--json")).stdout)).toMatchObject({
			...{ running: true, pid, home },
		});

		const restarted = await run("daemon", "restart", "--json");
		expect(JSON.parse(restarted.stdout)).toMatchObject({ before: pid });
		expect(pidIn(restarted)).not.toBe(pid);

		const stopped = await run("daemon", "stop");
		expect(stopped).toEqual({
			...{ code: 0, stderr: "" },
			stdout: `daemon stopped (pid ${pidIn(restarted)})\n`,
		});
		expect((await run("daemon", "status")).code).toBe(3);
		expect((await run("daemon", "restart")).stdout).toContain("no daemon was running before");
	});

	test("reeve up starts one, in a session of its own and away from the user's folder", async () => {
		const { program, env, log } = plant();
		const cwd = temporaryFolder();
		writeFileSync(
			join(cwd, "reeve.yaml"),
			"version: 1\nprojects: { web: { agents: { db: { command: [sleep, '1'] } } } }\n",
		);
		// A home relative to the user's directory must not become relative to the daemon's.
		const relativeEnv = { REEVE_HOME: relative(cwd, env.REEVE_HOME) };
		const ran = await runReeve(["up", "--json"], { program, cwd, env: relativeEnv });
		expect([ran.code, ran.stderr]).toEqual([0, ""]);
		expect(JSON.parse(ran.stdout)).toEqual([
			{ id: "web:db", outcome: "started", reason: "up in /" },
		]);
		const again = await runReeve(["up"], { program, cwd, env });
		expect([again.stdout, again.stderr]).toEqual(["1 agent: 1 started\n", ""]);
		const pid = Number(/pid (\d+)/.exec(log())?.[1]);
		if (process.platform === "linux") {
			const session = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ")[3];
			expect(Number(session)).toBe(pid);
		}
	});

	test("two that are started at once become one", async () => {
		// The slower one finds the home in use and exits, like a daemon that does not get its lock.
		const { run } = plant(
			`import { mkdirSync } from "node:fs";
			try { mkdirSync(process.env.REEVE_HOME + "/taken"); } catch { console.log("taken"); process.exit(5); }
			await new Promise((resolve) => setTimeout(resolve, 300));
			${SMALL_DAEMON}`,
		);
		const both = await Promise.all([
			run("daemon", "start", "--json"),
			run("daemon", "start", "--json"),
		]);
		expect(both.map(({ code }) => code)).toEqual([0, 0]);
		expect(new Set(both.map(pidIn)).size).toBe(1);
		const started = both.map(({ stdout }) => (JSON.parse(stdout) as { started: boolean }).started);
		expect(started.toSorted()).toEqual([false, true]);
	});
});

describe("a daemon that does not come up", () => {
	test("one that exits immediately is reported with its exit code and last output", async () => {
		const { home, run } = plant(
			`console.error("the \\u001b[31mdatabase\\u001b[0m is from a newer version"); process.exit(1);`,
		);
		mkdirSync(home, { mode: 0o700 });
		writeFileSync(join(home, "daemon.log"), "words of an earlier daemon\n");
		const ran = await run("daemon", "start");
		expect([ran.code, ran.stdout]).toEqual([1, ""]);
		expect(ran.stderr).toContain("the daemon exited during startup (exit code 1)");
		expect(ran.stderr).toContain("\n  the database is from a newer version\n");
		expect(ran.stderr).not.toContain("earlier");
		expect(ran.stderr).toContain("`reeve doctor`");
		const json = await run("daemon", "start", "--json");
		expect(JSON.parse(json.stdout)).toMatchObject({ error: { code: "daemon_failed" } });
	});

	test("one that never responds is killed and reported", async () => {
		const folder = temporaryFolder();
		const program = join(folder, "main.mjs");
		writeFileSync(program, "console.log('waiting ' + process.pid); setInterval(() => {}, 1000);");
		const home = resolveHome({ REEVE_HOME: join(folder, "home") });
		await expect(
			ensureDaemon({ home, env: process.env, program, startMsMax: 700 }),
		).rejects.toThrow(/did not respond within 700ms and was killed\n {2}waiting \d+/);
		const pid = Number(/\d+/.exec(readFileSync(home.daemonLog, "utf8"))?.[0]);
		await sleep(100);
		expect(() => process.kill(pid, 0)).toThrow("ESRCH");
	});

	test("none is started beside one that is only busy", async () => {
		const folder = temporaryFolder();
		const home = resolveHome({ REEVE_HOME: join(folder, "home") });
		mkdirSync(home.dir);
		const busyUntilMs = performance.now() + 3_000;
		const busy = createServer((_, response) => {
			const leftMs = Math.max(0, busyUntilMs - performance.now());
			setTimeout(() => response.end(JSON.stringify({ status: "ok", pid: 1 })), leftMs);
		});
		onTestFinished(() => {
			busy.closeAllConnections();
			busy.close();
		});
		await new Promise<void>((listening) => busy.listen(home.socket, listening));
		const program = join(folder, "missing.mjs");
		expect(await ensureDaemon({ home, env: process.env, program })).toEqual({ started: null });
	});

	test("one that finds the home served is waited for, however busy the other is", async () => {
		const folder = temporaryFolder();
		const home = resolveHome({ REEVE_HOME: join(folder, "home") });
		const program = join(folder, "served.mjs");
		// A daemon that lost the race exits without a failure as soon as the other one listens.
		writeFileSync(program, "process.exit(0);");
		mkdirSync(home.dir);
		const busyUntilMs = performance.now() + 4_000;
		const other = createServer((_, response) => {
			const leftMs = Math.max(0, busyUntilMs - performance.now());
			setTimeout(() => response.end(JSON.stringify({ pid: 1, services: [] })), leftMs);
		});
		onTestFinished(() => {
			other.closeAllConnections();
			other.close();
		});
		const starting = ensureDaemon({ home, env: process.env, program, startMsMax: 20_000 });
		await sleep(300);
		other.listen(home.socket);
		expect(await starting).toEqual({ started: null });
		other.closeAllConnections();
		await new Promise((closed) => other.close(closed));
		await expect(
			ensureDaemon({ home, env: process.env, program, startMsMax: 700 }),
		).rejects.toThrow("another daemon owns this home and did not respond within 700ms");
	});

	test("a missing program is reported", async () => {
		const folder = temporaryFolder();
		const home = resolveHome({ REEVE_HOME: join(folder, "home") });
		const program = join(folder, "missing.mjs");
		await expect(ensureDaemon({ home, env: process.env, program })).rejects.toThrow(
			/exited during startup.*Cannot find module/s,
		);
	});

	test("an unusable home, or one with a long path, is reported first", async () => {
		const { program } = plant();
		const folder = temporaryFolder();
		writeFileSync(join(folder, "file"), "");
		const file = await runReeve(["daemon", "start"], {
			program,
			env: { REEVE_HOME: join(folder, "file") },
		});
		expect([file.code, file.stderr]).toEqual([1, expect.stringContaining("as the home")]);
		const long = await runReeve(["daemon", "start"], {
			program,
			env: { REEVE_HOME: join(folder, "x".repeat(100)) },
		});
		expect([long.code, long.stderr]).toEqual([2, expect.stringContaining("a shorter path")]);
		expect(existsSync(join(folder, "x".repeat(100)))).toBe(false);
	});
});

describe("reeve daemon run", () => {
	async function runInForeground(program: string, env: Record<string, string>) {
		const child: ChildProcess = spawn(process.execPath, [program, "daemon", "run"], {
			env: { PATH: process.env["PATH"], ...env },
			stdio: ["ignore", "pipe", "pipe"],
		});
		onTestFinished(() => void child.kill("SIGKILL"));
		const [first] = (await once(child.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
		const pid = Number(/pid (\d+)/.exec(first.toString())?.[1]);
		onTestFinished(() => end(pid));
		return { child, pid };
	}

	test.each([
		["SIGINT", 7],
		["SIGTERM", 0],
		["SIGHUP", 0],
	] as const)("forwards %s, and exits like the daemon", async (signal, exit) => {
		const { program, home, env } = plant();
		mkdirSync(home);
		const { child } = await runInForeground(program, env);
		const [more, [code]] = await Promise.all([
			once(child.stdout as NodeJS.ReadableStream, "data"),
			once(child, "exit"),
			child.kill(signal),
		]);
		expect(String(more)).toContain(`ended by ${signal}`);
		expect(code).toBe(exit);
	});

	test("a daemon that dies by a signal is reported like in a shell", async () => {
		const { program, home, env } = plant();
		mkdirSync(home);
		const { child, pid } = await runInForeground(program, env);
		const [[code]] = await Promise.all([once(child, "exit"), end(pid)]);
		expect(code).toBe(137);
	});

	test("refuses where one runs already", async () => {
		const home = temporaryFolder();
		await startFakeDaemon({ "GET /api/v1/daemon": () => daemonJson(home) }, {}, home);
		const ran = await runReeve(["daemon", "run"], { env: { REEVE_HOME: home } });
		expect([ran.code, ran.stdout]).toEqual([5, ""]);
		expect(ran.stderr).toContain("already running (pid 4194000)");
	});
});

describe("reeve daemon status and stop", () => {
	test("status shows the daemon and its parts", async () => {
		const home = temporaryFolder();
		const problems = ["the notifier is down"];
		const daemon = daemonJson(home, { ready: false, problems });
		await startFakeDaemon({ "GET /api/v1/daemon": () => daemon }, {}, home);
		const ran = await runReeve(["daemon", "status"], { env: { REEVE_HOME: home } });
		expect([ran.code, ran.stderr]).toEqual([0, ""]);
		expect(ran.stdout).toMatch(/^state +not ready$/m);
		expect(ran.stdout).toMatch(/^problem +the notifier is down$/m);
		expect(ran.stdout).toMatch(/^engine +running +0 +critical$/m);
	});

	test("none is exit code 3, as text and as JSON", async () => {
		const home = temporaryFolder();
		const env = { REEVE_HOME: home };
		const ran = await runReeve(["daemon", "status"], { env });
		expect([ran.code, ran.stdout]).toEqual([3, ""]);
		expect(ran.stderr).toContain("`reeve daemon start`");
		const json = await runReeve(["daemon", "status", "--json"], { env });
		expect([json.code, JSON.parse(json.stdout)]).toEqual([
			3,
			{ running: false, home, socket: join(home, "reeve.sock") },
		]);
	});

	test("stop --all reports how the agents were stopped; without it, how many keep running", async () => {
		const home = temporaryFolder();
		const stopped = [
			{ id: "web:db", outcome: "timed_out_killed", duration_ms: 10_000, reason: null, killed: [] },
		] as const;
		const fake = await startFakeDaemon(
			{
				"GET /api/v1/daemon": () => daemonJson(home),
				"GET /api/v1/agents": () => ({ agents: [agentJson("web:db"), agentJson("web:coder")] }),
				"POST /api/v1/daemon/stop": (_, { all }) => {
					setTimeout(() => void fake.close(), 20);
					return { stopped: all ? stopped : [] };
				},
			},
			{},
			home,
		);
		const ran = await runReeve(["daemon", "stop", "--all"], { env: fake.env });
		expect(ran.code).toBe(0);
		expect(ran.stdout).toMatch(/^web:db +timed out, killed +10s$/m);
		expect(ran.stdout).toMatch(/^daemon stopped \(pid 4194000\)$/m);
	});
});

test.each([
	["down", "--all"],
	["restart", "--all"],
	["resume", "web:a"],
	["answer", "web:a", "stop"],
	["send", "web:a", "hi"],
	["ps"],
	["sessions"],
	["logs", "web:a"],
	["events"],
	["explain", "web:a"],
	["daemon", "stop"],
	["daemon", "status"],
])("without a daemon `reeve %s %s` is exit code 3 with a hint", async (...args) => {
	const words = args.filter((word) => word !== undefined);
	const env = { REEVE_HOME: join(temporaryFolder(), "home") };
	const ran = await runReeve(words, { env });
	expect([ran.code, ran.stdout]).toEqual([3, ""]);
	expect(ran.stderr).toMatch(
		/^error: no daemon is listening at .*\nhint: Start one with `reeve up` or/,
	);
	const json = await runReeve([...words, "--json"], { env });
	expect(json.code).toBe(3);
	expect(typeof JSON.parse(json.stdout)).toBe("object");
	expect(json.stderr).toBe("");
});

test("a stale socket is no daemon", async () => {
	const home = temporaryFolder();
	const server = spawn(process.execPath, [
		"-e",
		`require("net").createServer().listen(${JSON.stringify(join(home, "reeve.sock"))}, () => console.log("up"))`,
	]);
	await once(server.stdout, "data");
	server.kill("SIGKILL");
	await once(server, "exit");
	expect(existsSync(join(home, "reeve.sock"))).toBe(true);
	expect((await runReeve(["ps"], { env: { REEVE_HOME: home } })).code).toBe(3);
});

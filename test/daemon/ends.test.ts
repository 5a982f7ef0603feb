/** The ends of the daemon: requested, forced, and by unexpected errors. Real processes. */

import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { readCrashReports } from "../../src/home/crash-reports.js";
import { eventually } from "../faults/fleet-home.js";
import { type BrokenHome, CANARY, createBrokenHome } from "./broken-home.js";

let broken: BrokenHome;
afterEach(() => broken.close(), 120_000);

describe("a daemon that fails", { timeout: 120_000 }, () => {
	test("by an uncaught error exits, leaves a report without secrets, and keeps its agents", async () => {
		broken = createBrokenHome();
		const { fleet, home, pids } = broken;
		fleet.writeFleet(`a: { command: [sleep, "1000"], env: { WORD: canary-agent-77aa } }`);
		await fleet.must("up");
		const before = await pids();
		for (const [how, cause] of [
			["throw", "uncaught_exception"],
			["reject", "unhandled_rejection"],
		] as const) {
			await broken.breakDaemon(how);
			await broken.gone();
			const { report, path } = broken.reports().at(-1) ?? { path: "" };
			expect(report).toMatchObject({ cause, message: expect.stringContaining("[struck out]") });
			expect(report?.stack).toContain("breaks-on-signal.mjs");
			expect(report?.services.map((service) => service.name)).toContain("engine");
			expect(report?.events.map(({ type }) => type)).toContain("agent.started");
			expect(report?.log.join()).toContain("uncaught error");
			expect(statSync(path).mode & 0o777).toBe(0o600);
			await broken.start();
			expect(await pids()).toEqual(before);
		}
		const all = broken.reports().map(({ text }) => text);
		expect(all).toHaveLength(2);
		for (const secret of [CANARY, "canary-agent-77aa"]) expect(all.join()).not.toContain(secret);
		const [newest] = await readCrashReports(home);
		expect(newest?.report.cause).toBe("unhandled_rejection");
	});

	test("without a report is detected by the next one, and Node's output at out of memory is included", async () => {
		broken = createBrokenHome({ NODE_OPTIONS: "--max-old-space-size=64" });
		await broken.start();
		await broken.kill();
		expect(broken.reports()).toEqual([]);
		await broken.start();
		expect(broken.reports()).toMatchObject([{ report: { cause: "killed", uptime_ms: null } }]);
		expect(broken.reports()[0]?.report.events.at(-1)?.type).toBe("daemon.started");
		await broken.breakDaemon("memory");
		await broken.gone();
		await broken.start();
		expect(broken.reports().at(-1)).toMatchObject({
			report: { cause: "out_of_memory", message: expect.stringContaining("heap") },
		});
	});
});

describe("signals", { timeout: 120_000 }, () => {
	test("SIGINT and SIGTERM stop it cleanly with code 0 and without a crash report", async () => {
		broken = createBrokenHome();
		for (const signal of ["SIGINT", "SIGTERM"] as const) {
			const { child, ended } = await broken.startChild();
			child.kill(signal);
			expect(await ended).toEqual({ code: 0, signal: null });
			expect([broken.home.socket, broken.home.marker].filter(existsSync)).toEqual([]);
		}
		expect(broken.reports()).toEqual([]);
	});

	test("a second one forces it, even during a call", async () => {
		broken = createBrokenHome();
		const { client, fleet } = broken;
		const { child, ended } = await broken.startChild();
		fleet.writeFleet(`slow: { kind: call, command: [sleep, "1000"], timeout: 10m }`);
		await fleet.must("up");
		await client.call("POST /api/v1/tasks", { body: { agent: "p:slow", action: "wait" } });
		const begun = async () =>
			(await client.call("GET /api/v1/tasks")).tasks.some(({ status }) => status === "in_progress");
		await eventually(begun, "a call is running");
		child.kill("SIGTERM");
		await eventually(() => broken.log().includes("stop requested"), "it was reported");
		child.kill("SIGTERM");
		expect(await ended).toEqual({ code: 1, signal: null });
		expect(broken.reports()).toEqual([]);
	});
});

describe("a reload", { timeout: 120_000 }, () => {
	test("applies settings, keeps the previous ones if the file is broken, and reopens a moved log", async () => {
		broken = createBrokenHome();
		const { home, fleet, status, client } = broken;
		const { child } = await broken.startChild();
		const reload = () => client.call("POST /api/v1/daemon/reload");
		expect(await reload()).toEqual({ changed: false, keys: [], problem: null });

		writeFileSync(home.settings, JSON.stringify({ listen: "127.0.0.1:0" }));
		expect(await fleet.must("daemon", "reload")).toBe("applied: listen\n");
		await eventually(async () => (await status()).url !== null, "it listens");
		const { url } = await status();

		writeFileSync(home.settings, "{ broken");
		const refused = await fleet.reeve("daemon", "reload");
		expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(home.settings)]);
		const during = await status();
		expect(during).toMatchObject({ url, ready: true });
		expect(during.problems.join()).toContain(home.settings);

		writeFileSync(home.settings, "{}");
		renameSync(home.daemonLog, `${home.daemonLog}.moved`);
		// As when the terminal closes in which it was started: its output leads nowhere from now on.
		child.stderr.destroy();
		child.kill("SIGHUP");
		await eventually(async () => (await status()).url === null, "it no longer listens");
		expect(await status()).toMatchObject({ pid: child.pid, problems: [] });
		await eventually(() => existsSync(home.daemonLog), "the log is at its place");
		await reload();
		expect(readFileSync(home.daemonLog, "utf8")).toContain("reloaded");
		expect(statSync(home.daemonLog).mode & 0o777).toBe(0o600);
	});
});

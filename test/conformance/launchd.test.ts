/**
 * The launchd backend, over a simulated launchd. Every run has its own starter, which is expensive, so the process
 * suites, which mainly test the pty backend, run over it only on request.
 */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
	createLaunchctl,
	explainLaunchdProblem,
	parseJob,
} from "../../src/backends/launchd/launchctl.js";
import { isAlive, lookUp, readIdentity } from "../../src/host/process-identity.js";
import { signalVerified } from "../../src/host/process-tree.js";
import { eventually, listen, startOk } from "../../src/testing/conformance/backend-world.js";
import { temporaryFolder } from "../support/reeve.js";
import { runBackendSuite } from "./backend-suite.js";
import { createLaunchdWorld, type LaunchdWorld } from "./launchd-world.js";
import { runKillSuite, runProcessSuite } from "./process-suite.js";

const ALL = process.env["REEVE_LAUNCHD_ALL"] !== undefined;

runBackendSuite("launchd", () => createLaunchdWorld(), ALL ? 50 : 5);
if (ALL) {
	runProcessSuite("launchd", () => createLaunchdWorld());
	runKillSuite("launchd", () => createLaunchdWorld());
	runKillSuite("launchd without control groups", () => createLaunchdWorld({ groups: false }));
}

describe("runs as jobs", { timeout: 120_000 }, () => {
	let world: LaunchdWorld;
	beforeEach(async () => {
		world = await createLaunchdWorld();
	});
	afterEach(() => world.close(), 60_000);

	test("each run has a job of its own, whose property list contains nothing about the agent (A5)", async () => {
		const backend = world.connect();
		const env = { PATH: "/usr/bin:/bin", API_KEY: "a-canary" };
		const request = world.run(["sleep", "1000"], { env });
		const handle = await startOk(backend, request);
		const other = await startOk(backend, world.request({ type: "lives-on" }));
		const labels = [handle, other].map(({ data }) => String(data["label"]));
		expect(world.jobs().sort()).toEqual(labels.sort());
		const plists = readdirSync(world.backendFolder).map((name) =>
			readFileSync(join(world.backendFolder, name, "job.plist"), "utf8"),
		);
		expect(plists).toHaveLength(2);
		for (const plist of plists) expect(plist).not.toMatch(/canary|sleep|1000/);
	});

	test("the death of one shim touches no other agent (S17)", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const first = await startOk(backend, world.request({ type: "lives-on" }));
		const entry = lookUp(first.process.pid);
		const shim = readIdentity(typeof entry === "string" ? 0 : entry.ppid);
		const second = await startOk(backend, world.request({ type: "lives-on" }));
		if (shim === null) throw new Error("the run has no shim");
		signalVerified(shim, "SIGKILL");
		await eventually(() => exits.first(first.runId));
		expect(isAlive(second.process)).toBe(true);
		expect(exits.first(second.runId)).toBeUndefined();
	});

	test("a forgotten run leaves neither job nor folder", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const handle = await startOk(backend, world.request({ type: "exits", code: 3 }));
		expect(await eventually(() => exits.first(handle.runId))).toMatchObject({ code: 3 });
		await backend.forget(handle.runId);
		expect([world.jobs(), readdirSync(world.backendFolder)]).toEqual([[], []]);
	});

	test("a failed start leaves nothing behind", async () => {
		const started = await world.connect().start(world.request({ type: "is-missing" }));
		expect(started).toMatchObject({ ok: false, failure: { permanent: true } });
		expect([world.jobs(), readdirSync(world.backendFolder)]).toEqual([[], []]);
	});

	test("a starter that cannot start is reported with the exit of its job", async () => {
		Object.assign(world.options, { program: "/bin/false" });
		const request = world.request({ type: "lives-on" });
		expect(await world.connect().start(request)).toMatchObject({
			ok: false,
			failure: {
				permanent: false,
				detail: expect.stringMatching(/reeve\.run\.\w+ exited before it was ready \(exit code 1\)/),
			},
		});
	});
});

describe("output of launchctl", () => {
	const job = (...lines: string[]) =>
		`gui/501/x = {\n\tdomain = {\n\t\tpid = 1\n\t\tlast exit code = 99\n\t}\n${lines.map((line) => `\t${line}\n`).join("")}}\n`;

	test.each([
		[["state = running", "pid = 12", "last exit code = (never exited)"], 12, null],
		[["state = not running", "last exit code = 0"], null, "exit code 0"],
		[["state = not running", "last exit code = 78: EX_CONFIG"], null, "exit code 78"],
		[["state = not running", "last terminating signal = Killed: 9"], null, "Killed: 9"],
		[["state = waiting"], null, null],
	])("%j", (lines, pid, ended) => {
		expect(parseJob(job(...lines))).toEqual({ pid, ended });
	});

	test("a missing launchd, or a missing session of the user, is reported", () => {
		const folder = temporaryFolder();
		const env = { PATH: process.env["PATH"], FAKE_SERVICES: folder };
		const program = resolve("test/fixtures/launchd/launchctl.pl");
		const here = { domain: "gui/501", program, env };
		expect(explainLaunchdProblem(here)).toBeNull();
		writeFileSync(join(folder, "no-desktop"), "");
		expect(explainLaunchdProblem(here)).toContain("the launchd session gui/501 does not exist");
		const none = { ...here, program: "/nowhere/launchctl" };
		expect(explainLaunchdProblem(none)).toBe("launchd is only available on macOS");
	});

	test("an unknown state is never treated as an absence", async () => {
		const options = { domain: "gui/501", env: process.env };
		const missing = createLaunchctl({ ...options, program: "/nowhere/launchctl" });
		await expect(missing.print("x")).rejects.toThrow("launchctl print");
		const failing = createLaunchctl({ ...options, program: "false" });
		await expect(failing.print("x")).rejects.toThrow();
	});
});

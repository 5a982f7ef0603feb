/** The checks of `reeve doctor` one by one, each with the problem that it detects. */

import {
	chmodSync,
	mkdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { CheckContext } from "../../src/cli/checks/check.js";
import {
	checkBackends,
	checkCrashes,
	checkDaemon,
	checkLimits,
	checkLog,
} from "../../src/cli/checks/daemon.js";
import { checkDatabase, checkStrays } from "../../src/cli/checks/inspected.js";
import { checkFiles, checkHome, checkRoom, checkSocket } from "../../src/cli/checks/places.js";
import { checkAgentClis, checkNode, checkTmuxVersion } from "../../src/cli/checks/programs.js";
import { checkService } from "../../src/cli/checks/service.js";
import type { Inspection } from "../../src/client/inspection.js";
import { ReeveError } from "../../src/core/errors.js";
import { findStrays, holderFolder, type StrayFacts } from "../../src/daemon/inspection/strays.js";
import { resolveHome } from "../../src/home/paths.js";
import { inspectDatabase } from "../../src/store/sqlite/inspect-database.js";
import { openStore } from "../../src/store/sqlite/open-store.js";
import { createServiceWorld } from "../daemon-install/world.js";
import { daemonJson } from "../support/agents.js";
import { temporaryFolder } from "../support/reeve.js";

const NOTHING: Inspection = { database: { state: "absent" }, limits: [], strays: [] };

function contextOf(facts: Partial<CheckContext> = {}): CheckContext {
	const dir = temporaryFolder();
	return {
		...{ home: resolveHome({ REEVE_HOME: dir }), env: { PATH: dir }, file: "reeve.yaml" },
		daemon: Promise.resolve(new ReeveError("no_daemon", "none")),
		inspection: Promise.resolve(NOTHING),
		...facts,
	};
}

const inspected = (facts: Partial<Inspection>) =>
	contextOf({
		inspection: Promise.resolve({ ...NOTHING, ...facts }),
	});

function addProgram(folder: string, name: string, script: string): void {
	writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
	chmodSync(join(folder, name), 0o755);
}

describe("programs", () => {
	test.each([
		["20.19.0", "ok"],
		["24.1.0", "ok"],
		["20.18.3", "fail"],
		["18.20.0", "fail"],
	])("Node %s is %s", (version, status) => {
		expect(checkNode(version).status).toBe(status);
	});

	test.each([
		["tmux 3.5a", "ok"],
		["tmux 3.2", "ok"],
		["tmux next-3.6", "ok"],
		["tmux master", "ok"],
		["tmux 2.9", "warn"],
		["tmux 1.8", "warn"],
	])("%s is %s", (version, status) => {
		expect(checkTmuxVersion(version).status).toBe(status);
	});

	test("agent CLIs are named with their version, also one that takes too long or fails", async () => {
		const folder = temporaryFolder();
		const context = contextOf({ env: { PATH: folder } });
		expect(await checkAgentClis(context)).toMatchObject({
			...{ status: "warn", fix: expect.stringContaining("`command`") },
		});
		addProgram(folder, "claude", "echo '2.1.3 (Claude Code)'");
		addProgram(folder, "codex", "exec /bin/sleep 60");
		addProgram(folder, "aider", "exit 1");
		expect((await checkAgentClis(context)).detail).toBe(
			"claude 2.1.3, codex (unknown version), aider (unknown version)",
		);
	});
});

describe("places", () => {
	test("files that others may read are failures, each with its mode and its fix", async () => {
		const context = contextOf();
		const { home } = context;
		expect((await checkFiles(context)).status).toBe("ok");
		mkdirSync(home.logs, { mode: 0o700 });
		writeFileSync(home.token, "secret", { mode: 0o600 });
		expect((await checkFiles(context)).status).toBe("ok");
		chmodSync(home.token, 0o644);
		chmodSync(home.logs, 0o755);
		expect(await checkFiles(context)).toEqual({
			status: "fail",
			detail: `${home.token} is accessible to other users (mode 644); ${home.logs} is accessible to other users (mode 755)`,
			fix: `chmod 600 ${home.token}; chmod 700 ${home.logs}`,
		});
	});

	test("a file that is a link elsewhere is a failure", async () => {
		const context = contextOf();
		symlinkSync("/dev/null", context.home.tokens);
		expect((await checkFiles(context)).detail).toBe(`${context.home.tokens} is a symbolic link`);
	});

	test("a socket may be left over, open to other users, or not a socket", async () => {
		const context = contextOf();
		const { socket } = context.home;
		const server = createServer().listen(socket);
		await new Promise((resolve) => server.once("listening", resolve));
		chmodSync(socket, 0o666);
		expect(await checkSocket(context)).toMatchObject({
			status: "fail",
			fix: `chmod 600 ${socket}`,
		});
		chmodSync(socket, 0o600);
		expect((await checkSocket(context)).detail).toContain("the daemon listens");
		renameSync(socket, `${socket}.left`);
		await new Promise((resolve) => server.close(resolve));
		renameSync(`${socket}.left`, socket);
		expect((await checkSocket(context)).detail).toBe(
			`${socket} is left over from a daemon that no longer runs`,
		);
		rmSync(socket);
		writeFileSync(socket, "");
		expect((await checkSocket(context)).detail).toContain("is not a socket");
	});

	test.each([
		[50 * 2 ** 20, 10_000, "fail"],
		[500 * 2 ** 20, 10_000, "warn"],
		[2 ** 40, 10_000, "ok"],
		[2 ** 40, 3, "fail"],
		[2 ** 40, null, "ok"],
	])("%d bytes and %s inodes free is %s", (freeBytes, freeFiles, status) => {
		expect(checkRoom({ freeBytes, freeFiles }).status).toBe(status);
	});

	test("a home that other users can access is a failure", async () => {
		const context = contextOf();
		chmodSync(context.home.dir, 0o750);
		expect((await checkHome(context)).fix).toBe(`chmod 700 ${context.home.dir}`);
	});
});

describe("the daemon", () => {
	test("one that does not answer is a failure, none is not", async () => {
		expect((await checkDaemon(contextOf())).status).toBe("warn");
		const silent = new ReeveError("connection_lost", "it does not answer");
		const found = await checkDaemon(contextOf({ daemon: Promise.resolve(silent) }));
		expect(found).toMatchObject({ status: "fail", detail: "it does not answer" });
	});

	test("without a daemon, limits are reported for this shell", async () => {
		const limits = [{ limit: "memory", enforced: "no", detail: "not permitted" }] as const;
		expect(await checkLimits(inspected({ limits }))).toMatchObject({
			...{ status: "ok", detail: expect.stringContaining("from this shell: memory: not enforced") },
		});
	});

	test("crashes of the last week are counted, and the last is shown with its report", async () => {
		const context = contextOf();
		const { crashes } = context.home;
		expect((await checkCrashes(context)).status).toBe("ok");
		mkdirSync(crashes, { mode: 0o700 });
		const write = (name: string, at: Date, message: string) =>
			writeFileSync(
				join(crashes, `crash-${name}.json`),
				JSON.stringify({ at: at.toISOString(), cause: "out_of_memory", message }),
			);
		write("1", new Date(0), "of long ago");
		expect((await checkCrashes(context)).status).toBe("ok");
		write("2", new Date(), "heap out of memory");
		expect(await checkCrashes(context)).toMatchObject({
			...{ status: "warn", fix: `see ${join(crashes, "crash-2.json")}` },
			detail: expect.stringMatching(
				/^1 daemon crashed in the last 7 days.*\(out_of_memory\): heap out/,
			),
		});
	});

	test("backends are listed with the choice of auto and the reason", async () => {
		const backends = [
			{ name: "tmux", usable: true, auto: true, reason: "tmux owns the terminals" },
			{ name: "launchd", usable: false, auto: false, reason: "launchd is only available on macOS" },
		] as const;
		const daemon = Promise.resolve(daemonJson("/home", { backends }));
		expect((await checkBackends(contextOf({ daemon }))).detail).toBe(
			"tmux (used by auto): tmux owns the terminals; launchd (not available): launchd is only available on macOS",
		);
		expect((await checkBackends(contextOf())).detail).toBe("only a running daemon can report this");
	});

	test("errors of the last day in its log are counted, and the last is shown", async () => {
		const context = contextOf();
		const { daemonLog } = context.home;
		expect((await checkLog(context)).status).toBe("ok");
		const line = (at: Date, level: string, msg: string) =>
			`${JSON.stringify({ at: at.toISOString(), level, msg, error: "Error: EMFILE\n    at x" })}\n`;
		const now = new Date();
		writeFileSync(daemonLog, line(new Date(0), "error", "of long ago") + line(now, "info", "fine"));
		expect((await checkLog(context)).status).toBe("ok");
		writeFileSync(
			daemonLog,
			`no json\n${line(now, "error", "failed")}${line(now, "error", "worse")}`,
		);
		expect(await checkLog(context)).toEqual({
			...{ status: "warn", fix: `see ${daemonLog}` },
			detail: "2 errors in the last 24 hours, most recently: worse: Error: EMFILE",
		});
	});
});

describe("the database", () => {
	const pathIn = (folder: string) => join(folder, "reeve.db");
	async function makeDatabase(): Promise<string> {
		const path = pathIn(temporaryFolder());
		const opened = await openStore(path);
		if (!opened.ok) throw new Error(opened.reason);
		await opened.store.close();
		return path;
	}

	test("a missing, a valid and a very large database are distinguished, and not changed", async () => {
		expect(await inspectDatabase(pathIn(temporaryFolder()), [])).toEqual({ state: "absent" });
		const path = await makeDatabase();
		const before = readFileSync(path);
		const bytes = statSync(path).size;
		expect(await inspectDatabase(path, ["unknown"])).toEqual({
			state: "sound",
			bytes,
			runs: [],
		});
		expect(await inspectDatabase(path, [], 10)).toEqual({ state: "unread", bytes, runs: [] });
		expect(readFileSync(path)).toEqual(before);
		const large = await checkDatabase(inspected({ database: { state: "unread", bytes: 2 ** 30 } }));
		expect(large).toMatchObject({ status: "ok", detail: expect.stringContaining("quick_check") });
	});

	test("a damaged one and one of a newer Reeve are failures with the reason and the fix", async () => {
		const path = await makeDatabase();
		const bytes = readFileSync(path);
		bytes.writeUInt32BE(9_999, 60);
		writeFileSync(path, bytes);
		const newer = await inspectDatabase(path, []);
		expect(newer).toMatchObject({
			state: "unusable",
			reason: expect.stringContaining("newer Reeve"),
		});
		bytes.fill(0x55, 4_096, 12_288);
		bytes.writeUInt32BE(0, 60);
		writeFileSync(path, bytes);
		expect(await inspectDatabase(path, [])).toMatchObject({ state: "unusable" });
		const database = { state: "unusable", reason: "it is damaged", hint: "Move it away." } as const;
		expect(await checkDatabase(inspected({ database }))).toEqual({
			...{ status: "fail", detail: "it is damaged", fix: "Move it away." },
		});
	});

	test("a failed check is no result", async () => {
		const inspection = Promise.reject(new Error("no answer within 10 s"));
		inspection.catch(() => {});
		await expect(checkDatabase(contextOf({ inspection }))).rejects.toThrow("no answer");
	});
});

describe("stray processes", () => {
	const holder = { pid: 10, folder: "/home/run/tmux", folderIsThere: true };
	const facts: StrayFacts = {
		processes: [
			{ pid: 10, ppid: 1, runId: null },
			{ pid: 11, ppid: 10, runId: "run-a" },
			{ pid: 12, ppid: 11, runId: "run-a" },
		],
		holders: [holder],
		otherShims: new Set(),
		recordedRuns: new Set(),
		runs: [{ runId: "run-a", agentId: "web:a", hasEnded: false }],
		hasDaemon: true,
	};

	test("files of a running daemon are not leftovers", () => {
		expect(findStrays(facts)).toEqual([]);
	});

	test("without a daemon, its agents are named once each", () => {
		const strays = findStrays({ ...facts, hasDaemon: false });
		expect(strays).toEqual([{ what: "left", pid: 11, runId: "run-a", of: "web:a" }]);
	});

	test("leftovers of an ended run and unknown processes are reported", () => {
		const runs = [{ runId: "run-a", agentId: "web:a", hasEnded: true }];
		expect(findStrays({ ...facts, runs })).toEqual([
			{ what: "ended", pid: 11, runId: "run-a", of: "web:a" },
		]);
		expect(findStrays({ ...facts, runs: [] })).toEqual([
			{ what: "unknown", pid: 11, runId: "run-a", of: null },
		]);
	});

	test("processes of another home are ignored", () => {
		expect(findStrays({ ...facts, runs: [], holders: [] })).toEqual([]);
		// After a home was copied, the copy knows the runs of the original.
		const copied = { ...facts, holders: [], otherShims: new Set([10]), hasDaemon: false };
		expect(findStrays(copied)).toEqual([]);
		const runs = [{ runId: "run-a", agentId: "web:a", hasEnded: true }];
		expect(findStrays({ ...copied, runs })).toEqual([]);
	});

	test("a holder whose folder was removed, and a recorded run that nothing holds, are found", () => {
		const gone = { ...holder, folderIsThere: false };
		expect(findStrays({ ...facts, holders: [gone] })).toEqual([
			{ what: "holder", pid: 10, runId: null, of: "/home/run/tmux" },
		]);
		const recordedRuns = new Set(["run-a"]);
		expect(findStrays({ ...facts, runs: [], holders: [], recordedRuns })).toEqual([
			{ what: "recorded", pid: 11, runId: "run-a", of: null },
		]);
	});

	test("holders are identified by their command lines only", () => {
		const tmux = [
			"/usr/bin/tmux",
			"-S",
			"/tmp/x.sock",
			"-f",
			"/h/run/tmux/tmux-0a1b2c3d.conf",
			"-C",
		];
		expect(holderFolder(tmux)).toBe("/h/run/tmux");
		const program = "/usr/lib/node_modules/reeve/dist/backends/pty/holder/holder-main.js";
		expect(holderFolder(["node", program, "/h/run/pty"])).toBe("/h/run/pty");
		const shim = "/usr/lib/node_modules/reeve/dist/native/bin/reeve-shim-linux-x64";
		expect(holderFolder([shim, "starter", "/h/run/pty"])).toBe("/h/run/pty");
		expect(holderFolder([shim, "run", "a-run"])).toBeNull();
		for (const argv of [[], ["tmux", "attach"], ["vim", "tmux-0a1b2c3d.conf"], ["node", "x.js"]]) {
			expect(holderFolder(argv)).toBeNull();
		}
	});

	test("each kind is reported with a fix", async () => {
		const strays = [
			{ what: "left", pid: 11, runId: "run-a", of: "web:a" },
			{ what: "ended", pid: 12, runId: "run-b", of: "web:b" },
			{ what: "unknown", pid: 13, runId: "run-c", of: null },
			{ what: "recorded", pid: 14, runId: "run-d", of: null },
		] as const;
		expect(await checkStrays(inspected({ strays }))).toEqual({
			status: "warn",
			detail:
				"1 agent without a daemon: web:a; pid 12 is left over from a finished run of web:b, pid 13 belongs to run run-c, which is not in the database, pid 14 belongs to run run-d, which is not in the database",
			fix: "`reeve daemon start` resumes supervision; inspect them: ps -fp 12,13,14; if they are not needed: kill 12 13",
		});
		expect((await checkStrays(contextOf())).status).toBe("ok");
	});
});

describe("the service", () => {
	const check = (world: ReturnType<typeof createServiceWorld>, changed = {}) =>
		checkService({ env: world.env, home: resolveHome(world.env) }, { ...world.host, ...changed });

	test("none is not a problem, whether it is available or not", async () => {
		const world = createServiceWorld("linux");
		expect(await check(world)).toMatchObject({
			...{ status: "ok", detail: expect.stringContaining("`reeve daemon install`") },
		});
		world.turn("no-bus");
		expect((await check(world)).detail).toContain(
			"not available: the systemd user manager is not reachable",
		);
	});

	test("a running one is fine; lingering, a failure, a stop and an old program are reported", async () => {
		const world = createServiceWorld("linux");
		await world.install();
		expect(await check(world)).toMatchObject({ status: "warn", fix: "loginctl enable-linger" });
		world.turn("lingers");
		expect(await check(world)).toMatchObject({
			...{ status: "ok", detail: expect.stringContaining("active") },
		});
		world.ended("failed");
		expect(await check(world)).toMatchObject({
			...{ status: "fail", fix: expect.stringContaining("systemctl --user start reeve") },
		});
		world.ended("inactive");
		expect((await check(world)).status).toBe("warn");
		world.turn("no-bus");
		expect((await check(world)).detail).toContain("installed, but the systemd user manager");
	});

	test("a service that runs another program, or a missing one, has to be installed again", async () => {
		const world = createServiceWorld("linux");
		const program = join(world.folder, "old/daemon/main.js");
		mkdirSync(join(world.folder, "old/daemon"), { recursive: true });
		writeFileSync(program, readFileSync(world.program));
		writeFileSync(join(world.folder, "old/package.json"), '{"type":"module"}');
		world.turn("lingers");
		await world.install({}, {}, { program });
		expect((await check(world, { program })).status).toBe("ok");
		expect(await check(world)).toMatchObject({ status: "warn", fix: "reeve daemon install" });
		writeFileSync(
			join(world.folder, ".config/systemd/user/reeve.service"),
			world.read(".config/systemd/user/reeve.service").replace(program, "/gone/daemon/main.js"),
		);
		expect(await check(world)).toMatchObject({
			...{
				status: "fail",
				detail: expect.stringContaining("/gone/daemon/main.js, which does not exist"),
			},
		});
	});
});

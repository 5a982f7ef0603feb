import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Check } from "../../src/cli/checks/check.js";
import { daemonJson } from "../support/agents.js";
import { startFakeDaemon } from "../support/fake-daemon.js";
import { runReeve, temporaryFolder } from "../support/reeve.js";

async function examine(home: string, { cwd = temporaryFolder(), path = "" } = {}) {
	const env = { REEVE_HOME: home, ...(path !== "" && { PATH: path }) };
	const { code, stdout, stderr } = await runReeve(["doctor", "--json"], { cwd, env });
	expect(stderr).toBe("");
	const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Check[] };
	expect(ok).toBe(code === 0);
	return { code, check: (name: string) => checks.find((each) => each.name === name), checks };
}

function program(name: string, script: string): string {
	const folder = temporaryFolder();
	writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
	chmodSync(join(folder, name), 0o755);
	symlinkSync("/bin/sh", join(folder, "sh"));
	return folder;
}

describe("reeve doctor", () => {
	test("a fresh host is fine: missing files are not failures", async () => {
		const { code, checks, check } = await examine(join(temporaryFolder(), "home"));
		expect(code).toBe(0);
		expect(checks.map(({ name }) => name)).toEqual([
			...["node", "tmux", "agent CLIs", "home", "files", "socket", "disk", "database"],
			...[
				"service",
				"settings",
				"daemon",
				"crashes",
				"log",
				"backends",
				"limits",
				"processes",
				"fleet file",
			],
		]);
		expect(check("home")).toMatchObject({ status: "ok" });
		expect(check("daemon")).toMatchObject({
			status: "warn",
			fix: expect.stringContaining("reeve up"),
		});
		for (const { status, fix } of checks) expect(fix === null).toBe(status === "ok");
		expect(check("database")?.detail).toContain("not created yet");
	});

	test("shows which limits are enforced, how, and a hint for the others", async () => {
		const limits = [
			{ limit: "memory", enforced: "process", detail: "RLIMIT_DATA" },
			{ limit: "pids", enforced: "no", detail: "not permitted" },
			{ limit: "cpu", enforced: "tree", detail: "control groups, version 2" },
		] as const;
		const home = temporaryFolder();
		await startFakeDaemon({ "GET /api/v1/daemon": () => daemonJson(home, { limits }) }, {}, home);
		expect((await examine(home)).check("limits")).toEqual({
			...{ name: "limits", status: "warn", fix: expect.stringContaining("Delegate=yes") },
			detail:
				"memory: per process only (RLIMIT_DATA); pids: not enforced (not permitted); cpu: enforced (control groups, version 2)",
		});
	});

	test("prints hints", async () => {
		const home = temporaryFolder();
		chmodSync(home, 0o755);
		const ran = await runReeve(["doctor"], { env: { REEVE_HOME: home } });
		expect(ran.code).toBe(1);
		expect(ran.stdout).toMatch(/^ok +node +Node \d+/m);
		expect(ran.stdout).toMatch(
			/^fail +home +.* is accessible to other users \(mode 755\)\n +fix: chmod 700 \//m,
		);
	});

	test("a home that is a file, or whose socket has too long a path, is a failure", async () => {
		const folder = temporaryFolder();
		writeFileSync(join(folder, "file"), "");
		expect((await examine(join(folder, "file"))).check("home")).toMatchObject({ status: "fail" });
		const long = await examine(join(folder, "x".repeat(100)));
		expect([long.code, long.check("socket")?.status]).toEqual([1, "fail"]);
		expect(long.check("daemon")?.fix).toBe("Set REEVE_HOME to a shorter path.");
	});

	const asRoot = {
		skip: process.getuid?.() !== 0,
		meta: { skipReason: "only root can give a folder away" },
	};
	test("a home of another user is a failure", asRoot, async () => {
		const home = join(temporaryFolder(), "home");
		mkdirSync(home, { mode: 0o700 });
		chownSync(home, 12_345, 12_345);
		expect((await examine(home)).check("home")?.detail).toContain("another user (uid 12345)");
	});

	test("tmux may be missing, broken or old: sessions then use another backend", async () => {
		const home = temporaryFolder();
		const missing = await examine(home, { path: temporaryFolder() });
		expect(missing.check("tmux")?.detail).toContain("pty backend");
		const broken = await examine(home, { path: program("tmux", "exit 1") });
		expect(broken.check("tmux")).toMatchObject({ status: "warn" });
		const good = await examine(home, { path: program("tmux", "echo tmux 3.5a") });
		expect(good.check("tmux")).toMatchObject({ status: "ok", detail: "tmux 3.5a" });
	});

	test("a damaged database is a failure with a hint", async () => {
		const home = temporaryFolder();
		writeFileSync(
			join(home, "reeve.db"),
			"this is no database, though it is long enough".repeat(99),
			{
				mode: 0o600,
			},
		);
		const { code, check } = await examine(home);
		expect([code, check("database")?.status]).toEqual([1, "fail"]);
		expect(check("database")?.detail).toContain("is damaged or not a database");
		expect(check("database")?.fix).toContain("Move it together");
	});

	test("a daemon may be healthy, of another version, not ready, or hang", async () => {
		const home = temporaryFolder();
		let reported = daemonJson(home);
		let silent = false;
		await startFakeDaemon(
			{ "GET /api/v1/daemon": () => reported },
			{ intercept: () => silent },
			home,
		);
		expect((await examine(home)).check("daemon")).toMatchObject({ status: "ok" });
		reported = daemonJson(home, { version: "0.0.9" });
		expect((await examine(home)).check("daemon")).toMatchObject({
			...{ status: "warn", fix: expect.stringContaining("reeve daemon restart") },
		});
		reported = daemonJson(home, { ready: false, problems: ["the store is read only"] });
		expect((await examine(home)).check("daemon")?.detail).toContain("the store is read only");
		silent = true;
		const hung = await examine(home);
		expect([hung.code, hung.check("daemon")?.status]).toEqual([1, "fail"]);
		expect(hung.check("daemon")?.detail).toContain("does not respond");
	});

	test("a fleet file is checked if there is one", async () => {
		const home = temporaryFolder();
		const cwd = temporaryFolder();
		writeFileSync(join(cwd, "reeve.yaml"), "version: 1\nprojcts: {}\n");
		const wrong = await examine(home, { cwd });
		expect([wrong.code, wrong.check("fleet file")]).toEqual([
			1,
			expect.objectContaining({ status: "fail", fix: "reeve validate reeve.yaml" }),
		]);
	});
});

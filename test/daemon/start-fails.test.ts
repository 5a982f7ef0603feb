/** A host without room for a daemon: the reason is one clear sentence, and the next start succeeds. */

import { spawnSync } from "node:child_process";
import { cpSync, lstatSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { resolveHome } from "../../src/home/paths.js";
import { createFileVault } from "../../src/store/vault/file-vault.js";
import { createFleetHome, type FleetHome } from "../faults/fleet-home.js";
import { fill, mountDisk } from "../store/support.js";
import { REEVE } from "../support/reeve.js";

const STACK = /\n\s+at |node:internal/;

function homeOnDisk(sizeKib: number): { home: FleetHome; ballast: string } | string {
	const disk = mountDisk(sizeKib);
	if (typeof disk === "string") return disk;
	const folder = join(disk.folder, "fleet");
	mkdirSync(folder);
	const home = createFleetHome({}, folder);
	onTestFinished(() => home.close());
	return { home, ballast: join(disk.folder, "ballast") };
}

test("a disk that is full before the first start is named as the reason", {
	timeout: 120_000,
}, async (context) => {
	const made = homeOnDisk(16_384);
	if (typeof made === "string") return context.skip(made);
	const { home, ballast } = made;
	fill(ballast);
	const refused = await home.reeve("daemon", "start");
	expect(refused.code).toBe(1);
	expect(refused.stderr).toMatch(/the disk of .*home is full/);
	expect(refused.stderr).not.toMatch(STACK);
	rmSync(ballast);
	await home.must("daemon", "start");
});

test("a full disk at startup is reported; agents survive and are adopted", {
	timeout: 120_000,
}, async (context) => {
	const made = homeOnDisk(16_384);
	if (typeof made === "string") return context.skip(made);
	const { home, ballast } = made;
	home.writeFleet("a: { command: [sleep, '1000'], backend: pty }");
	await home.must("up");
	const [{ pid } = { pid: null }] = await home.ps();
	await home.killDaemon();
	fill(ballast);
	const refused = await home.reeve("daemon", "start");
	expect(refused.code).toBe(1);
	expect(refused.stderr).toMatch(/the disk of .*home is full/);
	expect(refused.stderr).not.toMatch(STACK);
	const log = readFileSync(join(home.env["REEVE_HOME"] ?? "", "daemon.log"), "utf8");
	expect(log).not.toContain(String.raw`\n    at `);
	process.kill(pid ?? Number.NaN, 0);
	rmSync(ballast);
	await home.must("daemon", "start");
	expect(await home.ps()).toMatchObject([{ id: "p:a", process: "running", pid }]);
});

test("environments that cannot be written are refused with the reason, not as a bug", {
	timeout: 120_000,
}, async (context) => {
	const made = homeOnDisk(16_384);
	if (typeof made === "string") return context.skip(made);
	const { home, ballast } = made;
	const { vault, locks } = resolveHome(home.env);
	mkdirSync(join(vault, ".."), { recursive: true });
	fill(ballast);
	const file = createFileVault(vault, { locks, onDamage: () => {} });
	await expect(file.update({ "p:a": { KEY: "value" } })).rejects.toMatchObject({
		...{ code: "store_unavailable", message: expect.stringContaining(`cannot write ${vault}`) },
	});
	rmSync(ballast);
	await file.update({ "p:a": { KEY: "value" } });
	expect(await file.read()).toEqual({ "p:a": { KEY: "value" } });
});

test.each([24, 64, 100])("with room for %i open files, a command reports it", (limit) => {
	const command = `ulimit -n ${limit}; exec "$@"`;
	const args = ["-c", command, "sh", process.execPath, REEVE, "daemon", "start"];
	const env = { PATH: process.env["PATH"], REEVE_HOME: "/nonexistent/home" };
	const { status, stderr } = spawnSync("sh", args, { env, encoding: "utf8" });
	expect(status).toBe(1);
	expect(stderr).toContain(`the limit on open files is ${limit}, but Reeve needs at least`);
	expect(stderr).toContain("ulimit -n");
	expect(stderr).not.toMatch(STACK);
});

test("a copy of a home whose daemon runs gets no daemon, and its doctor claims no agent of the original", {
	timeout: 120_000,
}, async () => {
	const home = createFleetHome();
	onTestFinished(() => home.close());
	home.writeFleet(
		"a: { command: [sleep, '1000'], backend: pty }\nb: { command: [sleep, '1000'], backend: tmux }",
	);
	await home.must("up");
	const before = await home.ps();
	const copy = join(home.folder, "copy");
	const original = home.env["REEVE_HOME"] ?? "";
	// Node copies no sockets.
	const filter = (path: string) => !lstatSync(path).isSocket();
	cpSync(original, copy, { recursive: true, filter });
	const there = { ...home.env, REEVE_HOME: copy };
	const reeve = (...args: string[]) =>
		spawnSync(process.execPath, [REEVE, ...args], {
			cwd: home.folder,
			env: there,
			encoding: "utf8",
		});
	const { checks } = JSON.parse(reeve("doctor", "--json").stdout) as {
		checks: { name: string; status: string; detail: string }[];
	};
	expect(checks.find(({ name }) => name === "processes")).toMatchObject({
		status: "ok",
		detail: "no orphaned agent processes",
	});
	const refused = reeve("daemon", "start");
	expect(refused.status).toBe(1);
	expect(refused.stderr).toContain("owns this home and does not respond");
	const pidsOf = (agents: typeof before) => agents.map(({ id, pid }) => [id, pid]);
	expect(pidsOf(await home.ps())).toEqual(pidsOf(before));
});

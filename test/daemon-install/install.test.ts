/** `reeve daemon install` and `uninstall`, against a simulated systemd and launchd, with a real daemon. */

import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ensureDaemon } from "../../src/cli/daemon-process.js";
import { gatherFacts } from "../../src/cli/service/installer.js";
import { startByKeeper } from "../../src/cli/service/keeper.js";
import { createClient } from "../../src/client/client.js";
import { resolveHome } from "../../src/home/paths.js";
import { createServiceWorld } from "./world.js";

const UNIT = ".config/systemd/user/reeve.service";
const PLIST = "Library/LaunchAgents/reeve.daemon.plist";
type World = ReturnType<typeof createServiceWorld>;

const homeOf = ({ env }: World) => resolveHome(env);
const statusOf = (world: World) =>
	createClient({ socketPath: homeOf(world).socket }).call("GET /api/v1/daemon");

async function startByHand(world: World): Promise<number> {
	mkdirSync(homeOf(world).dir, { recursive: true, mode: 0o700 });
	const { PATH, REEVE_HOME } = world.env;
	const child = spawn(process.execPath, [world.program], {
		env: { PATH, REEVE_HOME },
		stdio: "ignore",
	});
	onTestFinished(() => void child.kill("SIGKILL"));
	await vi.waitFor(() => statusOf(world), { timeout: 30_000 });
	return child.pid ?? 0;
}

describe("with systemd", () => {
	test("the unit is written, enabled and started, and the daemon gets PATH and home alone", async () => {
		const world = createServiceWorld("linux");
		const { code, result, said } = await world.install();
		expect([code, world.commands()]).toEqual([
			0,
			[
				"systemctl --user daemon-reload",
				"systemctl --user enable reeve.service",
				"systemctl --user restart reeve.service",
			],
		]);
		const { pid } = await statusOf(world);
		expect(result).toBe(
			`installed ${join(world.folder, UNIT)}; the daemon is running (pid ${pid})`,
		);
		expect(said).toContain("loginctl enable-linger");
		const { PATH, REEVE_HOME } = world.env;
		expect(JSON.parse(world.read("environment.json"))).toEqual({ PATH, REEVE_HOME });
		expect(world.read(UNIT)).not.toContain("hunter2");
		expect(statSync(join(world.folder, UNIT)).mode & 0o777).toBe(0o644);
		expect(statSync(world.env.REEVE_HOME).mode & 0o777).toBe(0o700);
	});

	test("installing again updates and replaces the daemon, and resets earlier failures", async () => {
		const world = createServiceWorld("linux");
		world.turn("lingers");
		const first = JSON.parse((await world.install({ json: true })).result) as { pid: number };
		const again = JSON.parse((await world.install({ json: true })).result) as { pid: number };
		expect(again).toEqual({
			...{ manager: "systemd", scope: "user", file: join(world.folder, UNIT), updated: true },
			...{ home: world.env.REEVE_HOME, pid: again.pid, handed_over: null, warnings: [] },
		});
		expect(again.pid).not.toBe(first.pid);
		world.turn("fails");
		const failed = await world.install();
		expect(failed.error).toMatchObject({ code: "service_failed" });
		expect(failed.error?.message).toContain(
			"`systemctl --user restart reeve.service` failed\n  Job for",
		);
		expect(failed.error?.message).toContain("the database is from a newer version");
		await world.install();
		expect(world.commands().at(-3)).toBe("systemctl --user reset-failed reeve.service");
	});

	test("a daemon that was started by hand is replaced", async () => {
		const world = createServiceWorld("linux");
		const byHand = await startByHand(world);
		const { result } = await world.install({ json: true });
		const reported = JSON.parse(result) as { pid: number };
		expect(reported).toMatchObject({ handed_over: byHand, updated: false });
		expect((await statusOf(world)).pid).toBe(reported.pid);
	});

	test("once it is installed, `daemon start` uses it", async () => {
		const world = createServiceWorld("linux");
		await world.install();
		const { pid } = await statusOf(world);
		process.kill(pid, "SIGTERM");
		await vi.waitFor(() => expect(statusOf(world)).rejects.toThrow(), { timeout: 30_000 });
		const { started } = await ensureDaemon({ home: homeOf(world), env: world.env });
		expect(started).toEqual({ pid: (await statusOf(world)).pid });
		expect(world.commands().at(-1)).toBe("systemctl --user --no-ask-password start reeve.service");
	});

	test("a service that cannot be reached, or of another home, starts nothing", async () => {
		const world = createServiceWorld("linux");
		await world.install();
		expect(await startByKeeper(resolveHome({ REEVE_HOME: "/other" }), world.env, world.host)).toBe(
			false,
		);
		world.turn("no-bus");
		expect(await startByKeeper(homeOf(world), world.env, world.host)).toBe(false);
	});

	test("uninstalling stops the daemon and removes the unit; again, there is nothing to remove", async () => {
		const world = createServiceWorld("linux");
		await world.install();
		const { code, result } = await world.uninstall();
		expect([code, result]).toEqual([0, `removed ${join(world.folder, UNIT)}; daemon stopped`]);
		expect(world.commands().slice(-2)).toEqual([
			"systemctl --user disable --now reeve.service",
			"systemctl --user daemon-reload",
		]);
		expect(world.has(UNIT)).toBe(false);
		await expect(statusOf(world)).rejects.toMatchObject({ code: "no_daemon" });
		expect((await world.uninstall()).result).toContain("nothing to remove");
		expect(JSON.parse((await world.uninstall({ json: true })).result)).toMatchObject({
			removed: false,
		});
	});

	test("a dry run shows the file and the commands, and touches nothing", async () => {
		const world = createServiceWorld("linux");
		const { code, result } = await world.install({ dryRun: true });
		expect(code).toBe(0);
		expect(result).toContain("ExecStart=");
		expect(result).toContain("systemctl --user enable reeve.service");
		const json = JSON.parse((await world.install({ dryRun: true, json: true })).result);
		expect(json).toMatchObject({ manager: "systemd", file: join(world.folder, UNIT) });
		expect((await world.uninstall({ dryRun: true })).result).toContain(
			`rm ${join(world.folder, UNIT)}`,
		);
		expect([world.has(UNIT), world.has("asked.log"), world.has("my home")]).toEqual([
			false,
			false,
			false,
		]);
	});

	test("a foreign unit is neither replaced nor removed", async () => {
		const world = createServiceWorld("linux");
		const file = join(world.folder, UNIT);
		mkdirSync(dirname(file), { recursive: true });
		writeFileSync(file, "[Service]\nExecStart=/bin/other\n");
		for (const { error } of [await world.install(), await world.uninstall()]) {
			expect(error).toMatchObject({
				code: "file_exists",
				hint: expect.stringContaining("Move it first"),
			});
		}
		expect(world.read(UNIT)).toContain("/bin/other");
		const elsewhere = createServiceWorld("linux");
		elsewhere.turn("foreign");
		expect((await elsewhere.install()).error?.message).toContain(
			"/usr/lib/systemd/user/reeve.service",
		);
	});

	test("the service of another home is not taken over", async () => {
		const world = createServiceWorld("linux");
		await world.install();
		const other = await world.install({}, { REEVE_HOME: join(world.folder, "other") });
		expect(other.error?.message).toContain(`runs the daemon of ${world.env.REEVE_HOME}`);
	});

	test("no bus and no systemd are reported with a hint", async () => {
		const world = createServiceWorld("linux");
		world.turn("no-bus");
		const { error } = await world.install();
		expect(error).toMatchObject({ code: "service_manager_missing" });
		expect(error?.message).toContain("No medium found");
		expect(error?.hint).toContain("XDG_RUNTIME_DIR");
		const none = await world.install({}, { PATH: "/nowhere" });
		expect(none.error?.message).toContain("systemd not found");
		expect(world.has(UNIT)).toBe(false);
	});
});

describe("for the whole host", () => {
	function withAccounts(world: World): World {
		const script = `#!/bin/sh\n[ "$2" = ada ] && echo "ada:x:1000:1000::${world.folder}/ada:/bin/sh"\n`;
		writeFileSync(join(world.folder, "bin/getent"), script);
		chmodSync(join(world.folder, "bin/getent"), 0o755);
		return world;
	}

	test("only root may", async () => {
		const world = withAccounts(createServiceWorld("linux"));
		const asAda = { SUDO_USER: "ada" };
		const { error } = await world.install({ system: true }, asAda);
		expect(error).toMatchObject({ code: "needs_root", hint: expect.stringContaining("sudo") });
		expect((await world.uninstall({ system: true })).error?.code).toBe("needs_root");
	});

	test("it runs as the user who called sudo, in that user's home, and only root may start it", async () => {
		const world = withAccounts(createServiceWorld("linux", { uid: 0 }));
		const asAda = { SUDO_USER: "ada", REEVE_HOME: "" };
		mkdirSync(join(world.folder, "ada/.local/state/reeve"), { recursive: true });
		const { code, said, error } = await world.install({ system: true }, asAda);
		expect([code, error]).toEqual([0, null]);
		expect(said).toContain('sudo env PATH="$PATH"');
		const unit = world.read("root/etc/systemd/system/reeve.service");
		expect(unit).toMatch(/^User=ada$/m);
		expect(unit).toContain(`REEVE_HOME=${world.folder}/ada/.local/state/reeve`);
		expect(world.commands().at(-1)).toBe("systemctl restart reeve.service");
		const home = resolveHome({ HOME: join(world.folder, "ada") });
		const asUser = { ...world.host, uid: 1000 };
		await expect(startByKeeper(home, world.env, asUser)).rejects.toMatchObject({
			...{ code: "needs_root", hint: expect.stringContaining("sudo systemctl start reeve") },
		});
		await world.uninstall({ system: true }, asAda);
	});

	test("an unknown user, or --user without --system, is reported", async () => {
		const world = withAccounts(createServiceWorld("linux", { uid: 0 }));
		const unknown = await world.install({ system: true, user: "eve" });
		expect(unknown.error?.message).toContain("unknown user eve");
		expect((await world.install({ user: "ada" })).error?.code).toBe("usage");
	});
});

describe("with launchd", () => {
	test("the job is loaded and started; again replaces it; uninstalling removes it", async () => {
		const world = createServiceWorld("darwin");
		expect((await world.install()).code).toBe(0);
		const file = join(world.folder, PLIST);
		const loading = [
			"launchctl enable gui/501/reeve.daemon",
			`launchctl bootstrap gui/501 ${file}`,
			"launchctl kickstart gui/501/reeve.daemon",
		];
		expect(world.commands()).toEqual(loading);
		const { PATH, REEVE_HOME } = world.env;
		expect(JSON.parse(world.read("environment.json"))).toEqual({ PATH, REEVE_HOME });
		const before = (await statusOf(world)).pid;
		expect((await world.install()).result).toMatch(/^updated /);
		expect(world.commands().slice(3)).toEqual([
			"launchctl bootout gui/501/reeve.daemon",
			...loading,
		]);
		expect((await statusOf(world)).pid).not.toBe(before);
		expect((await world.uninstall()).result).toContain("daemon stopped");
		expect(world.has(PLIST)).toBe(false);
	});

	test("without a desktop the user's own domain is used", async () => {
		const world = createServiceWorld("darwin");
		world.turn("no-desktop");
		await world.install();
		expect(world.commands()).toContain("launchctl enable user/501/reeve.daemon");
	});

	test("a missing launchd is reported", async () => {
		const world = createServiceWorld("darwin");
		const { error } = await world.install({}, { PATH: "/nowhere" });
		expect(error).toMatchObject({ code: "service_manager_missing" });
	});
});

describe("the program that is written", () => {
	const facts = (world: World, changed: Partial<World["host"]>) =>
		gatherFacts("user", world.env, { ...world.host, ...changed }, {});

	test.each([
		"/home/ada/.nvm/versions/node/v20.19.0/bin/node",
		"/home/ada/.local/share/fnm/node-versions/v22.1.0/installation/bin/node",
		"/home/ada/.asdf/installs/nodejs/20.19.0/bin/node",
	])("%s is warned about", async (node) => {
		const { warnings } = await facts(createServiceWorld("linux"), { node });
		expect(warnings).toEqual([expect.stringContaining("one of several Node versions")]);
	});

	test("a program in npx's cache causes a warning, one of the system does not", async () => {
		const world = createServiceWorld("linux");
		const node = "/usr/bin/node";
		const fetched = await facts(world, {
			node,
			program: "/root/.npm/_npx/1a/node_modules/reeve/main.js",
		});
		expect(fetched.warnings).toEqual([expect.stringContaining("npm install -g reeve")]);
		expect((await facts(world, { node })).warnings).toEqual([]);
	});

	test("of Homebrew's, the link that outlives an upgrade is taken", async () => {
		const world = createServiceWorld("darwin");
		const node = join(world.folder, "Cellar/node@22/22.1.0/bin/node");
		mkdirSync(join(node, ".."), { recursive: true });
		writeFileSync(node, "");
		expect((await facts(world, { node })).facts.node).toBe(node);
		mkdirSync(join(world.folder, "opt"));
		symlinkSync(join(world.folder, "Cellar/node@22/22.1.0"), join(world.folder, "opt/node@22"));
		expect((await facts(world, { node })).facts.node).toBe(
			join(world.folder, "opt/node@22/bin/node"),
		);
	});
});

test("a system with neither reports it", async () => {
	const world = createServiceWorld("linux", { platform: "freebsd" });
	expect((await world.install()).error).toMatchObject({
		...{ code: "service_manager_missing", message: expect.stringContaining("freebsd") },
	});
});

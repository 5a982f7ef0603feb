/** The daemon's settings: one file, checked, applied without a restart, and a test of notifications. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createFleetHome, type FleetHome } from "../faults/fleet-home.js";

let home: FleetHome;
let file: string;
beforeEach(() => {
	home = createFleetHome();
	const folder = home.env["REEVE_HOME"] ?? "";
	mkdirSync(folder, { mode: 0o700 });
	file = join(folder, "daemon.json");
});
afterEach(() => home.close());

const write = (value: unknown) => writeFileSync(file, JSON.stringify(value));

test("a mistake is reported with its line by settings, reload, status and doctor, and changes nothing", async () => {
	write({ listen: "127.0.0.1:0" });
	await home.must("daemon", "start");
	const listen = async () => JSON.parse(await home.must("daemon", "status", "--json")).listen;
	const before = await listen();
	expect(before).toMatch(/^127\.0\.0\.1:\d+$/);
	writeFileSync(file, '{\n  "lisen": "127.0.0.1:0"\n}\n');
	const words = `${file}:2:3: lisen: unknown key \`lisen\``;
	const settings = await home.reeve("daemon", "settings");
	expect(settings.code).toBe(2);
	expect(settings.stdout).toContain(`${words}\n  hint: did you mean \`listen\`?`);
	const reload = await home.reeve("daemon", "reload");
	expect(reload.code).toBe(2);
	expect(reload.stderr).toContain(words);
	expect(await home.must("daemon", "status")).toContain(words);
	expect((await home.reeve("doctor")).stdout).toContain(words);
	expect(await listen()).toBe(before);
});

test("reload names the settings that changed, and applies each without a restart", async () => {
	await home.must("daemon", "start");
	const pid = await home.daemonPid();
	expect(await home.must("daemon", "reload")).toBe("no settings changed\n");
	const notify = [{ name: "phone", type: "command", argv: ["true"] }];
	write({ listen: "127.0.0.1:0", history: { events: 10 }, notify });
	expect(await home.must("daemon", "reload")).toBe("applied: listen, history, notify.phone\n");
	expect(await home.daemonPid()).toBe(pid);
	const { keys } = JSON.parse(await home.must("daemon", "reload", "--json"));
	expect(keys).toEqual([]);
});

test("settings shows every setting with its default, without a daemon and without secrets", async () => {
	const secret = "https://hooks.example/services/canary";
	write({ notify: [{ name: "team", type: "slack", url: secret, quiet: "22:00-07:00" }] });
	const shown = await home.must("daemon", "settings");
	expect(shown).toMatch(/watchdog +30s/);
	expect(shown).toMatch(/history +\{"events":50000,"age":"30d"\}/);
	expect(shown).toMatch(/team +slack +https:\/\/hooks\.example\/… +all +22:00-07:00/);
	const json = await home.must("daemon", "settings", "--json");
	expect(JSON.parse(json)).toMatchObject({ file, valid: true, settings: { listen: null } });
	expect(shown + json).not.toContain("canary");
});

test("notify test sends over each route, and reports the ones that fail", async () => {
	const sent = join(home.folder, "sent");
	const notify = [
		{ name: "good", type: "command", argv: ["sh", "-c", `cat > ${sent}`], kinds: ["halted"] },
		{ name: "bad", type: "command", argv: ["false"] },
	];
	write({ notify });
	await home.must("daemon", "start");
	expect(await home.must("notify", "test", "good")).toBe("good (command): sent\n");
	expect(JSON.parse(readFileSync(sent, "utf8"))).toMatchObject({ kind: "test", agent: null });
	const both = await home.reeve("notify", "test");
	expect(both.code).toBe(1);
	expect(both.stdout).toContain("good (command): sent");
	expect(both.stdout).toContain("bad (command): failed: the command exited with 1");
	const unknown = await home.reeve("notify", "test", "phone");
	expect(unknown.code).toBe(4);
	expect(unknown.stderr).toContain("Available: good, bad.");
});

test("notify test without any route explains how to add one", async () => {
	await home.must("daemon", "start");
	const { code, stderr } = await home.reeve("notify", "test");
	expect(code).toBe(4);
	expect(stderr).toContain(`Add \`notify\` to ${file}`);
	expect(existsSync(file)).toBe(false);
});

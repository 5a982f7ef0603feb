/** `reeve dashboard` as a real command: it starts the daemon, and prints a link that logs one browser in. */

import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createFleetHome, eventually, type FleetHome } from "../faults/fleet-home.js";
import { spawnInPty } from "../support/pty.js";
import { REEVE } from "../support/reeve.js";

let home: FleetHome;
beforeEach(() => {
	home = createFleetHome();
});
afterEach(() => home.close(), 120_000);

test("prints a link that logs one browser in", { timeout: 120_000 }, async () => {
	await home.must("daemon", "start", "--listen", "127.0.0.1:0");
	const { url, page, expires_at } = JSON.parse(
		await home.must("dashboard", "--scope", "read", "--json"),
	);
	expect(Date.parse(expires_at)).toBeGreaterThan(Date.now());
	const login = await fetch(url, { redirect: "manual" });
	expect([login.status, login.headers.get("location")]).toEqual([303, "/"]);
	const shown = await fetch(page);
	expect(await shown.text()).toContain("<title>Reeve</title>");
	expect(shown.headers.get("content-security-policy")).toContain("default-src 'none'");
	const cookie = login.headers.get("set-cookie")?.split(";")[0] ?? "";
	const agents = await fetch(new URL("/api/v1/agents", page), { headers: { cookie } });
	expect(agents.status).toBe(200);
	expect((await fetch(url, { redirect: "manual" })).status).toBe(401);
});

test("prints a QR code only for an address that a phone can reach", {
	timeout: 120_000,
}, async () => {
	await home.must("daemon", "start", "--listen", "127.0.0.1:0");
	const refused = await home.reeve("dashboard", "--qr");
	expect(refused.code).toBe(5);
	expect(refused.stderr).toMatch(/which a phone cannot reach[\s\S]*--url/);
	const tunnel = await home.must("dashboard", "--qr", "--url", "https://box-1.example/page");
	expect(tunnel).toMatch(/[█▀▄]{5}/);
	expect(tunnel).toMatch(/^https:\/\/box-1\.example\/login\?code=[\w-]+$/m);
	const wrong = await home.reeve("dashboard", "--url", "box-1");
	expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("--url")]);
});

test("starts the daemon, and reports a port that is in use", { timeout: 120_000 }, async () => {
	const taken = createServer();
	taken.on("error", () => {});
	taken.listen(4270, "127.0.0.1");
	await Promise.race([once(taken, "listening"), once(taken, "error")]);
	const { code, stderr } = await home.reeve("dashboard", "--no-open");
	taken.close();
	expect(stderr).toContain("started one");
	expect(stderr).toContain("cannot listen on 127.0.0.1:4270");
	expect(stderr).toContain("Choose another port");
	expect(stderr).not.toContain("now listens");
	expect(code).not.toBe(0);
});

/** `reeve dashboard` on a desktop whose program for opening files is this script. */
async function onDesktop(opener: string): Promise<string> {
	const bin = join(home.folder, "bin");
	mkdirSync(bin, { recursive: true });
	writeFileSync(join(bin, "xdg-open"), `#!/bin/sh\n${opener}\n`, { mode: 0o755 });
	const { SSH_CONNECTION: _, ...env } = { ...process.env, ...home.env };
	let printed = "";
	const { exited } = spawnInPty([process.execPath, REEVE, "dashboard"], {
		cwd: home.folder,
		env: { ...env, DISPLAY: ":9", PATH: `${bin}:${process.env["PATH"]}` } as Record<string, string>,
		onData: (text) => {
			printed += text;
		},
	});
	await eventually(() => printed.includes("for 5 minutes"), "the link is printed");
	expect((await exited).exitCode).toBe(0);
	return printed;
}

test.skipIf(process.platform !== "linux")(
	"reports that it opened the browser only if that succeeded, and gives each link its own file (A9)",
	{ timeout: 120_000 },
	async () => {
		await home.must("daemon", "start", "--listen", "127.0.0.1:0");
		const pages = () =>
			readdirSync(join(home.folder, "home")).filter((name) => name.startsWith("open-page"));
		const failed = await onDesktop("exit 3");
		expect(failed).toContain("open this link in a browser");
		expect(failed).not.toContain("opened in your browser");
		expect(pages()).toEqual([]);
		const opened = join(home.folder, "opened");
		// The browser reads the file later.
		const later = `echo "$1" >> ${opened}`;
		expect(await onDesktop(later)).toContain("opened in your browser");
		expect(await onDesktop(later)).toContain("opened in your browser");
		const files = readFileSync(opened, "utf8").trim().split("\n");
		expect(new Set(files).size).toBe(2);
		for (const file of files) {
			expect(existsSync(file)).toBe(true);
			const url = /url=([^"]+)"/.exec(readFileSync(file, "utf8"))?.[1] ?? "";
			expect((await fetch(url, { redirect: "manual" })).status).toBe(303);
		}
	},
);

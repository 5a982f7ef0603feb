/** `reeve dashboard` as a real command: it starts the daemon, and prints a link that logs one browser in. */

import { once } from "node:events";
import { createServer } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createFleetHome, type FleetHome } from "../faults/fleet-home.js";

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
	expect(code).not.toBe(0);
});

/** `/ready` while a real daemon recovers its agents, one of which is held by a shim that does not respond. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createClient } from "../../src/client/client.js";
import { createFleetHome, eventually } from "../faults/fleet-home.js";

const codeOf = (error: { code?: string; message: string }) => `${error.code}: ${error.message}`;

test("a daemon that recovers its agents is alive, not ready, and lets other requests wait", {
	timeout: 120_000,
}, async () => {
	const home = createFleetHome();
	onTestFinished(() => home.close(), 60_000);
	home.writeFleet('a: { command: [sleep, "1000"], backend: pty }\nb: { command: [sleep, "1001"] }');
	await home.must("up");
	const before = (await home.ps()).map(({ pid }) => pid);
	const status = readFileSync(`/proc/${before[0]}/status`, "utf8");
	const shim = Number(/^PPid:\t(\d+)/m.exec(status)?.[1]);
	await home.killDaemon();
	process.kill(shim, "SIGSTOP");
	const resume = () => process.kill(shim, "SIGCONT");
	try {
		const started = home.reeve("daemon", "start");
		const client = createClient({ socketPath: join(home.env["REEVE_HOME"] ?? "", "reeve.sock") });
		const ready = () => client.call("GET /ready").then(() => "ready", codeOf);
		await eventually(async () => (await ready()).startsWith("not_ready"), "it is not ready");
		expect(await ready()).toMatch(/^not_ready: the daemon is recovering its agents \(\d of 2\)$/);
		expect(await client.call("GET /health")).toEqual({ status: "ok" });
		const daemon = await client.call("GET /api/v1/daemon");
		expect(daemon.ready).toBe(false);
		expect(daemon.services.find(({ name }) => name === "engine")?.state).toBe("starting");
		// A list without the agents that are still to be recovered would be untrue.
		const listed = home.ps();
		resume();
		expect((await listed).map(({ pid }) => pid)).toEqual(before);
		expect((await started).code).toBe(0);
		expect(await ready()).toBe("ready");
	} finally {
		resume();
	}
});

/** The messages of the daemon to a service manager, over a real datagram socket. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createNotifyRelay } from "../../src/daemon/self-care/notify-relay.js";
import { takeManagerEnv } from "../../src/daemon/self-care/service-manager.js";
import { eventually } from "../faults/fleet-home.js";
import { temporaryFolder } from "../support/reeve.js";
import { createBrokenHome } from "./broken-home.js";

/** Listens at the path; returns the datagrams received so far. */
async function listenAt(path: string, folder: string): Promise<() => string[]> {
	const file = join(folder, "received");
	const program = resolve("test/fixtures/daemon/receives-datagrams.pl");
	const child = spawn("perl", [program, path, file], { stdio: ["ignore", "pipe", "inherit"] });
	onTestFinished(() => void child.kill("SIGKILL"));
	await once(child.stdout, "data");
	return () => (existsSync(file) ? readFileSync(file, "utf8").split("\0").slice(0, -1) : []);
}

// Only Linux has service managers with this protocol.
describe.runIf(process.platform === "linux").each(["a path", "an abstract name"])(
	"datagrams to %s",
	{ timeout: 120_000 },
	(kind) => {
		test("arrive whole and in order, and a relay that dies is replaced", async () => {
			const folder = temporaryFolder();
			const path = kind === "a path" ? join(folder, "socket") : `@reeve-test-${process.pid}`;
			const received = await listenAt(path, folder);
			const trouble: string[] = [];
			const relay = createNotifyRelay({
				path,
				onRestart: () => relay.send("back"),
				onTrouble: (message) => trouble.push(message),
			});
			const texts = Array.from({ length: 200 }, (_, number) => `N=${number}\nTEXT=ä b`);
			for (const text of texts) relay.send(text);
			await eventually(() => received().length === 200, "all have arrived");
			expect(received()).toEqual(texts);
			const before = relay.pid ?? 0;
			process.kill(before, "SIGKILL");
			await eventually(() => received().at(-1) === "back", "another relay stands");
			expect(relay.pid).not.toBe(before);
			relay.send("last");
			await relay.close();
			await eventually(() => received().at(-1) === "last", "the last has arrived");
			expect(trouble).toEqual([]);
		});
	},
);

test.each([
	["is missing", "/nowhere/reeve-shim", "ENOENT"],
	["does not work", "/bin/false", "exited with code 1"],
])("a relay program that %s is reported once, and nothing fails", async (_, program, reason) => {
	const trouble: string[] = [];
	let restarts = 0;
	const relay = createNotifyRelay({
		...{ path: "/nowhere", program, onRestart: () => restarts++ },
		onTrouble: (message) => trouble.push(message),
	});
	for (const text of ["READY=1", "WATCHDOG=1"]) relay.send(text);
	await eventually(() => restarts === 2, "it was started three times");
	await relay.close();
	expect(trouble).toEqual([expect.stringContaining(reason)]);
});

test("the variables of a service manager are taken out, and the watchdog of another process is ignored", () => {
	const env = {
		NOTIFY_SOCKET: "/run/x",
		WATCHDOG_USEC: "4000000",
		WATCHDOG_PID: "7",
		PATH: "/bin",
	};
	const taken = { ...env };
	expect(takeManagerEnv(taken, 7)).toMatchObject({ path: "/run/x", watchdogMs: 4_000 });
	expect(taken).toEqual({ PATH: "/bin" });
	expect(takeManagerEnv({ ...env }, 8)).toMatchObject({ watchdogMs: null });
	expect(takeManagerEnv({ NOTIFY_SOCKET: "@name" }, 8)).toMatchObject({ path: "@name" });
	expect(takeManagerEnv({ NOTIFY_SOCKET: "relative" }, 8)).toBeNull();
	expect(takeManagerEnv({ PATH: "/bin" }, 8)).toBeNull();
});

test("a service manager is notified of the start, a reload and the stop, and gets keep-alives only from a live main loop", {
	timeout: 180_000,
}, async () => {
	const folder = temporaryFolder();
	const path = join(folder, "notify");
	const received = await listenAt(path, folder);
	const broken = createBrokenHome({ NOTIFY_SOCKET: path, WATCHDOG_USEC: "600000" });
	onTestFinished(() => broken.close(), 120_000);
	const { home, fleet, client } = broken;
	writeFileSync(home.settings, JSON.stringify({ watchdog: "3s" }));
	const first = await broken.startChild();
	const ready = "READY=1\nSTATUS=ready";
	await eventually(() => received().includes(ready), "it is ready");
	await eventually(
		() => received().filter((text) => text === "WATCHDOG=1").length >= 3,
		"it lives",
	);
	await client.call("POST /api/v1/daemon/reload");
	await eventually(() => received().includes("READY=1"), "the reload is over");
	const words = received().map((text) => text.split("\n")[0]);
	expect(words.indexOf("RELOADING=1")).toBeLessThan(words.lastIndexOf("READY=1"));
	expect(received().find((text) => text.startsWith("RELOADING"))).toMatch(/\nMONOTONIC_USEC=\d+$/);

	fleet.writeFleet(`a: { command: [sleep, "1000"] }`);
	await fleet.must("up");
	const [agent] = await broken.pids();
	if (process.platform === "linux") {
		expect(readFileSync(`/proc/${agent}/environ`, "utf8")).not.toMatch(/NOTIFY_SOCKET|WATCHDOG_/);
	}
	first.child.kill("SIGTERM");
	await first.ended;
	const stopping = "STOPPING=1\nSTATUS=stopping";
	await eventually(
		() => received().at(-1) === stopping,
		"it says that it stops, and nothing after",
	);

	const second = await broken.startChild();
	await broken.breakDaemon("block");
	await eventually(() => existsSync(`${fleet.env["BREAKS"]}.blocked`), "it is blocked");
	const before = received().length;
	await second.ended;
	// The watchdog within needed 3 s to end it: ten beats, if beats came from elsewhere than the loop. What
	// was sent before may still have been on its way.
	expect(received().length - before).toBeLessThanOrEqual(3);
});

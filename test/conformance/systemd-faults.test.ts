/** Faults that only the systemd backend has, over a fake systemd. */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findUserManager, type UserManager } from "../../src/backends/systemd/user-manager.js";
import type { RunHandle } from "../../src/ports/backend.js";
import { eventually, listen, startOk } from "../../src/testing/conformance/backend-world.js";
import type { PtyWorld } from "./pty-world.js";
import { createFakeSystemd, createSystemdWorld, type FakeSystemd } from "./systemd-world.js";

const ALL = { memoryBytes: 200_000_000, cpuPercent: 50, pids: 60 };
const scopeOf = ({ data }: RunHandle) => dirname(dirname(String(data["groups"])));

describe("looking for the user's systemd", () => {
	let fake: FakeSystemd;
	beforeEach(() => {
		fake = createFakeSystemd();
	});
	afterEach(() => fake.remove());

	test("finds its version, its control groups and the available limits", () => {
		expect(fake.find()).toMatchObject({
			version: "252.39-1~deb12u2",
			folder: expect.stringMatching(/user@1000\.service$/),
			controllers: ["cpu", "memory", "pids"],
			lingers: false,
			holdsThisProcess: false,
		});
	});

	test("reports why there is none, with a hint", () => {
		const nowhere = { groupRoot: fake.folder, runtimeDir: fake.folder };
		expect(findUserManager(nowhere)).toMatch(/control groups version 2/);
		writeFileSync(join(fake.folder, "cgroup.controllers"), "");
		expect(findUserManager({ ...nowhere, programs: "/no/such/folder" })).toMatch(/not installed/);
		rmSync(join(fake.folder, "cgroup"), { recursive: true });
		const programs = join(process.cwd(), "test/fixtures/systemd");
		expect(findUserManager({ ...nowhere, programs })).toMatch(
			/Failed to connect to bus.*loginctl enable-linger \w+/s,
		);
	});
});

describe("a run in a scope", () => {
	let fake: FakeSystemd;
	let world: PtyWorld;
	const open = async (controllers?: string) => {
		fake = createFakeSystemd(controllers === undefined ? {} : { controllers });
		world = await createSystemdWorld(fake.find() as UserManager);
	};
	afterEach(async () => {
		await world.close();
		fake.remove();
	});

	test("gets its limits from the unit, which does not reveal its command (A5)", async () => {
		await open();
		const request = world.run(["sleep", "1000"], { limits: ALL, stopTimeoutMs: 0 });
		const handle = await startOk(world.connect(), request);
		expect(
			readFileSync(join(scopeOf(handle), "asked"), "utf8")
				.trim()
				.split("\n"),
		).toEqual([
			"CPUQuota=50%",
			"Delegate=yes",
			"MemoryMax=200000000",
			// One more, for the shim.
			"TasksMax=61",
			// Not 0, which means no timeout.
			"TimeoutStopSec=1ms",
		]);
		const description = readFileSync(join(scopeOf(handle), "description"), "utf8");
		expect(description).toBe(`Reeve: agent ${request.agentId}`);
		expect(handle.data["missingLimits"]).toBeUndefined();
	});

	test("reports the limits that this user's systemd may not set", async () => {
		await open("memory pids");
		const request = world.run(["sleep", "1000"], { limits: ALL });
		const handle = await startOk(world.connect(), request);
		expect(handle.data["missingLimits"]).toMatch(/^no limit on cpu: .*not delegated[^;]*;/);
	});

	test("whose unit cannot be made does not start, and may be tried again", async () => {
		await open();
		const backend = world.connect();
		const first = await startOk(backend, world.request({ type: "lives-on" }));
		const request = world.request({ type: "lives-on" });
		const taken = join(dirname(scopeOf(first)), `reeve-run-${request.runId}.scope`);
		mkdirSync(taken);
		expect(await backend.start(request)).toEqual({
			ok: false,
			failure: {
				permanent: false,
				detail: expect.stringMatching(/failed to start: Failed to start.*already loaded/),
			},
		});
		rmSync(taken, { recursive: true });
		await startOk(backend, request);
	});

	test("that was killed by out of memory is reported with that cause, also to a later client", async () => {
		await open();
		const backend = world.connect();
		const exits = listen(backend);
		const handle = await startOk(backend, world.request({ type: "lives-on" }));
		writeFileSync(join(scopeOf(handle), "memory.events"), "oom 1\noom_kill 1\n");
		await backend.signal(handle, "SIGKILL");
		expect(await eventually(() => exits.first(handle.runId))).toMatchObject({
			signal: "SIGKILL",
			outOfMemory: true,
		});
		expect(await world.connect().recover(handle.runId, handle)).toMatchObject({
			state: "exited",
			exit: { signal: "SIGKILL", outOfMemory: true },
		});
	});
});

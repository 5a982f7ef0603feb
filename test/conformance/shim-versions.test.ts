/**
 * Daemons and shims of different versions of the protocol. The binary of version 1 is stored as it was built
 * (`test/fixtures/native`); a daemon of version 1 is a client that supports no other version.
 */

import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openConnection } from "../../src/backends/pty/connection.js";
import { SHIM_PAYLOAD_MAX } from "../../src/backends/pty/frames.js";
import { attachCommand, createPtyBackend } from "../../src/backends/pty/pty-backend.js";
import { typeBytes } from "../../src/backends/pty/shim-connection.js";
import { ANSWERS, readStatus } from "../../src/backends/pty/shim-messages.js";
import { isAlive } from "../../src/host/process-identity.js";
import type { Backend } from "../../src/ports/backend.js";
import { eventually, listen, runOf, startOk } from "../../src/testing/conformance/backend-world.js";
import { describeIfAllowed } from "../support/needs.js";
import { createPtyWorld, type PtyWorld } from "./pty-world.js";

const OLD = resolve("test/fixtures/native/reeve-shim-protocol-1");
const isHere = process.platform === "linux" && process.arch === "x64";
const permission = isHere
	? ({ type: "run" } as const)
	: ({ type: "skip", reason: "the recorded binary is for linux-x64" } as const);

describeIfAllowed(permission, "versions of the protocol", () => {
	let world: PtyWorld;
	let old: Backend;
	beforeEach(async () => {
		world = await createPtyWorld();
		old = createPtyBackend({ ...world.options, program: OLD });
	});
	afterEach(async () => {
		await old.close();
		await world.close();
	});

	test("differ between the recorded binary and this one", () => {
		expect(execFileSync(OLD, ["version"], { encoding: "utf8" })).toContain("protocol 1-1 ");
	});

	test("a daemon adopts the shims and the starter of an older version", async () => {
		const request = world.request({ type: "echoes-input" });
		const handle = await startOk(old, request);
		const starter = world.holder();
		await old.close();
		const backend = world.connect();
		const exits = listen(backend);
		expect(await backend.recover(request.runId, handle)).toEqual({ state: "running", handle });
		await eventually(() => world.received(request.runId) !== null);
		await backend.paste(handle, "typed");
		await eventually(() => world.received(request.runId)?.toString().includes("typed"));
		const sizes: number[] = [];
		const viewer = {
			onSnapshot: (_: Uint8Array, { columns }: { columns: number }) => void sizes.push(columns),
			onOutput() {},
			onClose() {},
		};
		const connection = await backend.attach(handle, viewer, { columns: 100, rows: 30 });
		await eventually(() => sizes.at(-1) === 100);
		connection.close();
		// Its starter starts further runs.
		const next = await startOk(backend, world.request({ type: "exits", code: 4 }));
		expect(await eventually(() => exits.first(next.runId))).toMatchObject({ code: 4 });
		expect(world.holder()).toEqual(starter);
		expect(await backend.kill(runOf(handle))).toMatchObject({ ok: true });
		expect(await eventually(() => exits.first(handle.runId))).toMatchObject({ signal: "SIGKILL" });
		expect(exits.all).toHaveLength(2);
	});

	test("a unit is refused by a starter that would leave it out", async () => {
		const handle = await startOk(old, world.request({ type: "lives-on" }));
		const none = { memoryBytes: null, cpuPercent: null, pids: null };
		const groups = {
			...{ describe: () => [], find: () => [], remove: () => true, sweep() {}, close() {} },
			create: () => ({
				...{ paths: [], limitedArgv: (argv: readonly [string, ...string[]]) => argv },
				...{ enclosure: () => ["env"], inside: <T>(fork: () => T) => fork(), joined() {} },
				...{ applyLimits: () => [], countOomKills: () => 0 },
			}),
		};
		const enclosing = createPtyBackend({ ...world.options, groups });
		const request = { ...world.request({ type: "lives-on" }), limits: none };
		expect(await enclosing.start(request)).toEqual({
			ok: false,
			failure: { permanent: false, detail: expect.stringContaining("older version of Reeve") },
		});
		await enclosing.close();
		expect(isAlive(handle.process)).toBe(true);
	});

	test("a daemon of the older version adopts a shim of this one", async () => {
		const backend = world.connect();
		const request = world.request({ type: "echoes-input" });
		const handle = await startOk(backend, request);
		await backend.close();
		await eventually(() => world.received(request.runId) !== null);
		const path = attachCommand(world.options, handle)?.argv[2] ?? "";
		const connection = await openConnection({
			...{ name: "shim", path, payloadMax: SHIM_PAYLOAD_MAX, answers: ANSWERS },
			spoken: { oldest: 1, newest: 1 },
		});
		expect(connection.version).toBe(1);
		const { runId, agentPid } = readStatus(connection.hello);
		expect([runId, agentPid]).toEqual([request.runId, handle.process.pid]);
		await typeBytes(connection, Buffer.from("typed"));
		await eventually(() => world.received(request.runId)?.toString().includes("typed"));
		connection.close();
	});
});

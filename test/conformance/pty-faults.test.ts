/** What happens to the pty backend when its parts are killed, starved, flooded or out of date. */

import { execFileSync, spawn, spawnSync } from "node:child_process";
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PREPARE_SCRIPT } from "../../src/backends/pty/holder/prepare-launch.js";
import { holderSocketPath } from "../../src/backends/pty/holder-paths.js";
import { greet } from "../../src/backends/pty/holder-process.js";
import { encodeFrame, type FromHolder } from "../../src/backends/pty/protocol.js";
import { createPtyBackend } from "../../src/backends/pty/pty-backend.js";
import { isAlive } from "../../src/host/process-identity.js";
import { readProcessTable } from "../../src/host/process-table.js";
import { signalVerified } from "../../src/host/process-tree.js";
import { createRandom } from "../../src/testing/random.js";
import { agentProgram, createPtyWorld, HOLDER, type PtyWorld } from "./pty-world.js";
import { eventually, listen, startOk } from "./world.js";

const node = process.execPath;
/** `REEVE_FLOOD_BYTES=1073741824` prints a whole gigabyte. */
const FLOOD_BYTES = Number(process.env["REEVE_FLOOD_BYTES"] ?? 80_000_000);

let world: PtyWorld;
beforeEach(async () => {
	world = await createPtyWorld();
});
afterEach(() => world.close(), 60_000);

const options = { timeout: 120_000 };

/** Kills the holder and waits until it is gone. */
async function killHolder(): Promise<number> {
	const holder = await eventually(() => world.holder());
	signalVerified(holder, "SIGKILL");
	await eventually(() => isAlive(holder) === false);
	return holder.pid;
}

describe("when the holder is killed", options, () => {
	test("each run that dies with it is told of once, as ended nobody knows how", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const handles = await Promise.all(
			Array.from({ length: 5 }, () => startOk(backend, world.request({ type: "lives-on" }))),
		);
		await killHolder();
		await eventually(() => exits.all.length >= 5);
		for (const { runId, process } of handles) {
			expect(isAlive(process)).toBe(false);
			expect(exits.of(runId)).toMatchObject([{ code: null, signal: null, outOfMemory: false }]);
		}
		// And the next start has a new holder.
		await startOk(backend, world.request({ type: "lives-on" }));
	});

	test("a survivor counts as running until it has been ended (S1, S12)", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const handle = await startOk(backend, world.request({ type: "ignores-sigterm" }));
		await eventually(async () => (await backend.screen(handle)).includes("ready"));
		const beforeMs = performance.now();
		await killHolder();
		expect(await world.connect().recover(handle.runId, null)).toEqual({ state: "running", handle });
		expect(await eventually(() => exits.first(handle.runId))).toMatchObject({
			code: null,
			signal: null,
		});
		expect(performance.now() - beforeMs).toBeGreaterThan(1_000);
		expect(isAlive(handle.process)).toBe(false);
		expect(exits.all).toHaveLength(1);
	});

	test("a survivor can be killed at once", async () => {
		const backend = world.connect();
		const handle = await startOk(backend, world.request({ type: "ignores-sigterm" }));
		await eventually(async () => (await backend.screen(handle)).includes("ready"));
		await killHolder();
		expect(await backend.kill(handle)).toEqual({ ok: true });
		const found = await eventually(async () => {
			const seen = await backend.recover(handle.runId, handle);
			return seen.state === "exited" && seen;
		});
		expect(found.exit).toMatchObject({ code: null, signal: null });
	});

	test("a run without a terminal goes on, and its end is seen", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const go = join(world.folder, "go");
		const argv = [agentProgram("exits-with-code.sh"), "3", go] as const;
		const handle = await startOk(backend, world.run([...argv], { terminal: false }));
		await killHolder();
		await eventually(async () => (await backend.recover(handle.runId, handle)).state === "running");
		expect(await backend.isRunning(handle)).toBe(true);
		writeFileSync(go, "");
		const exit = await eventually(() => exits.first(handle.runId));
		expect(exit).toMatchObject({ code: null, signal: null });
		expect(world.log(handle.runId).toString()).toBe("about to exit with 3\n");
	});

	test("again and again, no agent is ever there twice or lost (S1)", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const random = createRandom(Date.now());
		const names = Array.from({ length: 6 }, (_, number) => `agent-${number}`);
		const newRun = (name: string) =>
			world.run([node, agentProgram("takes-a-lock.mjs"), world.folder, name]);
		const current = new Map(names.map((name) => [name, newRun(name)]));

		/** As an engine would: starts what is not running, once it is known to have ended. */
		async function keepAlive(name: string): Promise<void> {
			const request = current.get(name) as ReturnType<typeof newRun>;
			try {
				await backend.start(request);
			} catch {
				// The outcome is unknown; only `recover` tells.
			}
			const found = await backend.recover(request.runId, null);
			if (found.state === "exited" || found.state === "gone") current.set(name, newRun(name));
		}

		for (let round = 0; round < 4; round++) {
			const killed = sleep(random.int(0, 150)).then(killHolder);
			await Promise.all(names.map(keepAlive));
			await killed;
		}
		await eventually(async () => {
			await Promise.all(names.map(keepAlive));
			const ledger = readFileSync(join(world.folder, "ledger"), "utf8");
			expect(ledger).not.toContain("DUPLICATE");
			const alive = [...current.values()].map(({ runId }) => backend.recover(runId, null));
			return (await Promise.all(alive)).every(({ state }) => state === "running");
		});
		const ids = exits.all.map(({ runId }) => runId);
		expect(new Set(ids).size).toBe(ids.length);
	});
});

describe("when the client is killed", options, () => {
	test("while it starts runs, each is there once, whoever asks again (S1)", async () => {
		const requests = Array.from({ length: 12 }, (_, number) =>
			world.run([node, agentProgram("takes-a-lock.mjs"), world.folder, `agent-${number}`]),
		);
		const file = join(world.folder, "requests.json");
		writeFileSync(file, JSON.stringify(requests));
		const ledger = join(world.folder, "ledger");
		writeFileSync(ledger, "");
		const program = resolve("test/fixtures/clients/starts-many.mjs");
		const argv = [program, file, JSON.stringify(world.options)];
		const client = spawn(node, argv, { stdio: "ignore" });
		await eventually(() => readFileSync(ledger, "utf8") !== "");
		client.kill("SIGKILL");
		await eventually(() => client.signalCode !== null);

		const backend = world.connect();
		for (const request of requests) {
			expect((await backend.recover(request.runId, null)).state).toMatch(/^(running|gone)$/);
		}
		await Promise.all(requests.map((request) => startOk(backend, request)));
		await eventually(() => readFileSync(ledger, "utf8").trim().split("\n").length >= 12);
		const lines = readFileSync(ledger, "utf8").trim().split("\n");
		expect(lines.map((line) => line.split(" ")[1]).sort()).toEqual(
			requests.map((_, number) => `agent-${number}`).sort(),
		);
		expect(lines.join()).not.toContain("DUPLICATE");
	});

	test("its agents keep their pids, and typing still works", async () => {
		const first = world.connect();
		const request = world.request({ type: "echoes-input" });
		const handle = await startOk(first, request);
		await eventually(() => world.received(request.runId));
		await first.close();
		const second = world.connect();
		expect(await second.recover(request.runId, null)).toEqual({ state: "running", handle });
		await second.input(handle, Buffer.from("still here"));
		await eventually(() => Buffer.from(world.received(request.runId) ?? []).includes("still here"));
	});
});

describe("the holder", options, () => {
	test("is one, however many ask for it at once, also over a stale socket", async () => {
		mkdirSync(world.backendFolder, { mode: 0o700 });
		writeFileSync(holderSocketPath(world.backendFolder), "");
		const clients = Array.from({ length: 20 }, () => world.connect());
		const requests = clients.map(() => world.request({ type: "lives-on" }));
		await Promise.all(clients.map((client, at) => startOk(client, requests[at] as never)));
		const { entries } = readProcessTable();
		const parents = new Set(
			await Promise.all(
				requests.map(async ({ runId }) => {
					const found = await world.connect().recover(runId, null);
					if (found.state !== "running") throw new Error(`${runId} is ${found.state}`);
					return entries.find(({ pid }) => pid === found.handle.process.pid)?.ppid;
				}),
			),
		);
		expect([...parents]).toEqual([world.holder().pid]);
	});

	test("lives on when its terminal or its user goes: SIGHUP, SIGINT, and SIGTERM while it has runs", async () => {
		const backend = world.connect();
		const handle = await startOk(backend, world.request({ type: "lives-on" }));
		const holder = world.holder();
		for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const) signalVerified(holder, signal);
		await startOk(backend, world.request({ type: "lives-on" }));
		await eventually(async () => (await backend.screen(handle)).includes("ready"));
		expect(world.holder()).toEqual(holder);
	});

	test("starts programs through strict Perl, where there is one", ({ skip }) => {
		const checked = spawnSync("env", ["perl", "-Mstrict", "-w", "-c"], { input: PREPARE_SCRIPT });
		if (checked.status === 127) return skip("there is no Perl");
		expect(String(checked.stderr)).toBe("- syntax OK\n");
	});

	test("is private to its user", async () => {
		await startOk(world.connect(), world.request({ type: "lives-on" }));
		expect(statSync(holderSocketPath(world.backendFolder)).mode & 0o777).toBe(0o600);
		expect(statSync(world.backendFolder).mode & 0o777).toBe(0o700);
	});

	test("is reached in a folder whose path is too long for a socket", async () => {
		const parent = mkdtempSync(join(tmpdir(), "reeve-long-"));
		const folder = join(parent, "x".repeat(120));
		const backend = createPtyBackend({
			folder,
			holderProgram: HOLDER,
			holderEnv: { REEVE_HOLDER_IDLE_MS: "50" },
		});
		const request = world.request({ type: "exits", code: 5 });
		const exits = listen(backend);
		await startOk(backend, request);
		expect(await eventually(() => exits.first(request.runId))).toMatchObject({ code: 5 });
		const socket = holderSocketPath(folder);
		expect(Buffer.byteLength(socket)).toBeLessThanOrEqual(103);
		await backend.close();
		// It takes its socket with it.
		await eventually(() => statSync(socket, { throwIfNoEntry: false }) === undefined);
		rmSync(parent, { recursive: true, force: true });
	});

	test("keeps an exit until it is told that it was stored", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const { runId } = await startOk(backend, world.request({ type: "exits", code: 6 }));
		await eventually(() => exits.first(runId));
		const path = join(world.backendFolder, "exits", `${runId}.json`);
		expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ exit: { runId, code: 6 } });
		expect(await backend.recover(runId, null)).toMatchObject({ state: "exited" });
		await backend.forget(runId);
		expect(await backend.recover(runId, null)).toEqual({ state: "gone", rebooted: false });
	});

	test("refuses a client that is too new for it, in words, and answers what it does not know", async () => {
		await startOk(world.connect(), world.request({ type: "lives-on" }));
		const dial = () => connect(holderSocketPath(world.backendFolder));
		await expect(greet(dial(), { newest: 9, oldest: 9 })).rejects.toThrow(
			/refuses: no common protocol: this side speaks version 1, the other version 9/,
		);
		// A newer one that still speaks our version is welcome.
		const { socket, receive } = await greet(dial(), { newest: 9, oldest: 1 });
		const answers: FromHolder[] = [];
		receive(({ header }) => answers.push(header));
		socket.write(encodeFrame({ type: "of the future", id: 1 } as never));
		await eventually(() => answers.length > 0);
		expect(answers).toEqual([
			{ type: "failed", id: 1, reason: "this holder does not know such a request" },
		]);
		socket.destroy();
	});

	test.skipIf(!hasProgram("prlimit"))(
		"that has no files left says so, and agents live on",
		async () => {
			const backend = world.connect();
			const first = await startOk(backend, world.request({ type: "lives-on" }));
			const { pid } = world.holder();
			const limit = (files: number) =>
				execFileSync("prlimit", ["--pid", `${pid}`, `--nofile=${files}:`]);
			limit(readdirSync(`/proc/${pid}/fd`).length + 3);
			const refused = await eventually(async () => {
				const result = await backend.start(world.request({ type: "lives-on" }));
				return result.ok ? false : result;
			});
			expect(refused).toMatchObject({ failure: { permanent: false } });
			expect(await backend.isRunning(first)).toBe(true);
			limit(10_000);
			await startOk(backend, world.request({ type: "lives-on" }));
		},
	);
});

describe("output", options, () => {
	test(`of ${FLOOD_BYTES} bytes without a newline stays within bounds (A6)`, async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const argv = [agentProgram("gigabyte-without-newline.sh"), String(FLOOD_BYTES)] as const;
		const request = world.run([...argv]);
		const deadlineMs = 240_000;
		await startOk(backend, request);
		let peakKib = 0;
		const startMs = performance.now();
		while (exits.first(request.runId) === undefined && performance.now() - startMs < deadlineMs) {
			peakKib = Math.max(peakKib, residentKib(world.holder().pid));
			await sleep(20);
		}
		expect(exits.first(request.runId)).toMatchObject({ code: 0 });
		expect(peakKib).toBeLessThan(400 * 1024);
		const sizes = readdirSync(request.logDir).map(
			(file) => statSync(join(request.logDir, file)).size,
		);
		expect(sizes.length).toBe(5);
		for (const size of sizes) expect(size).toBeLessThanOrEqual(10 * 1024 * 1024);
		expect((FLOOD_BYTES - sizes.reduce((sum, size) => sum + size)) % (10 * 1024 * 1024)).toBe(0);
	});

	test("is rotated without losing or doubling a byte", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const request = world.run(["sh", "-c", "seq 1 2000000"], { terminal: true });
		await startOk(backend, request);
		await eventually(() => exits.first(request.runId));
		const lines = world.log(request.runId).toString().trimEnd().split("\r\n");
		expect(readdirSync(request.logDir).sort()).toEqual(["current.log", "current.log.1"]);
		expect(lines.length).toBe(2_000_000);
		expect(lines.every((line, at) => line === String(at + 1))).toBe(true);
	});

	test("without a terminal is kept within bounds too", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const request = world.run(["sh", "-c", "yes | head -c 60000000"], { terminal: false });
		await startOk(backend, request);
		await eventually(() => exits.first(request.runId));
		const files = readdirSync(request.logDir);
		expect(files.length).toBeLessThanOrEqual(5);
		for (const file of files) {
			expect(statSync(join(request.logDir, file)).size).toBeLessThanOrEqual(10 * 1024 * 1024);
		}
	});

	test("that never ends disturbs no other agent", async () => {
		const backend = world.connect();
		const loud = await startOk(backend, world.run([agentProgram("prints-forever.sh")]));
		const request = world.request({ type: "echoes-input" });
		const quiet = await startOk(backend, request);
		await eventually(() => world.received(request.runId));
		await backend.input(quiet, Buffer.from("typed meanwhile"));
		await eventually(() => Buffer.from(world.received(request.runId) ?? []).includes("meanwhile"));
		expect(await backend.kill(loud)).toEqual({ ok: true });
	});

	test("does not pile up for a viewer that does not read; it gets the screen anew", async () => {
		const backend = world.connect();
		const handle = await startOk(backend, world.run([agentProgram("prints-forever.sh")]));
		const { socket, receive } = await greet(connect(holderSocketPath(world.backendFolder)));
		const seen: string[] = [];
		receive(({ header }) => seen.push(header.type));
		socket.pause();
		socket.write(encodeFrame({ type: "attach", runId: handle.runId, size: null }));
		// More than fits into the connection goes by.
		const older = join(world.folder, "logs", "agent-1", "current.log.1");
		await eventually(() => existsSync(older));
		expect(residentKib(world.holder().pid)).toBeLessThan(400 * 1024);
		socket.resume();
		await eventually(() => seen.filter((type) => type === "snapshot").length >= 2);
		socket.destroy();
		expect(await backend.kill(handle)).toEqual({ ok: true });
	});
});

/** Resident memory in KiB. */
function residentKib(pid: number): number {
	return Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" }));
}

function hasProgram(name: string): boolean {
	try {
		execFileSync(name, ["--version"], { stdio: "ignore" });
		return true;
	} catch {
		return false;
	}
}

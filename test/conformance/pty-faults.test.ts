/** Faults of the pty backend: its parts are killed, starved, flooded or outdated. */

import { execFileSync, spawn } from "node:child_process";
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AgentFolders, folderName } from "../../src/backends/pty/agent-folder.js";
import { openConnection } from "../../src/backends/pty/connection.js";
import { createPtyBackend } from "../../src/backends/pty/pty-backend.js";
import { readRecord } from "../../src/backends/pty/run-record.js";
import { starterFolder, starterSocketPath } from "../../src/backends/pty/starter-process.js";
import { isAlive, lookUp, readIdentity } from "../../src/host/process-identity.js";
import { readProcessTable } from "../../src/host/process-table.js";
import { signalVerified } from "../../src/host/process-tree.js";
import type { ProcessIdentity, RunHandle } from "../../src/ports/backend.js";
import { eventually, listen, runOf, startOk } from "../../src/testing/conformance/backend-world.js";
import { createRandom } from "../../src/testing/random.js";
import { agentProgram, createPtyWorld, type PtyWorld, readStarter } from "./pty-world.js";

const node = process.execPath;
/** `REEVE_FLOOD_BYTES=1073741824` prints a whole gigabyte. */
const FLOOD_BYTES = Number(process.env["REEVE_FLOOD_BYTES"] ?? 80_000_000);
const FILE_BYTES_MAX = 10 * 1024 * 1024;

let world: PtyWorld;
beforeEach(async () => {
	world = await createPtyWorld();
});
afterEach(() => world.close(), 60_000);

const options = { timeout: 120_000 };

/** The shim of a run: the agent's parent. */
function shimOf({ process: { pid } }: RunHandle): ProcessIdentity {
	const entry = lookUp(pid);
	const shim = typeof entry === "string" ? null : readIdentity(entry.ppid);
	if (shim === null) throw new Error("the run has no shim");
	return shim;
}

async function killAndWait(identity: ProcessIdentity): Promise<void> {
	signalVerified(identity, "SIGKILL");
	await eventually(() => isAlive(identity) === false);
}

const killShim = (handle: RunHandle) => killAndWait(shimOf(handle));

describe("when an agent exits while a daemon connects to its shim", options, () => {
	test("the exit is reported, although the shim greeted before it and reported it before our greeting", async () => {
		const first = world.connect();
		const argv = ["sh", "-c", "sleep 1000 & exec sleep 1000"] as const;
		const request = world.run([...argv], { terminal: false });
		const handle = await startOk(first, request);
		await first.close();
		const folders = new AgentFolders(world.backendFolder);
		const [agent, path] = [
			folderName(request.agentId),
			folders.socketOf(folderName(request.agentId)),
		];
		renameSync(path, `${path}.real`);
		// Forwards the shim's greeting immediately, and ours only after the exit.
		const between = createServer((client) => {
			const shim = connect(`${path}.real`);
			shim.pipe(client);
			client.pause();
			client.on("error", () => shim.destroy());
			shim.on("error", () => client.destroy());
			shim.once("data", async () => {
				signalVerified(handle.process, "SIGKILL");
				await eventually(() => readRecord(folders.pathOf(agent))?.exit != null);
				client.pipe(shim);
			});
		});
		await new Promise<void>((listening) => between.listen(path, listening));
		try {
			const second = world.connect();
			const exits = listen(second);
			const found = await second.recover(handle.runId, handle);
			const exit =
				found.state === "exited"
					? found.exit
					: await eventually(() => exits.first(handle.runId), { what: "the exit" });
			expect(exit).toMatchObject({ signal: "SIGKILL", treeGone: false });
			expect(await second.kill(runOf(handle))).toMatchObject({ ok: true });
		} finally {
			between.close();
			rmSync(`${path}.real`, { force: true });
		}
	});
});

describe("when a shim is killed", options, () => {
	test("only its run ends, and is reported once, with an unknown exit (S17)", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const handles = await Promise.all(
			Array.from({ length: 5 }, () => startOk(backend, world.request({ type: "lives-on" }))),
		);
		const [first, ...others] = handles as [RunHandle, ...RunHandle[]];
		await killShim(first);
		expect(await eventually(() => exits.first(first.runId))).toMatchObject({
			code: null,
			signal: null,
			outOfMemory: false,
		});
		expect(isAlive(first.process)).toBe(false);
		expect(await backend.kill(runOf(first))).toMatchObject({ ok: true });
		for (const handle of others) expect(isAlive(handle.process)).toBe(true);
		expect(exits.all).toHaveLength(1);
	});

	test("a survivor counts as running until it has been ended (S1, S12)", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const handle = await startOk(backend, world.request({ type: "ignores-sigterm" }));
		await eventually(async () => (await backend.screen(handle)).text.includes("ready"));
		const beforeMs = performance.now();
		await killShim(handle);
		expect(await world.connect().recover(handle.runId, null)).toEqual({ state: "running", handle });
		expect(await eventually(() => exits.first(handle.runId))).toMatchObject({
			code: null,
			signal: null,
		});
		expect(performance.now() - beforeMs).toBeGreaterThan(1_000);
		expect(isAlive(handle.process)).toBe(false);
		expect(exits.all).toHaveLength(1);
	});

	test.each([true, false])(
		"detached processes that it started are listed and killed, groups: %s (S11, S18)",
		async (groups) => {
			const own = groups ? world : await createPtyWorld({ groups: false });
			const backend = own.connect();
			const exits = listen(backend);
			const file = join(own.folder, "daemonised");
			// Another session, no mark, no parent.
			const script = `env -i setsid sh -c 'trap "" HUP TERM; echo $$ > ${file}; while :; do sleep 1; done' &\nexec sleep 1000`;
			const handle = await startOk(backend, own.run(["sh", "-c", script]));
			const text = await eventually(() => existsSync(file) && readFileSync(file, "utf8").trim());
			const left = readIdentity(Number(text)) as ProcessIdentity;
			const other = await startOk(backend, own.request({ type: "lives-on" }));
			await killShim(handle);
			await eventually(() => exits.first(handle.runId));
			expect(isAlive(left)).toBe(true);
			const run = { ...runOf(handle), justExited: true };
			const listed = await backend.processes(run);
			expect(listed.ok && listed.processes.map(({ pid }) => pid)).toContain(left.pid);
			expect(await backend.kill(run)).toMatchObject({ ok: true });
			expect(isAlive(left)).toBe(false);
			expect(isAlive(other.process)).toBe(true);
			expect(await backend.processes(run)).toEqual({ ok: true, processes: [] });
			await backend.kill(runOf(other));
			if (own !== world) await own.close();
		},
	);

	test("a run without a terminal ends with it, although it prints nothing", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const handle = await startOk(backend, world.run(["sleep", "1000"], { terminal: false }));
		await killShim(handle);
		const exit = await eventually(() => exits.first(handle.runId));
		expect(exit).toMatchObject({ code: null, signal: null });
		expect(isAlive(handle.process)).toBe(false);
	});

	test("while there was no client, the next one reports the end", async () => {
		const first = world.connect();
		const handle = await startOk(first, world.request({ type: "lives-on" }));
		await first.close();
		await killShim(handle);
		const second = world.connect();
		const exits = listen(second);
		await second.recover(handle.runId, handle);
		await eventually(() => exits.first(handle.runId));
		expect(isAlive(handle.process)).toBe(false);
	});

	test("repeatedly, with the starter, no agent is ever duplicated or lost (S1)", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const random = createRandom(Date.now());
		const names = Array.from({ length: 6 }, (_, number) => `agent-${number}`);
		const newRun = (name: string) =>
			world.run([node, agentProgram("takes-a-lock.mjs"), world.folder, name], {
				agentId: `project:${name}`,
			});
		const current = new Map(names.map((name) => [name, newRun(name)]));

		/** As an engine would: starts what is not running, once it is known to have ended. */
		async function keepAlive(name: string): Promise<void> {
			const request = current.get(name) as ReturnType<typeof newRun>;
			try {
				await backend.start(request);
			} catch {
				// The outcome is unknown; only `recover` can determine it.
			}
			const found = await backend.recover(request.runId, null);
			if (found.state === "exited" || found.state === "gone") {
				const killed = await backend.kill({ runId: request.runId, handle: null });
				if (killed.ok) current.set(name, newRun(name));
			}
		}

		async function killSomething(): Promise<void> {
			await sleep(random.int(0, 150));
			const { entries } = readProcessTable();
			const starter = readStarter(world.backendFolder);
			const ours = entries.filter(({ pid, ppid }) => [pid, ppid].includes(starter?.pid ?? -1));
			const victim = ours[random.int(0, ours.length - 1)];
			if (victim !== undefined) signalVerified(victim, "SIGKILL");
		}

		await Promise.all(names.map(keepAlive));
		for (let round = 0; round < 12; round++) {
			const killed = killSomething();
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

describe("when the starter is killed", options, () => {
	test("no agent notices, exits are reported correctly, and another starts the next run", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const request = world.request({ type: "exits", code: 4, when: "triggered" });
		const handle = await startOk(backend, request);
		const starter = world.holder();
		await killAndWait(starter);
		expect(isAlive(handle.process)).toBe(true);
		const next = await startOk(backend, world.request({ type: "lives-on" }));
		expect(world.holder().pid).not.toBe(starter.pid);
		world.trigger(request.runId);
		expect(await eventually(() => exits.first(request.runId))).toMatchObject({ code: 4 });
		expect(await backend.kill(runOf(next))).toMatchObject({ ok: true });
	});

	test("with nothing left to run, a client that leaves removes its socket", async () => {
		const backend = world.connect();
		const handle = await startOk(backend, world.request({ type: "lives-on" }));
		await killAndWait(world.holder());
		await backend.kill(runOf(handle));
		expect(existsSync(starterSocketPath(world.backendFolder))).toBe(true);
		await backend.close();
		expect(existsSync(starterSocketPath(world.backendFolder))).toBe(false);
	});

	test("and its client too, the next client removes the control groups of a run that is over", async () => {
		const first = world.connect();
		const { runId, data } = await startOk(first, world.request({ type: "lives-on" }));
		const groups = String(data["groups"] ?? "")
			.split(":")
			.filter(Boolean);
		await first.close();
		await killAndWait(world.holder());
		const second = world.connect();
		const found = await second.recover(runId, null);
		if (found.state !== "running") throw new Error(`the run is ${found.state}`);
		await second.kill(runOf(found.handle));
		await second.forget(runId);
		await second.close();
		expect(groups.filter((path) => existsSync(path))).toEqual([]);
	});

	test("while no client is there, the next one finds every agent", async () => {
		const first = world.connect();
		const handles = await Promise.all(
			Array.from({ length: 3 }, () => startOk(first, world.request({ type: "lives-on" }))),
		);
		await first.close();
		await killAndWait(world.holder());
		const second = world.connect();
		for (const handle of handles) {
			expect(await second.recover(handle.runId, handle)).toEqual({ state: "running", handle });
			expect(await second.kill(runOf(handle))).toMatchObject({ ok: true });
		}
	});
});

describe("when the client is killed", options, () => {
	test("while it starts runs, each exists once, however often it is requested (S1)", async () => {
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

describe("the starter", options, () => {
	test("is one, however many ask for it at once, also over a stale socket", async () => {
		mkdirSync(world.backendFolder, { mode: 0o700 });
		writeFileSync(starterSocketPath(world.backendFolder), "");
		const clients = Array.from({ length: 7 }, () => world.connect());
		const requests = clients.map(() => world.request({ type: "lives-on" }));
		const handles = await Promise.all(
			clients.map((client, at) => startOk(client, requests[at] as never)),
		);
		const parents = handles.map((handle) => {
			const entry = lookUp(shimOf(handle).pid);
			return typeof entry === "string" ? 0 : entry.ppid;
		});
		expect([...new Set(parents)]).toEqual([world.holder().pid]);
	});

	test("survives when its terminal or its user goes: SIGHUP, SIGINT, and SIGTERM while it has runs", async () => {
		const backend = world.connect();
		const handle = await startOk(backend, world.request({ type: "lives-on" }));
		const starter = world.holder();
		for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const) signalVerified(starter, signal);
		await startOk(backend, world.request({ type: "lives-on" }));
		await eventually(async () => (await backend.screen(handle)).text.includes("ready"));
		expect(world.holder()).toEqual(starter);
	});

	test("and shims are private to their user", async () => {
		await startOk(world.connect(), world.request({ type: "lives-on" }));
		const socket = join(world.backendFolder, "agents", "project.agent-1", "s");
		for (const path of [starterSocketPath(world.backendFolder), socket]) {
			expect(statSync(path).mode & 0o777).toBe(0o600);
		}
		for (const folder of [world.backendFolder, join(socket, "..")]) {
			expect(statSync(folder).mode & 0o777).toBe(0o700);
		}
	});

	test("is reached in a folder whose path is too long for a socket", async () => {
		const parent = mkdtempSync(join(tmpdir(), "reeve-long-"));
		const folder = join(parent, "x".repeat(120));
		const backend = createPtyBackend({ folder });
		const request = world.request({ type: "exits", code: 5 });
		const exits = listen(backend);
		await startOk(backend, request);
		expect(await eventually(() => exits.first(request.runId))).toMatchObject({ code: 5 });
		const socket = starterSocketPath(folder);
		expect(Buffer.byteLength(socket)).toBeLessThanOrEqual(103);
		await backend.close();
		// It removes its socket.
		await eventually(() => statSync(socket, { throwIfNoEntry: false }) === undefined);
		rmSync(starterFolder(folder), { recursive: true });
		rmSync(parent, { recursive: true, force: true });
	});

	test("exits when its folder was removed and its last run has ended", async () => {
		const folder = join(mkdtempSync(join(tmpdir(), "reeve-gone-")), "pty");
		const backend = createPtyBackend({ folder });
		const handle = await startOk(backend, world.request({ type: "lives-on" }));
		const entry = lookUp(shimOf(handle).pid);
		const starter = readIdentity(typeof entry === "string" ? 0 : entry.ppid);
		if (starter === null) throw new Error("there is no starter");
		rmSync(folder, { recursive: true });
		await backend.close();
		signalVerified(handle.process, "SIGKILL");
		await eventually(() => isAlive(starter) === false);
	});

	test("leaves a record of an exit until it was stored", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const { runId } = await startOk(backend, world.request({ type: "exits", code: 6 }));
		await eventually(() => exits.first(runId));
		const record = readRecord(join(world.backendFolder, "agents", "project.agent-1"));
		expect(record).toMatchObject({ runId, state: "ended", exit: { code: 6, treeEmpty: true } });
		expect(await backend.recover(runId, null)).toMatchObject({ state: "exited" });
		await backend.forget(runId);
		expect(await backend.recover(runId, null)).toEqual({ state: "gone", rebooted: false });
	});

	test("refuses a client that is too new for it, and accepts one that still supports its version", async () => {
		await startOk(world.connect(), world.request({ type: "lives-on" }));
		const path = starterSocketPath(world.backendFolder);
		const peer = { name: "starter", path, payloadMax: 1_000, answers: new Set<number>() };
		const greet = (oldest: number, newest: number) =>
			openConnection({ ...peer, spoken: { oldest, newest } });
		await expect(greet(9, 9)).rejects.toThrow(/the starter (refuses|supports)/);
		(await greet(1, 9)).close();
	});

	test.skipIf(!hasProgram("prlimit"))(
		"that has no file descriptors left reports it, and agents survive",
		async () => {
			const backend = world.connect();
			const first = await startOk(backend, world.request({ type: "lives-on" }));
			const { pid } = world.holder();
			const limit = (files: number) =>
				execFileSync("prlimit", ["--pid", `${pid}`, `--nofile=${files}:`]);
			limit(readdirSync(`/proc/${pid}/fd`).length);
			const refused = await backend.start(world.request({ type: "lives-on" }));
			expect(refused).toMatchObject({ ok: false, failure: { permanent: false } });
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
		const shim = shimOf(await startOk(backend, request));
		let peakKib = 0;
		const startMs = performance.now();
		while (exits.first(request.runId) === undefined && performance.now() - startMs < deadlineMs) {
			peakKib = Math.max(peakKib, residentKib(shim.pid));
			await sleep(20);
		}
		expect(exits.first(request.runId)).toMatchObject({ code: 0 });
		expect(peakKib).toBeLessThan(16 * 1024);
		const sizes = logFiles(request.logDir).map((file) => statSync(file).size);
		expect(sizes.length).toBe(5);
		for (const size of sizes) expect(size).toBeLessThanOrEqual(FILE_BYTES_MAX + 4_096);
	});

	test("is rotated without losing or doubling a byte", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const request = world.run(["sh", "-c", "seq 1 2000000"], { terminal: true });
		await startOk(backend, request);
		await eventually(() => exits.first(request.runId));
		const lines = world.log(request.runId).toString().trimEnd().split("\r\n");
		expect(logFiles(request.logDir)).toHaveLength(2);
		expect(lines.length).toBe(2_000_000);
		expect(lines.every((line, at) => line === String(at + 1))).toBe(true);
	});

	test("without a terminal is kept within bounds too", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const request = world.run(["sh", "-c", "seq 1 5000000"], { terminal: false });
		await startOk(backend, request);
		await eventually(() => exits.first(request.runId));
		const files = logFiles(request.logDir);
		expect(files.length).toBeLessThanOrEqual(5);
		for (const file of files) {
			expect(statSync(file).size).toBeLessThanOrEqual(FILE_BYTES_MAX + 4_096);
		}
		const lines = world.log(request.runId).toString().trimEnd().split("\n").map(Number);
		expect(lines).toHaveLength(5_000_000);
		expect(lines.every((line, at) => line === at + 1)).toBe(true);
	});

	test("that never ends affects no other agent", async () => {
		const backend = world.connect();
		const loud = await startOk(backend, world.run([agentProgram("prints-forever.sh")]));
		const request = world.request({ type: "echoes-input" });
		const quiet = await startOk(backend, request);
		await eventually(() => world.received(request.runId));
		await backend.input(quiet, Buffer.from("typed meanwhile"));
		await eventually(() => Buffer.from(world.received(request.runId) ?? []).includes("meanwhile"));
		expect(await backend.kill(runOf(loud))).toMatchObject({ ok: true });
	});

	test("that is too much for a screen is skipped, and the screen still shows the end", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const seen: string[] = [];
		const script = `yes 0123456789 | head -c ${FLOOD_BYTES / 4}; echo; echo the end; exec sleep 1000`;
		const handle = await startOk(backend, world.run(["sh", "-c", script]));
		const beforeMb = process.memoryUsage().rss / 1e6;
		let tail = "";
		await backend.attach(
			handle,
			{
				onSnapshot: (bytes) => {
					seen.push("snapshot");
					tail = Buffer.from(bytes).toString().slice(-10_000);
				},
				onOutput: (bytes) => {
					tail = (tail + Buffer.from(bytes).toString()).slice(-10_000);
				},
				onClose: () => seen.push("close"),
			},
			null,
		);
		await eventually(() => tail.includes("the end"));
		await eventually(async () => (await backend.screen(handle)).text.includes("the end"));
		expect(process.memoryUsage().rss / 1e6 - beforeMb).toBeLessThan(300);
		expect(seen).toContain("snapshot");
		expect(exits.all).toEqual([]);
		expect(await backend.kill(runOf(handle))).toMatchObject({ ok: true });
		await eventually(() => seen.at(-1) === "close");
	});
});

const logFiles = (folder: string) =>
	readdirSync(folder)
		.filter((name) => name.startsWith("current.log"))
		.map((name) => join(folder, name));

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

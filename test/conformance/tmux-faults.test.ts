/** Faults that only tmux can have: each was seen to go wrong before it was a test. */

import { execFileSync, spawnSync } from "node:child_process";
import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { LAUNCHER } from "../../src/backends/tmux/launcher.js";
import { explainTmuxProblem } from "../../src/backends/tmux/tmux-place.js";
import { createGroups, type Groups } from "../../src/host/cgroup.js";
import { isAlive, readIdentity } from "../../src/host/process-identity.js";
import { signalVerified } from "../../src/host/process-tree.js";
import type { Backend, RunHandle } from "../../src/ports/backend.js";
import { fill, mountDisk } from "../store/support.js";
import { describeWithTmux } from "../support/needs.js";
import { temporaryFolder } from "../support/reeve.js";
import { agentProgram } from "./pty-world.js";
import { createTmuxWorld, type TmuxWorld } from "./tmux-world.js";
import { eventually, listen, startOk } from "./world.js";

const SINGLE_EXITS = 200;
const canary = "canary-7f3a";

describeWithTmux("faults of the tmux backend", () => {
	let world: TmuxWorld;
	beforeEach(async () => {
		world = await createTmuxWorld();
	});
	afterEach(() => world.close());
	const launcherOf = (runId: string) => {
		const text = readFileSync(join(world.backendFolder, "runs", `${runId}.started`), "utf8");
		return readIdentity(Number(text.split(" ")[1]));
	};

	test("is available if tmux is", () => expect(explainTmuxProblem()).toBeNull());

	test("has a launcher that is strict Perl", () => {
		const checked = spawnSync("env", ["perl", "-Mstrict", "-w", "-c"], { input: LAUNCHER });
		expect(String(checked.stderr)).toBe("- syntax OK\n");
	});

	test(`reports ${SINGLE_EXITS} consecutive exits, each with its code (S8)`, {
		timeout: 120_000,
	}, async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const codes: unknown[] = [];
		for (let number = 0; number < SINGLE_EXITS; number++) {
			const request = world.run(["sh", "-c", `exit ${number}`]);
			await startOk(backend, request);
			codes.push((await eventually(() => exits.first(request.runId))).code);
		}
		expect(codes).toEqual(Array.from({ length: SINGLE_EXITS }, (_, number) => number));
		expect(exits.all).toHaveLength(SINGLE_EXITS);
	});

	test("distinguishes an exit with code 137 from a death by SIGKILL (S9)", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const coded = await startOk(backend, world.run(["sh", "-c", "exit 137"]));
		const killed = await startOk(backend, world.run(["sh", "-c", "kill -9 $$"]));
		expect(await eventually(() => exits.first(coded.runId))).toMatchObject({ code: 137 });
		expect(await eventually(() => exits.first(killed.runId))).toMatchObject({ signal: "SIGKILL" });
	});

	test("runs nothing that it finds in names and folders", async () => {
		const named = await createTmuxWorld({ name: "#(touch proof) %H '$(id)" });
		try {
			const cwd = join(named.folder, "#(touch proof)'; $(touch proof) #{pid} %d");
			mkdirSync(cwd);
			const backend = named.connect();
			const exits = listen(backend);
			const agentId = "project:#(touch proof) ; kill-server";
			const request = named.run(["sh", "-c", "pwd; echo $REEVE_AGENT"], { cwd, agentId });
			await startOk(backend, request);
			expect(await eventually(() => exits.first(request.runId))).toMatchObject({ code: 0 });
			expect(named.log(request.runId).toString()).toBe(`${cwd}\r\n${agentId}\r\n`);
			for (const folder of [cwd, named.folder, named.backendFolder, "/"]) {
				expect(existsSync(join(folder, "proof"))).toBe(false);
			}
		} finally {
			await named.close();
		}
	});

	test("keeps secrets out of argv, tmux and files (A5)", async () => {
		process.env["REEVE_TEST_CANARY"] = canary;
		const backend = world.connect();
		const file = join(world.folder, "environment");
		const env = { PATH: process.env["PATH"] ?? "", SECRET: canary };
		const argv = [process.execPath, agentProgram("writes-environment.mjs"), file] as const;
		const handle = await startOk(backend, world.run([...argv], { env }));
		delete process.env["REEVE_TEST_CANARY"];
		await eventually(() => existsSync(file));
		expect(readFileSync(file, "utf8")).toContain(canary);
		const session = String(handle.data["session"]);
		const shown = [
			execFileSync("ps", ["-axww", "-o", "command="], { encoding: "utf8" }),
			world.tmux("show-environment", "-g"),
			world.tmux("show-environment", "-t", `=${session}`),
			world.tmux("show-options", "-t", `=${session}:`),
		];
		for (const text of shown) expect(text).not.toContain(canary);
		const found = spawnSync("grep", ["-rl", canary, world.backendFolder], { encoding: "utf8" });
		expect(found.stdout).toBe("");
		const files = readdirSync(join(world.backendFolder, "runs"));
		expect(files.filter((name) => name.endsWith(".spec"))).toEqual([]);
	});

	test("stops the survivors of a kill -9 of the server, and reports each exit once", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const requests = [
			world.request({ type: "ignores-sigterm" }),
			world.request({ type: "ignores-sigterm" }),
			world.request({ type: "lives-on" }),
		];
		const handles = await Promise.all(requests.map((request) => startOk(backend, request)));
		for (const handle of handles) {
			await eventually(async () => (await backend.screen(handle)).includes("ready"));
		}
		// One of the survivors loses its launcher as well: its exit is not observed.
		const launcher = launcherOf(handles[0]?.runId ?? "");
		if (launcher === null) throw new Error("the launcher is not there");
		signalVerified(world.holder(), "SIGKILL");
		signalVerified(launcher, "SIGKILL");
		const [unseen, seen, hung] = await Promise.all(
			handles.map(({ runId }) => eventually(() => exits.first(runId))),
		);
		expect(unseen).toMatchObject({ code: null, signal: null });
		expect(seen).toMatchObject({ signal: "SIGKILL" });
		expect(hung).toMatchObject({ code: null, signal: expect.stringMatching(/SIG(HUP|TERM)/) });
		for (const handle of handles) expect(isAlive(handle.process)).toBe(false);
		const later = await startOk(backend, world.request({ type: "exits", code: 5 }));
		expect(await eventually(() => exits.first(later.runId))).toMatchObject({ code: 5 });
		expect(exits.all).toHaveLength(4);
	});

	test("a client that comes after the server was killed ends the survivors", async () => {
		const first = world.connect();
		const handle = await startOk(first, world.request({ type: "ignores-sigterm" }));
		await eventually(async () => (await first.screen(handle)).includes("ready"));
		const server = world.holder();
		await first.close();
		signalVerified(server, "SIGKILL");
		await eventually(() => isAlive(server) === false);
		const second = world.connect();
		const exits = listen(second);
		expect(await second.recover(handle.runId, null)).toEqual({ state: "running", handle });
		expect(await eventually(() => exits.first(handle.runId))).toMatchObject({ signal: "SIGKILL" });
	});

	test("sees the end of an agent whose launcher was killed", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const handle = await startOk(backend, world.request({ type: "ignores-sigterm" }));
		await eventually(async () => (await backend.screen(handle)).includes("ready"));
		const launcher = launcherOf(handle.runId);
		if (launcher === null) throw new Error("the launcher is not there");
		signalVerified(launcher, "SIGKILL");
		expect(await eventually(() => exits.first(handle.runId))).toMatchObject({
			code: null,
			signal: null,
		});
		expect(isAlive(handle.process)).toBe(false);
		expect(await backend.recover(handle.runId, null)).toMatchObject({ state: "exited" });
	});

	test("an agent outlives the loss of the server's socket, and can be reached again", async () => {
		const first = world.connect();
		const handle = await startOk(first, world.request({ type: "lives-on" }));
		await first.close();
		const socket = join(world.backendFolder, "tmux.sock");
		rmSync(socket);
		const second = world.connect();
		expect(await second.recover(handle.runId, null)).toEqual({ state: "running", handle });
		await eventually(() => existsSync(socket));
		await eventually(async () => (await second.screen(handle)).includes("ready"));
		expect(await second.isRunning(handle)).toBe(true);
	});

	test("keeps viewers and the server while sessions come and go beside them (S17)", {
		timeout: 120_000,
	}, async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const handle = await startOk(backend, world.request({ type: "lives-on" }));
		await eventually(async () => (await backend.screen(handle)).includes("ready"));
		const server = world.holder();
		let isOver = false;
		const comeAndGo = async () => {
			while (!isOver) await startOk(backend, world.run(["true"]));
		};
		const others = [comeAndGo(), comeAndGo(), comeAndGo()];
		for (let round = 0; round < 25; round++) {
			const seen = await Promise.all([1, 2, 3].map(() => firstSight(backend, handle)));
			for (const text of seen) expect(text).toContain("ready");
		}
		isOver = true;
		await Promise.all(others);
		expect(world.holder()).toEqual(server);
		expect(exits.of(handle.runId)).toEqual([]);
	});

	test("finds a run whose start was never confirmed (S1)", async () => {
		const first = world.connect();
		const request = world.request({ type: "lives-on" });
		const handle = await startOk(first, request);
		await first.close();
		// As if the daemon had died before it could write the handle down.
		rmSync(join(world.backendFolder, "runs", `${request.runId}.handle`));
		const found = await world.connect().recover(request.runId, null);
		expect(found).toMatchObject({ state: "running", handle: { process: handle.process } });
	});

	test("abandons its own start if the launcher was killed before it reported", async () => {
		const backend = world.connect();
		await startOk(backend, world.request({ type: "lives-on" }));
		const request = world.request({ type: "lives-on" });
		const claim = join(world.backendFolder, "runs", `${request.runId}.claim`);
		// The leftovers of such a start: the launcher read the spec, and only the claim of this process
		// exists.
		writeFileSync(claim, JSON.stringify(readIdentity(process.pid)));
		expect(await backend.recover(request.runId, null)).toMatchObject({ state: "unknown" });
		const long = new Date(Date.now() - 60_000);
		utimesSync(claim, long, long);
		expect(await backend.recover(request.runId, null)).toEqual({ state: "gone", rebooted: false });
		expect(existsSync(claim)).toBe(false);
	});

	describe("on a full disk", () => {
		/** Like the engine: repeats while the state is unknown. */
		const recoverSurely = (backend: Backend, runId: string) =>
			eventually(async () => {
				const found = await backend.recover(runId, null);
				return found.state === "unknown" ? null : found;
			});

		/** A disk of its own, and launchers that wait for `go`. */
		async function createFullWorld(skip: (why: string) => never) {
			const disk = mountDisk(8_192);
			if (typeof disk === "string") return skip(disk);
			const folder = temporaryFolder();
			const go = join(folder, "go");
			const waits = 'while [ ! -e "$0" ]; do sleep 0.02; done; exec "$@"';
			const none = createGroups("none", "control groups are turned off");
			const groups = {
				...none,
				create: (...args: Parameters<typeof none.create>) => ({
					...none.create(...args),
					enclosedArgv: (argv: readonly string[]) => ["sh", "-c", waits, go, ...argv] as const,
				}),
			} as Groups;
			const full = await createTmuxWorld({ parent: disk.folder, backend: { groups } });
			onTestFinished(async () => {
				writeFileSync(go, "");
				writeFileSync(join(disk.folder, "ballast"), "");
				await full.close();
			});
			const has = (runId: string, kind: string) =>
				existsSync(join(full.backendFolder, "runs", `${runId}.${kind}`));
			return {
				...{ full, has, proof: join(folder, "proof") },
				fill: () => fill(join(disk.folder, "ballast")),
				free: () => writeFileSync(join(disk.folder, "ballast"), ""),
				go: () => writeFileSync(go, ""),
			};
		}

		test("a run that starts and ends while the daemon is dead is recorded (S8)", async ({
			skip,
		}) => {
			const { full, has, proof, fill, go } = await createFullWorld(skip);
			const dying = full.connect();
			const request = full.run(["sh", "-c", `echo >${proof}; exit 3`]);
			const begun = dying.start(request).catch(() => {});
			await eventually(() => has(request.runId, "spec"));
			await dying.close();
			fill();
			go();
			await eventually(() => existsSync(proof));
			expect(await recoverSurely(full.connect(), request.runId)).toMatchObject({
				...{ state: "exited", exit: { code: 3, signal: null } },
			});
			await begun;
		});

		test("a run whose launcher was killed after the start is recorded as started (S8)", async ({
			skip,
		}) => {
			const { full, has, fill, free, go } = await createFullWorld(skip);
			const dying = full.connect();
			const request = full.run([agentProgram("lives-on.sh")]);
			const begun = dying.start(request).catch(() => {});
			await eventually(() => has(request.runId, "spec"));
			await dying.close();
			fill();
			go();
			await eventually(() => has(request.runId, "started"));
			const text = readFileSync(
				join(full.backendFolder, "runs", `${request.runId}.started`),
				"utf8",
			);
			const [pid, launcher] = text.split(" ").map((word) => readIdentity(Number(word)));
			for (const each of [launcher, pid]) if (each) signalVerified(each, "SIGKILL");
			await eventually(() => pid && isAlive(pid) === false);
			// With its last session the server has left, and a new one cannot be started on a full disk.
			free();
			expect(await recoverSurely(full.connect(), request.runId)).toMatchObject({
				...{ state: "exited", exit: { code: null, signal: null } },
			});
			await begun;
		});

		test("nothing is started whose end could not be recorded", async ({ skip }) => {
			const { full, has, proof, fill, go } = await createFullWorld(skip);
			const backend = full.connect();
			const argv = ["sh", "-c", `echo >>${proof}`] as const;
			const robbed = full.run([...argv]);
			const begun = backend.start(robbed).catch((error: Error) => error.message);
			await eventually(() => has(robbed.runId, "spec"));
			rmSync(join(full.backendFolder, "runs", `${robbed.runId}.room2`));
			go();
			expect(await begun).not.toMatchObject({ ok: true });
			expect(await backend.recover(robbed.runId, null)).not.toMatchObject({ state: "running" });
			fill();
			expect(await backend.start(full.run([...argv]))).toMatchObject({
				...{ ok: false, failure: { permanent: false, detail: expect.stringContaining("ENOSPC") } },
			});
			expect(existsSync(proof)).toBe(false);
		});
	});

	test("leaves neither server nor socket when it holds nothing any more", async () => {
		const backend = world.connect();
		const handle = await startOk(backend, world.request({ type: "lives-on" }));
		await backend.kill({ runId: handle.runId, handle });
		await eventually(async () => (await backend.isRunning(handle)) === false);
		await backend.close();
		await eventually(() => !existsSync(join(world.backendFolder, "tmux.sock")));
	});

	test("removes the control groups of runs whose daemon was killed", async ({ skip }) => {
		const backend = world.connect();
		const handle = await startOk(backend, world.request({ type: "lives-on" }));
		const group = String(handle.data["groups"] ?? "").split(":")[0] ?? "";
		if (group === "") return skip("no control groups can be made here");
		const left = group.replace(handle.runId, "left-behind");
		mkdirSync(left);
		await world.connect().recover(handle.runId, handle);
		expect(existsSync(left)).toBe(false);
		expect(existsSync(group)).toBe(true);
	});

	test("keeps the log within bounds and all of its end, with or without a client", {
		timeout: 60_000,
	}, async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const flood = "head -c 70000000 /dev/zero | tr '\\0' x; echo the end";
		const request = world.run(["sh", "-c", flood]);
		await startOk(backend, request);
		await eventually(() => exits.first(request.runId));
		const log = world.log(request.runId);
		expect(readdirSync(request.logDir)).toHaveLength(5);
		expect(log.length).toBeGreaterThan(40 * 1024 * 1024);
		expect(log.length).toBeLessThan(56 * 1024 * 1024);
		expect(log.subarray(-9).toString()).toBe("the end\r\n");
	});
});

/** The first output for a viewer, either the screen or why there is none. Then it disconnects. */
async function firstSight(backend: Backend, handle: RunHandle): Promise<string> {
	let tell: (text: string) => void = () => {};
	const seen = new Promise<string>((resolve) => {
		tell = resolve;
	});
	const viewer = {
		onSnapshot: (bytes: Uint8Array) => tell(Buffer.from(bytes).toString()),
		onOutput: () => {},
		onClose: (reason: string) => tell(`closed: ${reason}`),
	};
	const connection = await backend.attach(handle, viewer, { columns: 100, rows: 30 });
	const text = await seen;
	connection.close();
	return text;
}

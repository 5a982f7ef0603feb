/** Behaviour of the tmux backend alone: sessions that show runs, and their recovery when tmux is killed. */

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { explainTmuxProblem } from "../../src/backends/tmux/tmux-server.js";
import { isAlive, readIdentity } from "../../src/host/process-identity.js";
import { signalVerified } from "../../src/host/process-tree.js";
import type { ProcessIdentity, RunHandle, TerminalSize } from "../../src/ports/backend.js";
import { eventually, listen, startOk } from "../../src/testing/conformance/backend-world.js";
import { describeWithTmux } from "../support/needs.js";
import { agentProgram } from "./pty-world.js";
import { createTmuxWorld, type TmuxWorld } from "./tmux-world.js";

/** Asks its terminal whether it works, before and after it is shown in tmux, and prints all answers. */
const ASKS_TWICE = `
let received = "";
process.stdin.setRawMode(true).on("data", (piece) => { received += piece; });
process.stdout.write("\\x1b[5n");
setTimeout(() => process.stdout.write("\\x1b[5n"), 1000);
setTimeout(() => console.log("received " + JSON.stringify(received)), 2000);
`;
const canary = "canary-7f3a";
const sessionOf = ({ data }: RunHandle) => `=${data["session"]}:`;

describeWithTmux("sessions of the tmux backend", () => {
	let world: TmuxWorld;
	beforeEach(async () => {
		world = await createTmuxWorld();
	});
	afterEach(() => world.close());

	const isShown = (handle: RunHandle, text: string, on = world) => {
		try {
			return on.tmux("capture-pane", "-p", "-t", sessionOf(handle)).includes(text);
		} catch {
			return false;
		}
	};

	async function killServer(): Promise<void> {
		const server = world.server() as ProcessIdentity;
		signalVerified(server, "SIGKILL");
		await eventually(() => isAlive(server) === false);
	}

	test("is available where tmux is installed", () => expect(explainTmuxProblem()).toBeNull());

	test("show the agent's screen and forward input", async () => {
		const backend = world.connect();
		const request = world.request({ type: "echoes-input" });
		const handle = await startOk(backend, request);
		await eventually(() => world.received(request.runId) !== null);
		await eventually(() => world.server() !== null);
		await eventually(() => world.tmux("list-sessions").includes(String(handle.data["session"])));
		world.tmux("send-keys", "-t", sessionOf(handle), "-l", "typed in tmux");
		await eventually(() => world.received(request.runId)?.toString().includes("typed in tmux"));
		await backend.input(handle, Buffer.from(" and by reeve"));
		await eventually(() => world.received(request.runId)?.toString().includes("and by reeve"));
		const tags = world.tmux("show-options", "-t", sessionOf(handle));
		expect(tags).toMatch(/@reeve 1\n@reeve-agent project:agent-1\n@reeve-project project\n/);
		expect(
			world.tmux("display-message", "-p", "-t", sessionOf(handle), "#{pane_width}x#{pane_height}"),
		).toBe("200x50");
	});

	test("are gone with the agent, and the server with the last of them", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const request = world.request({ type: "exits", code: 3, when: "triggered" });
		await startOk(backend, request);
		await eventually(() => world.server() !== null);
		world.trigger(request.runId);
		expect(await eventually(() => exits.first(request.runId))).toMatchObject({ code: 3 });
		await eventually(() => world.server() === null);
		expect(world.reopened).toEqual([]);
	});

	test("are opened again after a kill -9 of the server; the agents keep running (S17)", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const requests = [
			world.request({ type: "lives-on" }),
			world.request({ type: "ignores-sigterm" }),
		];
		const handles = await Promise.all(requests.map((request) => startOk(backend, request)));
		for (const handle of handles) await eventually(() => isShown(handle, "ready"));
		await killServer();
		for (const handle of handles) {
			// With what the agent had printed before.
			await eventually(() => isShown(handle, "ready"));
			expect(isAlive(handle.process)).toBe(true);
		}
		expect(exits.all).toEqual([]);
		await eventually(() => world.reopened.length === 2);
		expect([...world.reopened].sort()).toEqual(requests.map(({ agentId }) => agentId));
	});

	test("are opened again by a daemon that starts after the server was killed", async () => {
		const first = world.connect();
		const handle = await startOk(first, world.request({ type: "lives-on" }));
		await eventually(() => isShown(handle, "ready"));
		await first.close();
		await killServer();
		const second = world.connect();
		expect(await second.recover(handle.runId, handle)).toEqual({ state: "running", handle });
		await eventually(() => isShown(handle, "ready"));
	});

	test("that the user closes are opened again, later each time", async () => {
		const backend = world.connect();
		const handle = await startOk(backend, world.request({ type: "lives-on" }));
		for (let round = 0; round < 2; round++) {
			await eventually(() => isShown(handle, "ready"));
			world.tmux("kill-session", "-t", sessionOf(handle));
		}
		await eventually(() => isShown(handle, "ready"));
		await eventually(() => world.reopened.length === 2);
		expect(await backend.isRunning(handle)).toBe(true);
	});

	test("give the agent the size of the window", async () => {
		const backend = world.connect();
		const file = join(world.folder, "sizes");
		const handle = await startOk(backend, world.run([agentProgram("reports-size.sh"), file]));
		const has = (size: string) => readFileSync(file, "utf8").trim().split("\n").at(-1) === size;
		await eventually(() => isShown(handle, "ready"));
		expect(has("50 200")).toBe(true);
		await backend.screen(handle);
		world.tmux("resize-window", "-t", sessionOf(handle), "-x", "90", "-y", "20");
		await eventually(() => has("20 90"));
		const sizes: TerminalSize[] = [];
		const viewer = {
			onSnapshot: (_: Uint8Array, size: TerminalSize) => void sizes.push(size),
			onOutput() {},
			onClose() {},
		};
		const connection = await backend.attach(handle, viewer, { columns: 100, rows: 30 });
		await eventually(() => has("30 100"));
		await eventually(() => sizes.at(-1)?.columns === 100);
		expect(sizes[0]).toEqual({ columns: 90, rows: 20 });
		connection.close();
	});

	test("leave the program's queries to the daemon, which answers each once", async () => {
		const backend = world.connect();
		const handle = await startOk(backend, world.run([process.execPath, "-e", ASKS_TWICE]));
		await eventually(() => isShown(handle, "received"));
		expect((await backend.screen(handle)).text).toContain('received "\\u001b[0n\\u001b[0n"');
	});

	test("never execute names and folders", async () => {
		const named = await createTmuxWorld({ name: "#(touch proof) %H '$(id)" });
		try {
			const cwd = join(named.folder, "#(touch proof)'; $(touch proof) #{pid} %d");
			mkdirSync(cwd);
			const backend = named.connect();
			const agentId = "project:#(touch proof) ; kill-server";
			const shell = "pwd; echo $REEVE_AGENT; sleep 100";
			const handle = await startOk(backend, named.run(["sh", "-c", shell], { cwd, agentId }));
			await eventually(() => isShown(handle, "project:#", named));
			expect(named.log(handle.runId).toString()).toBe(`${cwd}\r\n${agentId}\r\n`);
			for (const folder of [cwd, named.folder, named.backendFolder, "/"]) {
				expect(existsSync(join(folder, "proof"))).toBe(false);
			}
		} finally {
			await named.close();
		}
	});

	test("contain no secrets: neither argv, nor tmux, nor files (A5)", async () => {
		process.env["REEVE_TEST_CANARY"] = canary;
		const backend = world.connect();
		const file = join(world.folder, "environment");
		const env = { PATH: process.env["PATH"] ?? "", SECRET: canary };
		const argv = [process.execPath, agentProgram("writes-environment.mjs"), file] as const;
		const handle = await startOk(backend, world.run([...argv], { env }));
		await eventually(() => world.server() !== null);
		delete process.env["REEVE_TEST_CANARY"];
		await eventually(() => existsSync(file));
		expect(readFileSync(file, "utf8")).toContain(canary);
		const shown = [
			execFileSync("ps", ["-axww", "-o", "command="], { encoding: "utf8" }),
			world.tmux("show-environment", "-g"),
			world.tmux("show-environment", "-t", sessionOf(handle).slice(0, -1)),
			world.tmux("show-options", "-t", sessionOf(handle)),
		];
		for (const text of shown) expect(text).not.toContain(canary);
		const found = spawnSync("grep", ["-rl", canary, world.backendFolder], { encoding: "utf8" });
		expect(found.stdout).toBe("");
	});
});

describeWithTmux("runs that an earlier version has started in tmux", () => {
	let world: TmuxWorld;
	beforeEach(async () => {
		world = await createTmuxWorld();
	});
	afterEach(() => world.close());

	/** In the state of that version: a session of its server, a launcher in it, the agent below, and files about it. */
	async function startEarlier(runId: string, { confirmed = true } = {}): Promise<RunHandle> {
		const runs = join(world.backendFolder, "runs");
		mkdirSync(runs, { recursive: true, mode: 0o700 });
		const base = join(runs, runId);
		const launcher =
			'REEVE_RUN_ID=$1 sleep 1000 & echo "$! $$ 0 1" >"$2.started"; wait $!; echo "signal $(($? - 128))" >"$2.exit"';
		const tmux = (...args: string[]) =>
			execFileSync(
				"tmux",
				["-S", join(world.backendFolder, "tmux.sock"), "-f", "/dev/null", ...args],
				{ encoding: "utf8" },
			);
		tmux(
			"new-session",
			"-d",
			"-s",
			runId,
			"sh",
			"-c",
			launcher,
			"launcher",
			runId,
			base,
			";",
			"set-option",
			"-g",
			"remain-on-exit",
			"on",
		);
		const process = await eventually(() => {
			const pids = existsSync(`${base}.started`) ? readFileSync(`${base}.started`, "utf8") : "";
			return /^\d+ \d+ 0 1\n$/.test(pids) && readIdentity(Number(pids.split(" ")[0]));
		});
		const server = readIdentity(Number(tmux("display-message", "-p", "#{pid}"))) as ProcessIdentity;
		const data = {
			session: runId,
			launcher: "perl",
			terminal: 1,
			serverPid: server.pid,
			serverStartTime: server.startTime,
		};
		const handle: RunHandle = { backend: "tmux", runId, process, startedAtMs: Date.now(), data };
		if (confirmed) writeFileSync(`${base}.handle`, JSON.stringify(handle));
		return handle;
	}

	test("are stopped within their grace period and reported as replaced, and their server exits", async () => {
		const handles = [await startEarlier("earlier-1"), await startEarlier("earlier-2")];
		const backend = world.connect();
		const exits = listen(backend);
		for (const handle of handles) {
			const found = await backend.recover(handle.runId, handle);
			expect(found).toMatchObject({ state: "running", handle: { process: handle.process } });
		}
		for (const { runId, process } of handles) {
			const exit = await eventually(() => exits.first(runId));
			expect(exit.replaced).toMatch(/earlier version of Reeve.*started again/);
			expect(isAlive(process)).toBe(false);
			await eventually(() => existsSync(join(world.backendFolder, "runs", `${runId}.exit`)));
			await backend.forget(runId);
		}
		const server = {
			...(handles[0] as RunHandle).process,
			pid: Number(handles[0]?.data["serverPid"]),
			startTime: String(handles[0]?.data["serverStartTime"]),
		};
		await eventually(() => isAlive(server) === false);
		expect(exits.all).toHaveLength(2);
		expect(existsSync(join(world.backendFolder, "tmux.sock"))).toBe(false);
	});

	test("are found when no daemon had confirmed their start", async () => {
		const handle = await startEarlier("earlier-3", { confirmed: false });
		const backend = world.connect();
		const exits = listen(backend);
		expect(await backend.recover("earlier-3", null)).toMatchObject({
			...{ state: "running", handle: { process: handle.process } },
		});
		expect((await eventually(() => exits.first("earlier-3"))).replaced).toBeDefined();
	});

	test("that ended while no daemon ran have the exit that was recorded", async () => {
		const runs = join(world.backendFolder, "runs");
		mkdirSync(runs, { recursive: true, mode: 0o700 });
		writeFileSync(join(runs, "earlier-4.exit"), "signal 9 oom\n");
		writeFileSync(join(runs, "earlier-5.exit"), "code 137\n");
		const backend = world.connect();
		const recover = async (runId: string) => backend.recover(runId, null);
		expect(await recover("earlier-4")).toMatchObject({
			...{ state: "exited", exit: { code: null, signal: "SIGKILL", outOfMemory: true } },
		});
		expect(await recover("earlier-5")).toMatchObject({
			state: "exited",
			exit: { code: 137, signal: null },
		});
		await backend.forget("earlier-4");
		expect(existsSync(join(runs, "earlier-4.exit"))).toBe(false);
		rmSync(runs, { recursive: true });
	});
});

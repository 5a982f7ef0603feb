/** Further guarantees of backends with real processes: about the system, terminals, and leftovers. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isAlive, readIdentity } from "../../src/host/process-identity.js";
import { readProcessTable } from "../../src/host/process-table.js";
import type { Backend, RunHandle, TerminalSize } from "../../src/ports/backend.js";
import { eventually, listen, runOf, startOk } from "../../src/testing/conformance/backend-world.js";
import { agentProgram, type PtyWorld } from "./pty-world.js";
import { CLOSE_MS_MAX, TEST_MS_MAX } from "./world.js";

const node = process.execPath;

/** Collects the output that a viewer receives. */
async function watch(backend: Backend, handle: RunHandle, size: TerminalSize | null = null) {
	const seen: { type: "snapshot" | "output" | "close"; text: string }[] = [];
	const connection = await backend.attach(
		handle,
		{
			onSnapshot: (bytes) => seen.push({ type: "snapshot", text: Buffer.from(bytes).toString() }),
			onOutput: (bytes) => seen.push({ type: "output", text: Buffer.from(bytes).toString() }),
			onClose: (reason) => seen.push({ type: "close", text: reason }),
		},
		size,
	);
	const text = () => seen.map((piece) => piece.text).join("");
	return { seen, text, connection };
}

export function runProcessSuite(name: string, createWorld: () => Promise<PtyWorld>): void {
	describe(`processes of backend ${name}`, { timeout: TEST_MS_MAX }, () => {
		let world: PtyWorld;
		beforeEach(async () => {
			world = await createWorld();
		});
		afterEach(() => world.close(), CLOSE_MS_MAX);

		describe("failed starts are distinguished (S14)", () => {
			const cases: [
				what: string,
				prepare: (world: PtyWorld) => Parameters<PtyWorld["run"]>,
				says: RegExp,
			][] = [
				["a missing program", () => [["not-installed"]], /program `not-installed` not found/],
				["a missing path", () => [["/no/such/program"]], /\/no\/such\/program does not exist/],
				[
					"a missing folder",
					() => [["true"], { cwd: "/no/such/folder" }],
					/directory .* does not exist/,
				],
				["a folder that is a file", () => [["true"], { cwd: "/etc/hosts" }], /not a directory/],
				[
					"a missing interpreter",
					({ folder }) => [[script(folder, "#!/no/such/interpreter\n", 0o755)]],
					/interpreter \/no\/such\/interpreter of .* does not exist/,
				],
				[
					"an interpreter that is not on the PATH",
					({ folder }) => [[script(folder, "#!/usr/bin/env not-installed\n", 0o755)]],
					/interpreter `not-installed`/,
				],
				[
					"a file without the right to execute",
					({ folder }) => [[script(folder, "#!/bin/sh\n", 0o644)]],
					/not executable: chmod/,
				],
				["a folder as the program", () => [["/etc"]], /is a directory/],
				["one argument too long", () => [["true", "x".repeat(200_000)]], /longer than|too long/],
				[
					"too many arguments",
					() => [["true", ...Array.from({ length: 1_000 }, () => "x".repeat(10_000))]],
					/too long/,
				],
			];
			for (const terminal of [true, false]) {
				test.each(cases)(
					`%s, ${terminal ? "in" : "without"} a terminal`,
					async (_, prepare, says) => {
						const [argv, more] = prepare(world);
						const result = await world.connect().start(world.run(argv, { ...more, terminal }));
						expect(result).toMatchObject({
							ok: false,
							failure: { permanent: true, detail: expect.stringMatching(says) },
						});
					},
				);
			}
		});

		test.each([true, false])(
			"passes the environment unchanged and hides it from others (A5), terminal: %s",
			async (terminal) => {
				const file = join(world.folder, "environment");
				const env = {
					PATH: process.env["PATH"] ?? "",
					SECRET: "canary-\u{1F600} with spaces * $HOME = \"quotes\" 'and' \n lines",
					"strange.name-1": "kept",
					EMPTY: "",
					PERL5OPT: "-Mno::such::module",
					LANG: "xx_XX.UTF-8",
				};
				const backend = world.connect();
				const argv = [node, agentProgram("writes-environment.mjs"), file] as const;
				const request = world.run([...argv], { env, terminal });
				const handle = await startOk(backend, request);
				await eventually(() => existsSync(file));
				const { __CF_USER_TEXT_ENCODING, ...seen } = JSON.parse(readFileSync(file, "utf8"));
				expect(seen).toEqual({
					...env,
					REEVE_RUN_ID: request.runId,
					REEVE_AGENT: request.agentId,
					...(terminal ? { TERM: "xterm-256color" } : {}),
				});
				const listing = execFileSync("ps", ["-axww", "-o", "command="], { encoding: "utf8" });
				expect(listing).toContain("writes-environment.mjs");
				expect(listing).not.toContain("canary");
				if (process.platform === "linux") {
					const environ = readFileSync(`/proc/${world.holder().pid}/environ`, "utf8");
					expect(environ).not.toContain("canary");
					expect(environ).not.toContain("REEVE_RUN_ID");
				}
				expect(JSON.stringify(handle)).not.toContain("canary");
			},
		);

		test("does not pass its own environment or directory to the holder", async () => {
			process.env["REEVE_TEST_CANARY"] = "canary";
			try {
				await startOk(world.connect(), world.request({ type: "lives-on" }));
			} finally {
				delete process.env["REEVE_TEST_CANARY"];
			}
			if (process.platform !== "linux") return;
			expect(readFileSync(`/proc/${world.holder().pid}/environ`, "utf8")).not.toContain("canary");
		});

		test("runs without a terminal, its output going straight to its log", async () => {
			const backend = world.connect();
			const exits = listen(backend);
			const command = "tty; echo to stderr >&2; echo done; exit 4";
			const request = world.run(["sh", "-c", command], { terminal: false });
			const handle = await startOk(backend, request);
			expect(await eventually(() => exits.first(request.runId))).toMatchObject({ code: 4 });
			expect(world.log(request.runId).toString()).toBe("not a tty\nto stderr\ndone\n");
			await expect(backend.input(handle, Buffer.from("x"))).rejects.toThrow(/no terminal/);
		});

		test("has all output in the log before the exit is reported", async () => {
			const backend = world.connect();
			const missing: number[] = [];
			backend.onExit(({ runId }) => missing.push(100_000 - world.log(runId).length));
			for (let run = 0; run < 10; run++) {
				await startOk(backend, world.run(["head", "-c", "100000", "/dev/zero"]));
			}
			await eventually(() => missing.length === 10);
			expect(missing).toEqual(Array.from({ length: 10 }, () => 0));
		});

		test("keeps every byte that is not UTF-8, and shows a clean screen", async () => {
			const backend = world.connect();
			const request = world.run([node, agentProgram("prints-invalid-utf8.mjs")]);
			const handle = await startOk(backend, request);
			await eventually(async () => (await backend.screen(handle)).text.includes("after"));
			expect((await backend.screen(handle)).text).toMatch(/^[\P{Cc}]*\u{1F600}after$/u);
			// The agent keeps running, and its log is written by another process than its screen.
			await eventually(() => world.log(request.runId).length >= 8);
			expect([...world.log(request.runId).subarray(0, 8)]).toEqual([
				0xff, 0xfe, 0xc3, 0x28, 0xf0, 0x9f, 0x98, 0x80,
			]);
		});

		const linux = {
			skip: process.platform !== "linux",
			meta: { skipReason: "only Linux shows which files a process holds" },
		};
		test.each([true, false])(
			"has no open files except its standard three, terminal: %s (S17)",
			linux,
			async (terminal) => {
				const backend = world.connect();
				const exits = listen(backend);
				for (const other of [true, true, false]) {
					await startOk(backend, world.run([agentProgram("lives-on.sh")], { terminal: other }));
				}
				const look = `for (const fd of require("node:fs").readdirSync("/proc/" + process.argv[1] + "/fd"))
				console.log(fd, require("node:fs").readlinkSync("/proc/" + process.argv[1] + "/fd/" + fd));`;
				const request = world.run(["sleep", "1000"], { terminal });
				const handle = await startOk(backend, request);
				const pid = String(handle.process.pid);
				await eventually(() => readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith("sleep"));
				const held = execFileSync(node, ["-e", look, pid], { encoding: "utf8" }).trim().split("\n");
				expect(held.map((line) => line.split(" ")[0])).toEqual(["0", "1", "2"]);
				expect(held.join("\n")).not.toContain("ptmx");
				expect(exits.all).toEqual([]);
			},
		);

		test("sees the exit of an agent that has closed its terminal", async () => {
			const backend = world.connect();
			const exits = listen(backend);
			const file = join(world.folder, "go");
			const handle = await startOk(
				backend,
				world.run([node, agentProgram("closes-stdio.mjs"), file]),
			);
			expect(await backend.isRunning(handle)).toBe(true);
			writeFileSync(file, "");
			expect(await eventually(() => exits.first(handle.runId))).toMatchObject({ code: 7 });
		});

		describe("attaching", () => {
			test("sends the screen and then the output to every viewer", async () => {
				const backend = world.connect();
				const handle = await startOk(
					backend,
					world.run(["sh", "-c", "stty -echo; echo ready; cat"]),
				);
				await eventually(async () => (await backend.screen(handle)).text.includes("ready"));
				const first = await watch(backend, handle);
				const second = await watch(world.connect(), handle);
				await eventually(() => first.seen.length > 0 && second.seen.length > 0);
				expect(first.seen[0]).toMatchObject({
					type: "snapshot",
					text: expect.stringContaining("ready"),
				});
				first.connection.write(Buffer.from("from the first\n"));
				second.connection.write(Buffer.from("from the second\n"));
				for (const { text } of [first, second]) {
					await eventually(
						() => text().includes("from the first") && text().includes("from the second"),
					);
				}
				first.connection.close();
				await backend.input(handle, Buffer.from("later\n"));
				await eventually(() => second.text().includes("later"));
				expect(first.text()).not.toContain("later");
				await backend.kill(runOf(handle));
				await eventually(() => second.seen.at(-1)?.type === "close");
			});

			test("draws the same screen that the program drew", async () => {
				const backend = world.connect();
				const drawn = "\\033[2J\\033[5;10H\\033[31mred\\033[0m\\033[7;1Hseven";
				const handle = await startOk(
					backend,
					world.run(["sh", "-c", `printf '${drawn}'; exec cat`]),
				);
				const look = async () => (await backend.screen(handle)).text.includes("seven");
				await eventually(look);
				expect((await backend.screen(handle)).text).toBe("\n\n\n\n         red\n\nseven");
				const { seen } = await watch(backend, handle);
				await eventually(() => seen.length > 0);
				expect(seen[0]?.text).toContain("\u001b[31mred");
			});

			test("notifies the program of a new size", async () => {
				const backend = world.connect();
				const file = join(world.folder, "sizes");
				const handle = await startOk(backend, world.run([agentProgram("reports-size.sh"), file]));
				await eventually(async () => (await backend.screen(handle)).text.includes("ready"));
				const { connection } = await watch(backend, handle, { columns: 100, rows: 30 });
				await eventually(() => readFileSync(file, "utf8").includes("30 100"));
				connection.resize({ columns: 90, rows: 20 });
				await eventually(() => readFileSync(file, "utf8").includes("20 90"));
				expect(readFileSync(file, "utf8")).toMatch(/^50 200\n/);
			});

			test("shows every viewer the size that one of them has set", async () => {
				const backend = world.connect();
				const handle = await startOk(backend, world.run(["cat"]));
				const sizes: string[] = [];
				const onSnapshot = (_: Uint8Array, size: TerminalSize) =>
					void sizes.push(`${size.columns}x${size.rows}`);
				await backend.attach(handle, { onSnapshot, onOutput() {}, onClose() {} }, null);
				const { connection } = await watch(backend, handle, { columns: 100, rows: 30 });
				await eventually(() => sizes.at(-1) === "100x30");
				connection.resize({ columns: 90, rows: 20 });
				await eventually(() => sizes.at(-1) === "90x20");
			});

			test("answers the program's terminal queries unless a viewer does", async () => {
				const backend = world.connect();
				const program = String.raw`process.stdin.setRawMode(true);
					process.stdin.on("data", (data) => {
						if (/\[\d+;\d+R/.test(data)) console.log("answered " + data.toString().slice(1));
						else process.stdout.write("\x1b[6n");
					});
					console.log("ready");`;
				const handle = await startOk(backend, world.run([node, "-e", program]));
				const { text } = await watch(backend, handle);
				await eventually(() => text().includes("ready"));
				const ask = () => backend.input(handle, Buffer.from("?"));
				await ask();
				await eventually(() => text().includes("answered [2;1R"));

				const answering = await backend.attach(
					handle,
					{ answers: () => true, onSnapshot() {}, onOutput() {}, onClose() {} },
					null,
				);
				await ask();
				await eventually(() => text().split("\u001b[6n").length > 2);
				answering.write(Buffer.from("\u001b[77;7R"));
				await eventually(() => text().includes("answered [77;7R"));
				expect(text().match(/answered/g)).toHaveLength(2);
			});

			test("to an ended run reports an error", async () => {
				const backend = world.connect();
				const exits = listen(backend);
				const handle = await startOk(backend, world.request({ type: "exits", code: 0 }));
				await eventually(() => exits.first(handle.runId));
				const { seen } = await watch(backend, handle);
				await eventually(() => seen.at(-1)?.type === "close");
			});
		});

		test("reports that a run of another boot is gone by reboot", async () => {
			const backend = world.connect();
			const handle = await startOk(backend, world.request({ type: "lives-on" }));
			const before = { ...handle, runId: "of-another-boot" };
			const found = await backend.recover(before.runId, {
				...before,
				process: { ...handle.process, bootId: "another" },
			});
			expect(found).toEqual({ state: "gone", rebooted: true });
		});
	});
}

/** The same with and without control groups: they find more, and must not be needed. */
export function runKillSuite(name: string, createWorld: () => Promise<PtyWorld>): void {
	describe(`killing in ${name}`, { timeout: TEST_MS_MAX }, () => {
		let world: PtyWorld;
		let bystanders: ChildProcess[];
		beforeEach(async () => {
			bystanders = [];
			world = await createWorld();
		});
		afterEach(async () => {
			for (const child of bystanders) child.kill("SIGKILL");
			await world.close();
		}, CLOSE_MS_MAX);

		test("leaves nothing of a tree that forks twice into other sessions and ignores signals (S11)", async () => {
			const backend = world.connect();
			const file = join(world.folder, "grandchild");
			const argv = [node, agentProgram("double-forks.mjs"), file] as const;
			// The same program, run by another user.
			const decoyFile = join(world.folder, "decoy");
			bystanders.push(spawn(node, [argv[1], decoyFile, "grandchild"], { stdio: "ignore" }));
			const handle = await startOk(backend, world.run([...argv]));
			const pid = Number(await eventually(() => existsSync(file) && readFileSync(file, "utf8")));
			const grandchild = readIdentity(pid);
			if (grandchild === null) throw new Error("the grandchild is not there");
			await eventually(() => existsSync(decoyFile));
			const decoy = readIdentity(Number(readFileSync(decoyFile, "utf8")));
			if (decoy === null) throw new Error("the decoy is not there");
			const { sid } = readProcessTable().entries.find((entry) => entry.pid === pid) ?? { sid: 0 };
			expect(sid).not.toBe(handle.process.pid);

			expect(await backend.kill(runOf(handle))).toMatchObject({ ok: true });
			expect(isAlive(handle.process)).toBe(false);
			expect(isAlive(grandchild)).toBe(false);
			expect(isAlive(decoy)).toBe(true);
		});

		test.each([true, false])(
			"signals a program that a shell has started, lists it and gives it time, terminal: %s (S12)",
			async (terminal) => {
				const backend = world.connect();
				const exits = listen(backend);
				const file = join(world.folder, "cleanup");
				const program = [node, agentProgram("cleans-up-on-sigterm.mjs"), file].join(" ");
				const request = world.run(["sh", "-c", `${program}; echo after`], { terminal });
				const handle = await startOk(backend, request);
				await eventually(() => existsSync(file));
				const reached = await backend.signal(handle, "SIGTERM");
				expect(reached.map(({ pid }) => pid)).toContain(handle.process.pid);
				expect(reached.length).toBeGreaterThanOrEqual(2);
				await eventually(() => exits.first(handle.runId));
				const run = { ...runOf(handle), justExited: true };
				await eventually(async () => {
					const left = await backend.processes(run);
					return left.ok && left.processes.length === 0;
				});
				expect(readFileSync(file, "utf8")).toBe("ready\nasked\nclean\n");
				expect(await backend.kill(run)).toEqual({ ok: true, killed: [] });
			},
		);

		test("kills descendants that the agent has left behind", async () => {
			const backend = world.connect();
			const exits = listen(backend);
			const file = join(world.folder, "grandchild");
			const handle = await startOk(
				backend,
				world.run([node, agentProgram("double-forks.mjs"), file]),
			);
			const pid = Number(await eventually(() => existsSync(file) && readFileSync(file, "utf8")));
			const grandchild = readIdentity(pid);
			await backend.signal(handle, "SIGKILL");
			await eventually(() => exits.first(handle.runId));
			expect(grandchild !== null && isAlive(grandchild)).toBe(true);
			expect(await backend.kill(runOf(handle))).toMatchObject({ ok: true });
			expect(grandchild !== null && isAlive(grandchild)).toBe(false);
		});

		test("kills a tree that forks all the time", async () => {
			const backend = world.connect();
			const bomb = "f() { sh -c 'sleep 5' & }; while :; do f; f; f; sleep 0.01; done";
			const handle = await startOk(backend, world.run(["sh", "-c", bomb]));
			const members = () => {
				const table = readProcessTable();
				return table.entries.filter(
					({ ended, pid }) => !ended && table.runIdOf(pid) === handle.runId,
				).length;
			};
			await eventually(() => members() > 20);
			expect(await backend.kill(runOf(handle))).toMatchObject({ ok: true });
			expect(members()).toBe(0);
		});

		test("and signalling never touch another process with the same number (S10)", async () => {
			const backend = world.connect();
			const exits = listen(backend);
			const handle = await startOk(backend, world.request({ type: "exits", code: 0 }));
			await eventually(() => exits.first(handle.runId));
			// Start times have a resolution of 10 ms. Pids are not reused that fast.
			await sleep(50);
			const impostor = spawn("sleep", ["1000"], { stdio: "ignore", detached: true });
			bystanders.push(impostor);
			const identity = readIdentity(impostor.pid as number);
			if (identity === null) throw new Error("the impostor is not there");
			// As if the pid had been reused after the agent's exit.
			const stale = { ...handle, process: { ...handle.process, pid: identity.pid } };
			await backend.signal(stale, "SIGKILL");
			expect(await backend.kill(runOf(stale))).toMatchObject({ ok: true });
			expect(await backend.isRunning(stale)).toBe(false);
			expect(isAlive(identity)).toBe(true);
		});
	});
}

function script(folder: string, text: string, mode: number): string {
	const path = join(folder, "a-script");
	writeFileSync(path, text);
	chmodSync(path, mode);
	return path;
}

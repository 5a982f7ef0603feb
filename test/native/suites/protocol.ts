/** Access, versions, malformed frames, and secrets. */

import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { Client } from "../support/client.js";
import { Fields, frame, TYPE, u8, u32 } from "../support/frames.js";
import { isAlive, type Run, until, type World } from "../support/world.js";

const isRoot = process.getuid?.() === 0;

async function refusal(
	path: string,
	bytes: Buffer,
	hello: Buffer | undefined = Client.hello(),
): Promise<string> {
	const client = await Client.open(path, hello);
	client.socket.write(bytes);
	const reason = (await client.fields(TYPE.refused)).str();
	await client.end();
	return reason;
}

export function protocolSuite(world: () => World): void {
	it("greets with its versions and the same status that it answers", async () => {
		const run = await world().run(["sleep", "100"]);
		const fields = await run.client.fields(TYPE.hello);
		expect([fields.u8(), fields.u8()]).toEqual([1, 4]);
		expect(fields.str()).toBe(run.spec.runId);
		const starter = await world().starter();
		const hello = await starter.fields(TYPE.hello);
		expect([hello.u8(), hello.u8(), hello.u32()]).toEqual([1, 4, world().starterPid]);
		expect(await run.status()).toMatchObject({
			runId: run.spec.runId,
			shim: run.started.shim,
			shimStart: run.started.shimStart,
			agent: run.started.agent,
			agentStart: run.started.agentStart,
			state: 1,
			terminal: true,
			columns: 80,
			rows: 24,
		});
	});

	it("accepts peers whose version range includes its own, and refuses others", async () => {
		const run = await world().run(["sleep", "100"]);
		const socket = run.spec.socket;
		for (const hello of [
			frame(1, Buffer.from([1, 1])),
			frame(1, Buffer.from([0, 1])),
			frame(1, Buffer.from([1, 1, 7, 7, 7]), 9),
		]) {
			const client = await Client.open(socket, hello);
			expect((await client.ask(TYPE.tree, [TYPE.treeList]))[1].list()).toEqual([run.started.agent]);
			client.close();
		}
		for (const versions of [
			[5, 9],
			[0, 0],
			[4, 1],
		]) {
			expect(await refusal(socket, Buffer.alloc(0), frame(1, Buffer.from(versions)))).toContain(
				"no common version",
			);
		}
		const starter = join(world().folder, "starter.sock");
		expect(await refusal(starter, Buffer.alloc(0), frame(1, Buffer.from([5, 5])))).toContain(
			"no common version",
		);
	});

	it("speaks the newest version that both speak, from the greeting on", async () => {
		const run = await world().run(["sleep", "100"]);
		for (const newest of [2, 3, 4, 9]) {
			const client = await Client.open(run.spec.socket, Client.hello(1, newest));
			const version = Math.min(newest, 4);
			client.socket.write(frame(TYPE.tree, u32(7), version));
			expect(await client.wait(({ type }) => type === TYPE.treeList)).toMatchObject({ version });
			client.close();
		}
		const older = await Client.open(run.spec.socket, Client.hello(1, 1));
		older.send(TYPE.tree, u32(7));
		expect(await older.wait(({ type }) => type === TYPE.treeList)).toMatchObject({ version: 1 });
	});

	it("reports a size to those that follow, except to those of version 1", async () => {
		const run = await world().run(["sleep", "100"]);
		const viewer = await Client.open(run.spec.socket, Client.hello(1, 2));
		const older = await Client.open(run.spec.socket, Client.hello(1, 1));
		viewer.socket.write(frame(TYPE.follow, Buffer.concat([u32(1), u8(0)]), 2));
		await viewer.fields(TYPE.following);
		await older.ask(TYPE.follow, [TYPE.following]);
		for (const columns of [100, 100, 101]) run.client.resize(columns, 30);
		const seen = async () => {
			const fields = await viewer.fields(TYPE.resized);
			return [fields.u64(), fields.u16(), fields.u16()];
		};
		// The same size again is none.
		expect([await seen(), await seen()]).toEqual([
			[0, 100, 30],
			[0, 101, 30],
		]);
		await older.tree();
		expect(older.frames.filter(({ type }) => type === TYPE.resized)).toEqual([]);
	});

	it("reports queries also while a connection follows that leaves them to others", async () => {
		const run = await world().run(["sh", "-c", "read x; printf '\\033[6n'; sleep 100"]);
		const viewer = await Client.open(run.spec.socket, Client.hello(1, 2));
		viewer.socket.write(frame(TYPE.follow, Buffer.concat([u32(1), u8(1)]), 2));
		await viewer.fields(TYPE.following);
		await run.client.input("\r");
		expect((await run.client.fields(TYPE.query)).u64()).toBe((await run.status()).queryAt);
	});

	it("shows a run in another terminal, without its queries, and takes keys and sizes from there", async () => {
		const { binary } = world();
		const shown = await world().run([
			"sh",
			"-c",
			"printf 'a\\033[6nb\\033]11;?\\007c\\033[1md'; read x; echo got $x; stty size; read x",
		]);
		await shown.logged("d");
		const pane = await world().run([binary, "attach", shown.spec.socket, shown.spec.logDir], {
			agent: "pane",
		});
		await pane.logged("abc\x1b[1md");
		await pane.client.input("keys\r");
		await pane.logged("got keys\r\n24 80");
		pane.client.resize(90, 20);
		await until(async () => (await shown.status()).columns === 90);
		await shown.client.input("\r");
		await shown.exit();
		expect((await pane.exit()).status).toBe(0);
	});

	it("runs a shim through another program, which becomes it", async () => {
		const file = join(world().folder, "enclosed");
		const enclosure = ["sh", "-c", `echo $$ "$*" >${file}; exec "$@"`, "unit"];
		const run = await world().run(["sh", "-c", "exit 3"], { enclosure });
		expect((await run.exit()).status).toBe(3 << 8);
		expect(readFileSync(file, "utf8")).toBe(
			`${run.started.shim} /dev/fd/5 run ${run.spec.runId}\n`,
		);
		const failed = await world().tryStart(
			world().spec(["true"], { enclosure: ["sh", "-c", "exit 1"] }),
		);
		expect(failed).toMatchObject({ step: 11 });
	});

	it.each([
		["a frame before HELLO", frame(TYPE.tree, u32(1)), "HELLO", true],
		["an unknown type", frame(200), "unknown type", false],
		[
			"a type of the other socket",
			frame(TYPE.killStrangers, Buffer.alloc(8)),
			"unknown type",
			false,
		],
		["a frame that is too long", Buffer.from([1, 0, 1, 0, TYPE.input, 1, 0, 0]), "too long", false],
		[
			"the longest length there is",
			Buffer.from([255, 255, 255, 255, TYPE.input, 1, 0, 0]),
			"too long",
			false,
		],
		["a payload that is too short", frame(TYPE.kill, u32(1)), "too short", false],
		["a payload that is too long", frame(TYPE.tree, Buffer.alloc(5)), "too long", false],
		[
			"a third field that is not zero",
			Buffer.from([4, 0, 0, 0, TYPE.tree, 1, 1, 0, 0, 0, 0, 0]),
			"not zero",
			false,
		],
		["another version than was agreed", frame(TYPE.tree, u32(1), 2), "another version", false],
		[
			"an impossible signal",
			frame(TYPE.signal, Buffer.from([1, 0, 0, 0, 255, 255, 0, 0, 0])),
			"unknown signal",
			false,
		],
		[
			"an impossible target",
			frame(TYPE.signal, Buffer.from([1, 0, 0, 0, 1, 0, 0, 0, 9])),
			"unknown signal",
			false,
		],
		["an impossible size", frame(TYPE.resize, Buffer.alloc(4)), "cannot be 0", false],
	])("refuses %s, and continues to serve other clients", async (_, bytes, reason, silent) => {
		const run = await world().run(["sleep", "100"]);
		expect(await refusal(run.spec.socket, bytes, silent ? Buffer.alloc(0) : undefined)).toContain(
			reason,
		);
		expect(await run.client.tree()).toEqual([run.started.agent]);
	});

	it("reads frames that arrive in pieces of any size", async () => {
		const run = await world().run(["sleep", "100"]);
		const client = await Client.open(run.spec.socket, undefined);
		const bytes = Buffer.concat([
			Client.hello(),
			frame(TYPE.tree, u32(7)),
			frame(TYPE.status, u32(8)),
		]);
		for (const byte of bytes) {
			client.socket.write(Buffer.from([byte]));
			await new Promise((resolve) => setImmediate(resolve));
		}
		expect((await client.fields(TYPE.treeList)).u32()).toBe(7);
		expect((await client.fields(TYPE.statusReply)).u32()).toBe(8);
		client.close();
	});

	it("serves eight connections and refuses the ninth", async () => {
		const run = await world().run(["sleep", "100"]);
		const clients = await Promise.all(
			Array.from({ length: 7 }, () => world().connect(run.spec.socket)),
		);
		await Promise.all(clients.map((client) => client.fields(TYPE.hello)));
		expect(await refusal(run.spec.socket, Buffer.alloc(0))).toContain("too many connections");
		clients[0]?.close();
		await until(async () => {
			const client = await world().connect(run.spec.socket);
			const first = await client.wait(() => true);
			return first.type === TYPE.hello;
		});
	});

	it("drops a connection that sends requests and never reads, and continues", async () => {
		const run = await world().run(["sleep", "100"]);
		const greedy = await world().connect(run.spec.socket);
		greedy.socket.pause();
		for (let i = 0; i < 100_000; i++) greedy.send(TYPE.status, u32(i));
		await run.status();
		expect(await run.client.tree()).toEqual([run.started.agent]);
		const rss = Number(
			/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${run.started.shim}/status`, "utf8"))?.[1],
		);
		if (!readFileSync(`/proc/${run.started.shim}/maps`, "latin1").includes("asan"))
			expect(rss).toBeLessThan(20_000);
	});

	it("makes its sockets for the user alone", async () => {
		const run = await world().run(["sleep", "100"]);
		expect(statSync(run.spec.socket).mode & 0o777).toBe(0o600);
		expect(statSync(join(world().folder, "starter.sock")).mode & 0o777).toBe(0o600);
	});

	it.skipIf(!isRoot)(
		"refuses a peer of another user, and accepts root at the shim of a user",
		async () => {
			const run = await world().run(["sleep", "100"]);
			const connect = `const s = require("net").connect(${JSON.stringify(run.spec.socket)}); s.on("data", (d) => { console.log(d.toString("latin1")); process.exit(0) }); s.on("error", (e) => { console.log(e.code); process.exit(0) });`;
			execFileSync("chmod", ["755", world().folder, run.spec.runDir]);
			execFileSync("chmod", ["666", run.spec.socket]);
			const other = spawnSync(process.execPath, ["-e", connect], {
				uid: 65534,
				gid: 65534,
				encoding: "utf8",
				env: {},
			});
			expect(other.stdout).toContain("belongs to another user");
			execFileSync("chmod", ["700", world().folder, run.spec.runDir]);
		},
	);

	it("refuses a folder that other users can enter", () => {
		const folder = join(world().folder, "open");
		execFileSync("mkdir", ["-m", "755", folder]);
		const result = spawnSync(world().binary, ["starter", folder], { encoding: "utf8" });
		expect([result.status, result.stderr]).toEqual([1, `reeve-shim starter: ${folder}: error 1\n`]);
	});

	it.skipIf(!isRoot)("refuses to run with the rights of another user", () => {
		const copy = join(world().folder, "setuid");
		execFileSync("install", ["-m", "4755", world().binary, copy]);
		execFileSync("chmod", ["755", world().folder]);
		const result = spawnSync(copy, ["starter", world().folder], {
			uid: 65534,
			gid: 65534,
			encoding: "utf8",
		});
		execFileSync("chmod", ["700", world().folder]);
		expect(result.status).toBe(2);
		expect(result.stderr).toContain("setuid");
	});

	it.skipIf(!isRoot)(
		"keeps no secret of any run in the memory of a shim or the starter",
		async () => {
			const secrets = Array.from(
				{ length: 4 },
				(_, i) => `SECRET=hush-${i}-${"s".repeat(40)}-${world().folder}`,
			);
			const runs: Run[] = [];
			for (const [i, secret] of secrets.entries()) {
				runs.push(
					await world().run(["sh", "-c", "sleep 100; true", `arg-${secret}`], {
						agent: `m${i}`,
						env: [secret, "PATH=/bin:/usr/bin"],
					}),
				);
			}
			for (const pid of [world().starterPid, ...runs.map((run) => run.started.shim)]) {
				expect(readMemory(pid).length).toBeGreaterThan(10_000);
				// A shim wipes its specification just after it has reported the start.
				const hasSecret = () => readMemory(pid).includes("hush-");
				for (let look = 0; look < 100 && hasSecret(); look++) await sleep(10);
				expect(hasSecret()).toBe(false);
			}
			expect(readMemory(runs[0]?.started.agent ?? 0).includes("hush-0")).toBe(true);
		},
	);

	it("cannot be read or traced by other processes of the user", async () => {
		const run = await world().run(["sleep", "100"]);
		// Files of an undumpable process belong to root; here every user is root, so the flag itself is
		// checked.
		const status = readFileSync(`/proc/${run.started.shim}/limits`, "utf8");
		expect(status).toMatch(/Max core file size\s+0 /);
		expect(readFileSync(`/proc/${run.started.shim}/environ`, "latin1")).toBe("");
	});

	it("leaves nothing behind after many runs", async () => {
		const runs: Run[] = [];
		for (let i = 0; i < 20; i++)
			runs.push(await world().run(["sh", "-c", "sleep 0.05"], { agent: `n${i}` }));
		for (const run of runs) await run.ended();
		await until(() => runs.every((run) => !isAlive(run.started.shim)));
		const starter = await world().starter();
		expect((await starter.ask(TYPE.strangers, [TYPE.strangerList]))[1].list()).toEqual([]);
		const children = readFileSync(
			`/proc/${world().starterPid}/task/${world().starterPid}/children`,
			"utf8",
		);
		expect(children).toBe("");
	});

	it("describes an end without any connection in its record", async () => {
		const spec = world().spec(["sh", "-c", "exit 3"]);
		await world().tryStart(spec);
		await until(
			() =>
				(JSON.parse(readFileSync(join(spec.runDir, "record"), "utf8")) as { tree: string }).tree ===
				"empty",
		);
		const record = JSON.parse(readFileSync(join(spec.runDir, "record"), "utf8")) as Record<
			string,
			unknown
		>;
		expect(record).toMatchObject({
			v: 1,
			run: spec.runId,
			boot: "boot-1",
			state: "ended",
			status: 3 << 8,
			terminal: true,
		});
		expect(typeof record["agent_start"]).toBe("string");
		expect(new Fields(u32(0)).u32()).toBe(0);
	});
}

/** Everything that is mapped and readable. */
function readMemory(pid: number): Buffer {
	const parts: Buffer[] = [];
	const memory = openSync(`/proc/${pid}/mem`, "r");
	for (const line of readFileSync(`/proc/${pid}/maps`, "latin1").split("\n")) {
		const match = /^([0-9a-f]+)-([0-9a-f]+) r/.exec(line);
		if (match === null || /vvar|vsyscall/.test(line)) continue;
		const [start, end] = [BigInt(`0x${match[1]}`), BigInt(`0x${match[2]}`)];
		if (end - start > 200_000_000n) continue;
		const bytes = Buffer.alloc(Number(end - start));
		try {
			const count = readSync(memory, bytes, 0, bytes.length, start as unknown as number);
			parts.push(bytes.subarray(0, count));
		} catch {
			// A page that cannot be read.
		}
	}
	closeSync(memory);
	return Buffer.concat(parts);
}

/** Input, size, followers and queries of a terminal. */

import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { Fields, TYPE } from "../support/frames.js";
import { type Run, until, type World } from "../support/world.js";

const STRINGS = Number(process.env["REEVE_TYPED_STRINGS"] ?? 300);

/** A program that copies its raw input to a file, and says when it is ready. */
function copier(world: World, before = ""): readonly string[] {
	return [
		"sh",
		"-c",
		`stty raw -echo; ${before} printf ready; exec cat > ${join(world.folder, "typed")}`,
	];
}

/** The program makes the file a moment after it says that it is ready. */
function typed(world: World): Buffer {
	const path = join(world.folder, "typed");
	return existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
}

async function readyCopier(world: World, before = ""): Promise<Run> {
	const run = await world.run(copier(world, before));
	await run.logged("ready");
	return run;
}

export function terminalSuite(world: () => World): void {
	it(`delivers ${STRINGS} random strings byte for byte and in order`, {
		timeout: 300_000,
	}, async () => {
		const run = await readyCopier(world());
		const strings = Array.from({ length: STRINGS }, (_, i) => randomBytes(1 + ((i * 37) % 4096)));
		// Ten at a time: answers come in the order of the requests, whatever waits in between.
		for (let i = 0; i < strings.length; i += 10) {
			const answers = await Promise.all(
				strings.slice(i, i + 10).map((bytes) => run.client.input(bytes)),
			);
			expect(answers.every((answer) => answer === "done")).toBe(true);
		}
		const expected = Buffer.concat(strings);
		await until(() => typed(world()).length >= expected.length);
		expect(typed(world()).equals(expected)).toBe(true);
	});

	it("delivers a megabyte in frames of the greatest size", async () => {
		const run = await readyCopier(world());
		const parts = Array.from({ length: 16 }, () => randomBytes(65_531));
		for (const part of parts) expect(await run.client.input(part)).toBe("done");
		const expected = Buffer.concat(parts);
		await until(() => typed(world()).length >= expected.length);
		expect(typed(world()).equals(expected)).toBe(true);
	});

	it("answers done for an empty input", async () => {
		const run = await readyCopier(world());
		expect(await run.client.input("")).toBe("done");
	});

	it("waits for a program that does not read, and refuses input that is too large without writing any of it", async () => {
		const run = await world().run(["sh", "-c", "stty raw -echo; printf ready; read x; exec cat"]);
		await run.logged("ready");
		process.kill(run.started.agent, "SIGSTOP");
		const answers: string[] = [];
		const part = Buffer.alloc(60_000, "x");
		for (let i = 0; i < 40; i++)
			void run.client.input(part).then(
				(answer) => answers.push(answer),
				() => {},
			);
		await until(() => answers.some((answer) => answer.includes("queue is full")));
		expect(answers.filter((answer) => answer === "done").length).toBeLessThan(3);
		// It still answers everything else.
		expect((await run.status()).agent).toBe(run.started.agent);
		process.kill(run.started.agent, "SIGKILL");
		await run.exit();
	});

	it("refuses input for a run without a terminal", async () => {
		const run = await world().run(["sleep", "100"], { terminal: false });
		expect(await run.client.input("x")).toContain("no terminal");
	});

	it("brackets a paste only where the program asked for it", async () => {
		const run = await readyCopier(world());
		expect((await run.status()).bracketedPaste).toBe(false);
		await run.client.input("plain", 3);
		await until(() => typed(world()).toString() === "plain");
	});

	it("brackets a paste that comes in several parts, also if the mode ends in between", async () => {
		const run = await world().run([
			"sh",
			"-c",
			`stty raw -echo; printf '\\033[?2004h'; printf ready; head -c 1 >/dev/null; printf '\\033[?2004l'; printf off; exec cat > ${join(world().folder, "typed")}`,
		]);
		await run.logged("ready");
		expect((await run.status()).bracketedPaste).toBe(true);
		await run.client.input("one ", 1);
		await run.logged("off");
		expect((await run.status()).bracketedPaste).toBe(false);
		await run.client.input("two", 2);
		await run.client.input(" three", 2);
		await until(() => typed(world()).toString() === "\x1b[200~one two\x1b[201~ three".slice(1));
	});

	it("sets the size, notifies the program, and remembers where in the output it changed", async () => {
		const run = await world().run([
			"sh",
			"-c",
			"trap 'stty size' WINCH; echo ready; while :; do sleep 0.01; done",
		]);
		await run.logged("ready");
		const before = (await run.status()).logOffset;
		run.client.resize(132, 50);
		await run.logged("50 132");
		run.client.resize(40, 10);
		await run.logged("10 40");
		expect(await run.status()).toMatchObject({ columns: 40, rows: 10 });
		const [, fields] = await run.client.ask(TYPE.follow, [TYPE.following]);
		const [offset, first, count] = [fields.u64(), fields.u64(), fields.u16()];
		const sizes = Array.from({ length: count }, () => [fields.u64(), fields.u16(), fields.u16()]);
		expect([first, offset]).toEqual([0, (await run.status()).logOffset]);
		expect(sizes).toEqual([
			[0, 80, 24],
			[before, 132, 50],
			[before + "50 132\r\n".length, 40, 10],
		]);
	});

	it("keeps the first and the last of many sizes", async () => {
		const run = await world().run(["sleep", "100"]);
		for (let i = 1; i <= 200; i++) run.client.resize(i, 20);
		const [, fields] = await run.client.ask(TYPE.follow, [TYPE.following]);
		fields.u64();
		fields.u64();
		const count = fields.u16();
		const columns = Array.from({ length: count }, () => {
			fields.u64();
			const [wide] = [fields.u16(), fields.u16()];
			return wide;
		});
		expect([count, columns[0], columns.at(-1)]).toEqual([64, 80, 200]);
	});

	it("sends a follower everything behind the offset that it named, and the log has everything before", async () => {
		const run = await world().run([
			"sh",
			"-c",
			"i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; sleep 0.2",
		]);
		await run.logged("line 100");
		const parts: Buffer[] = [];
		let next = -1;
		run.client.onFrame = (frame) => {
			if (frame.type !== TYPE.output) return false;
			const fields = new Fields(frame.payload);
			const offset = fields.u64();
			if (next >= 0) expect(offset).toBe(next);
			next = offset + frame.payload.length - 8;
			parts.push(Buffer.from(fields.rest()));
			return true;
		};
		const [, fields] = await run.client.ask(TYPE.follow, [TYPE.following]);
		const offset = fields.u64();
		const exit = await run.exit();
		const log = run.log();
		expect(Buffer.concat([log.subarray(0, offset), ...parts]).equals(log)).toBe(true);
		expect(exit.logOffset).toBe(log.length);
	});

	it("stops sending to a slow follower, reports it, and continues on request", async () => {
		const run = await world().run(
			["sh", "-c", "head -c 20000000 /dev/zero | tr '\\0' x; echo; echo end; sleep 100"],
			{
				terminal: false,
				logBytes: 100_000_000,
			},
		);
		const [, follow] = await run.client.ask(TYPE.follow, [TYPE.following]);
		expect(follow.u64()).toBeGreaterThanOrEqual(0);
		run.client.socket.pause();
		await run.logged("end");
		run.client.socket.resume();
		let received = 0;
		run.client.onFrame = (frame) => {
			if (frame.type === TYPE.output) received += frame.payload.length - 8;
			return frame.type === TYPE.output;
		};
		await run.client.fields(TYPE.behind);
		expect(received).toBeLessThan(5_000_000);
		const [, again] = await run.client.ask(TYPE.follow, [TYPE.following]);
		expect(again.u64()).toBe((await run.status()).logOffset);
	});

	it("is not held up by a follower that never reads", async () => {
		const run = await world().run([
			"sh",
			"-c",
			"sleep 0.2; head -c 3000000 /dev/zero | tr '\\0' x; exit 3",
		]);
		const viewer = await world().connect(run.spec.socket);
		await viewer.ask(TYPE.follow, [TYPE.following]);
		viewer.socket.pause();
		expect((await run.exit()).status).toBe(3 << 8);
		expect(run.log().length).toBe(3_000_000);
	});

	it.each([
		["the cursor's position", "\\033[6n"],
		["the terminal's kind", "\\033[c"],
		["its secondary attributes", "\\033[>c"],
		["its version", "\\033[>q"],
		["the keyboard's mode", "\\033[?u"],
		["the state of a mode", "\\033[?2026$p"],
		["the background colour", "\\033]11;?\\007"],
		["the background colour, ended by ST", "\\033]11;?\\033\\134"],
		["a capability", "\\033P+q544e\\033\\134"],
		["the window's size", "\\033[18t"],
	])("reports the position of a request for %s once, until a client follows", async (_, query) => {
		const run = await world().run([
			"sh",
			"-c",
			`sleep 0.2; printf 'abc${query}def${query}'; read x; printf '${query}'; read x; printf '${query}end'; sleep 100`,
		]);
		expect((await run.hello()).queryAt).toBeUndefined();
		expect((await run.client.fields(TYPE.query)).u64()).toBe(3);
		expect((await run.status()).queryAt).toBe(3);
		await run.client.ask(TYPE.follow, [TYPE.following]);
		expect((await run.status()).queryAt).toBeUndefined();
		await run.client.input("\r");
		await sleep(50);
		expect((await run.status()).queryAt).toBeUndefined();
		run.client.send(TYPE.unfollow);
		await run.client.input("\r");
		await run.logged("end");
		expect((await run.client.fields(TYPE.query)).u64()).toBe((await run.status()).queryAt);
	});

	it("ignores other sequences", async () => {
		const text =
			"\\033[1;2H\\033[?25l\\033[2J\\033]0;what?title\\007\\033[31mred\\033[0m\\033[8;24;80t\\033P1$r0m\\033\\134\\033[?1c";
		const run = await world().run(["sh", "-c", `printf '${text}end'; sleep 100`]);
		await run.logged("end");
		expect((await run.status()).queryAt).toBeUndefined();
	});
}

/** The log: exact bytes, rotation without loss, offsets and modes, a full disk. */

import { execFileSync } from "node:child_process";
import {
	existsSync,
	mkdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { fill } from "../../store/support.js";
import { Client } from "../support/client.js";
import { frame, TYPE, u32 } from "../support/frames.js";
import { type Run, until, type World } from "../support/world.js";

interface Part {
	readonly offset: number;
	readonly modes: string;
	readonly bytes: Buffer;
}

/** The lines of `offsets` with their files, newest first. */
function parts(run: Run): Part[] {
	const lines = readFileSync(join(run.spec.logDir, "offsets"), "utf8").trimEnd().split("\n");
	return lines.map((line, number) => {
		const [offset = "", modes = ""] = line.split(" ");
		const name = number === 0 ? "current.log" : `current.log.${number}`;
		return {
			offset: Number(offset),
			modes: Buffer.from(modes, "base64").toString("latin1"),
			bytes: readFileSync(join(run.spec.logDir, name)),
		};
	});
}

/** Each file must end where the next newer one begins. */
function expectChain(run: Run): Part[] {
	const found = parts(run);
	for (const [i, part] of found.entries()) {
		const newer = found[i - 1];
		if (newer !== undefined) expect(part.offset + part.bytes.length).toBe(newer.offset);
	}
	return found;
}

const isRoot = process.getuid?.() === 0;

export function logSuite(world: () => World): void {
	it("is made with the first output", async () => {
		const silent = await world().run(["sleep", "100"]);
		expect(existsSync(silent.spec.logDir)).toBe(false);
		expect(await silent.status()).toMatchObject({ logOffset: 0 });
		const file = join(world().folder, "go");
		const script = `while [ ! -e ${file} ]; do sleep 0.01; done; printf first`;
		const run = await world().run(["sh", "-c", script], { agent: "b" });
		expect(existsSync(run.spec.logDir)).toBe(false);
		writeFileSync(file, "");
		await run.exit();
		expect(expectChain(run)).toMatchObject([{ offset: 0, modes: "" }]);
		expect(run.log().toString()).toBe("first");
	});

	it("refuses a folder that could never be made", async (context) => {
		if (process.getuid?.() === 0) return context.skip("root may write everywhere");
		const parent = join(world().folder, "closed");
		mkdirSync(parent, { mode: 0o500 });
		await expect(world().run(["sleep", "100"], { logDir: join(parent, "log") })).rejects.toThrow();
	});

	it("has every byte of a terminal, up to the last before the exit", async () => {
		const run = await world().run(
			["sh", "-c", "stty -opost; head -c 5000000 /dev/urandom > $F; cat $F; printf THE-END"],
			{
				env: [`F=${join(world().folder, "random")}`, "PATH=/bin:/usr/bin"],
				logBytes: 1_000_000_000,
			},
		);
		await run.ended();
		const expected = Buffer.concat([
			readFileSync(join(world().folder, "random")),
			Buffer.from("THE-END"),
		]);
		expect(run.log().equals(expected)).toBe(true);
	});

	it("has the last output of each of many short programs", async () => {
		for (let i = 0; i < 40; i++) {
			const run = await world().run(["sh", "-c", `printf 'last output ${i}'`], {
				agent: `w${i}`,
				terminal: i % 2 === 0,
			});
			await run.ended();
			expect(run.log().toString()).toBe(`last output ${i}`);
		}
	});

	it("loses no line of two million in many rotations of a pipe", { timeout: 180_000 }, async () => {
		const run = await world().run(["seq", "2000000"], {
			terminal: false,
			logBytes: 1_000_000,
			logFiles: 100,
		});
		const viewerAt = await run.ended();
		expect(Number(viewerAt["status"])).toBe(0);
		const expected = execFileSync("seq", ["2000000"], { maxBuffer: 100_000_000 });
		expect(run.log().equals(expected)).toBe(true);
		expect(expectChain(run).length).toBe(Math.ceil(expected.length / 1_000_000));
		expect(run.record()["log_offset"]).toBe(expected.length);
	});

	it("loses no line while followers come and go", { timeout: 180_000 }, async () => {
		const run = await world().run(["sh", "-c", "sleep 0.1; seq 2000000"], {
			terminal: false,
			logBytes: 3_000_000,
			logFiles: 100,
		});
		run.client.onFrame = (frame) => frame.type === TYPE.output || frame.type === TYPE.behind;
		for (let i = 0; !run.client.closed; i++) {
			run.client.send(i % 2 === 0 ? TYPE.follow : TYPE.unfollow, Buffer.alloc(i % 2 === 0 ? 4 : 0));
			await sleep(5);
		}
		await run.ended();
		expect(run.log().equals(execFileSync("seq", ["2000000"], { maxBuffer: 100_000_000 }))).toBe(
			true,
		);
	});

	it("keeps the configured number of files, and continues offsets over runs", async () => {
		const once = async () => {
			const run = await world().run(["seq", "20000"], {
				terminal: false,
				logBytes: 30_000,
				logFiles: 3,
			});
			await run.ended();
			return run;
		};
		await once();
		const second = await once();
		const size = execFileSync("seq", ["20000"]).length;
		expect(second.started.logOffset).toBe(size);
		expect(second.record()).toMatchObject({ first_offset: size, log_offset: 2 * size });
		const found = expectChain(second);
		expect(found.length).toBe(3);
		expect((found[0]?.offset ?? 0) + (found[0]?.bytes.length ?? 0)).toBe(2 * size);
		expect(existsSync(join(second.spec.logDir, "current.log.3"))).toBe(false);
		for (const part of found.slice(1)) expect(part.bytes.length).toBeLessThanOrEqual(30_000);
	});

	it("rotates a terminal between sequences and records the modes at the start of each file", async () => {
		const step = "\\033[31mred\\033[0m \\033[12;40Hx \\344\\270\\255 ";
		const script = `stty -opost; printf '\\033[?1049h\\033[?25l\\033[?1000h\\033[?1006h\\033[?2004h\\033[3;20r\\033=\\033[>1u'; i=0; while [ $i -lt 400 ]; do printf '${step}'; i=$((i+1)); done`;
		const run = await world().run(["sh", "-c", script], { logBytes: 1000, logFiles: 50 });
		await run.ended();
		const found = expectChain(run);
		expect(found.length).toBeGreaterThan(8);
		for (const part of found.slice(0, -1)) {
			for (const mode of [
				"\x1b[?1049h",
				"\x1b[?25l",
				"\x1b[?1000h",
				"\x1b[?1006h",
				"\x1b[?2004h",
				"\x1b[3;20r",
				"\x1b=",
				"\x1b[>1u",
			]) {
				expect(part.modes).toContain(mode);
			}
			// Neither an escape sequence nor a character is cut.
			expect(part.bytes.toString("utf8")).not.toContain("\ufffd");
			expect("\x1bred x\xe4").toContain(part.bytes.toString("latin1")[0]);
		}
	});

	it("rotates inside a string that does not end, and opens one in the modes", async () => {
		const run = await world().run(
			["sh", "-c", "stty -opost; printf '\\033]52;c;'; head -c 20000 /dev/zero | tr '\\0' A"],
			{ logBytes: 1000, logFiles: 50 },
		);
		await run.ended();
		const found = expectChain(run);
		expect(found.length).toBeGreaterThan(2);
		expect(found[0]?.modes).toBe("\x1b]9999;");
		for (const part of found) expect(part.bytes.length).toBeLessThanOrEqual(5096);
	});

	it("restores its offsets after an interrupted rotation, and after files were removed", async () => {
		const start = (lines: number) =>
			world().run(["seq", String(lines)], { terminal: false, logBytes: 30_000, logFiles: 5 });
		const first = await start(10_000);
		await first.ended();
		const end = Number(first.record()["log_offset"]);
		// As if the shim was killed after the renames and before the new offsets.
		const name = (n: number) =>
			join(first.spec.logDir, n === 0 ? "current.log" : `current.log.${n}`);
		for (let n = 3; n >= 0; n--) if (existsSync(name(n))) renameSync(name(n), name(n + 1));
		writeFileSync(name(0), "");
		const second = await start(10);
		expect(second.started.logOffset).toBe(end);
		await second.ended();
		expectChain(second);
		rmSync(join(first.spec.logDir, "offsets"));
		const third = await start(10);
		await third.ended();
		expectChain(third);
		truncateSync(name(0));
		const fourth = await start(10);
		await fourth.ended();
		expectChain(fourth);
		expect(fourth.log().toString().endsWith("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n")).toBe(true);
	});

	it("takes over the log of an agent that had no offsets yet", async () => {
		const spec = world().spec(["printf", "new"], { terminal: false });
		mkdirSync(spec.logDir, { mode: 0o700 });
		writeFileSync(join(spec.logDir, "current.log.1"), "older ");
		writeFileSync(join(spec.logDir, "current.log"), "old ");
		const started = await world().tryStart(spec);
		expect(started).toMatchObject({ logOffset: 10 });
		await until(() => readFileSync(join(spec.logDir, "current.log"), "utf8") === "old new");
		expect(readFileSync(join(spec.logDir, "offsets"), "utf8")).toBe("6 \n0 \n");
	});

	it("writes its files for the user alone", async () => {
		const run = await world().run(["seq", "20000"], { terminal: false, logBytes: 30_000 });
		await run.ended();
		for (const path of ["lock", "record", "log/current.log", "log/current.log.1", "log/offsets"]) {
			expect(statSync(join(run.spec.runDir, path)).mode & 0o777).toBe(0o600);
		}
		expect(statSync(run.spec.logDir).mode & 0o777).toBe(0o700);
		expect(statSync(join(run.spec.runDir, "record")).size).toBe(4096);
	});

	it("continues at the new end of a log that another process truncated", async () => {
		const run = await world().run(
			["sh", "-c", "printf 'before\\n'; sleep 0.5; printf 'after\\n'; sleep 100"],
			{ terminal: false },
		);
		await run.logged("before");
		truncateSync(join(run.spec.logDir, "current.log"));
		await run.logged("after");
		expect(run.log().toString()).toBe("after\n");
	});

	it.skipIf(!isRoot)(
		"drops output on a full disk, marks the place, never holds up the program, and keeps the exit",
		async () => {
			const disk = join(world().folder, "disk");
			mkdirSync(disk);
			execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m,mode=700", "reeve-test", disk]);
			try {
				const go = join(world().folder, "go");
				const flooded = join(world().folder, "flooded");
				const script = `head -c 3000000 /dev/zero | tr '\\0' x; echo; : > ${flooded}; while [ ! -e ${go} ]; do sleep 0.05; done; echo tail; exit 4`;
				for (const terminal of [true, false]) {
					const runDir = join(disk, `run-${terminal}`);
					mkdirSync(runDir, { mode: 0o700 });
					const run = await world().run(["sh", "-c", script], {
						runDir,
						logDir: join(runDir, "log"),
						terminal,
						logBytes: 200_000,
						logFiles: 50,
					});
					const log = () => run.log().toString();
					await until(
						() =>
							Number(
								execFileSync("df", ["--output=avail", disk], { encoding: "utf8" }).split("\n")[1],
							) === 0,
					);
					await until(() => existsSync(flooded));
					// The last output is still on its way to the shim.
					await sleep(300);
					rmSync(join(runDir, "log", "current.log.1"));
					writeFileSync(go, "");
					await run.exit();
					expect(run.record()).toMatchObject({ state: "ended", status: 4 << 8, tree: "empty" });
					const text = readFileSync(join(runDir, "log", "current.log"), "latin1");
					// More than one if output was still on its way when there was space again.
					const markers = log().matchAll(
						/\[reeve: (\d+) bytes of output were not kept: disk full\]\r?\n/g,
					);
					const dropped = [...markers].reduce((sum, [, bytes]) => sum + Number(bytes), 0);
					expect(dropped).toBeGreaterThan(1_000_000);
					expect(text.trimEnd().endsWith("tail")).toBe(true);
					rmSync(go);
					rmSync(flooded);
					rmSync(runDir, { recursive: true });
				}
			} finally {
				execFileSync("umount", ["-l", disk]);
			}
		},
	);

	it.skipIf(!isRoot)(
		"makes a program draw again after its output was lost, and reports where the log is whole",
		async () => {
			const disk = join(world().folder, "disk");
			mkdirSync(disk);
			execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m,mode=700", "reeve-test", disk]);
			const ballast = join(disk, "ballast");
			try {
				const runDir = join(disk, "run");
				mkdirSync(runDir, { mode: 0o700 });
				const go = join(world().folder, "go");
				// It reacts to a new size, and prints nothing by itself.
				const script = `trap 'echo drawn $(stty size)' WINCH; printf '\\033[?2004h\\033[1mold'; while [ ! -e ${go} ]; do sleep 0.05; done; head -c 9000 /dev/zero | tr '\\0' x; while :; do sleep 0.05; done`;
				const run = await world().run(["sh", "-c", script], {
					...{ runDir, logDir: join(runDir, "log"), columns: 80, rows: 24 },
				});
				const log = () => run.log().toString();
				const follow = async () => {
					const client = await Client.open(run.spec.socket, Client.hello(1, 3));
					client.socket.write(frame(TYPE.follow, u32(1), 3));
					const fields = await client.fields(TYPE.following);
					fields.u32();
					const [offset, , sizes] = [fields.u64(), fields.u64(), fields.u16()];
					const rows: number[] = [];
					for (let n = 0; n < sizes; n++) {
						fields.u64();
						fields.u16();
						rows.push(fields.u16());
					}
					const lost = [fields.u64(), fields.u64(), fields.u8()] as const;
					return { client, offset, rows, lost, modes: fields.rest().toString() };
				};
				await until(() => log().includes("old"));
				expect((await follow()).lost).toEqual([0, 0, 1]);
				fill(ballast);
				writeFileSync(go, "");
				await until(() => log().includes("xxx"));
				await until(async () => (await follow()).lost[0] > 0);
				const full = await follow();
				expect(full.lost).toEqual([expect.any(Number), full.offset, 0]);
				rmSync(ballast);
				await full.client.wait(({ type }) => type === TYPE.redrawn);
				const after = await follow();
				expect(after.rows).toEqual([24, 23, 24]);
				const [lost, wholeFrom, isRedrawn] = after.lost;
				expect(isRedrawn).toBe(1);
				expect(after.modes).toContain("\x1b[?2004h");
				const [before, whole] = [log().slice(0, wholeFrom), log().slice(wholeFrom)];
				expect(before).toContain(`[reeve: ${lost} bytes of output were not kept: disk full]`);
				expect(whole).toContain("drawn 23 80");
				expect(whole).toContain("drawn 24 80");
				// Connections of version 2 get the same frames as before.
				const older = await Client.open(run.spec.socket, Client.hello(1, 2));
				older.socket.write(frame(TYPE.follow, u32(1), 2));
				const fields = await older.fields(TYPE.following);
				expect(fields.rest()).toHaveLength(4 + 8 + 8 + 2 + 3 * 12);
			} finally {
				execFileSync("umount", ["-l", disk]);
			}
		},
	);

	it.skipIf(!isRoot)("keeps the exit on a disk that is full from beginning to end", async () => {
		const disk = join(world().folder, "disk");
		mkdirSync(disk);
		execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k,mode=700", "reeve-test", disk]);
		try {
			const runDir = join(disk, "run");
			mkdirSync(runDir, { mode: 0o700 });
			const run = await world().run(
				["sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x; exit 9"],
				{ runDir, logDir: join(runDir, "log") },
			);
			await run.exit();
			expect(run.record()).toMatchObject({ run: run.spec.runId, state: "ended", status: 9 << 8 });
			// The next run cannot be recorded, so it is not started.
			writeFileSync(join(disk, "rest"), "");
			const other = join(disk, "other");
			mkdirSync(other, { mode: 0o700 });
			const failed = await world().tryStart(
				world().spec(["true"], { runDir: other, logDir: join(other, "log") }),
			);
			expect([2, 4]).toContain((failed as { step: number }).step);
		} finally {
			execFileSync("umount", ["-l", disk]);
		}
	});
}

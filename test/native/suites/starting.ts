/** Starting a program: its environment, and the reports of failed starts. */

import {
	chmodSync,
	existsSync,
	mkdirSync,
	readFileSync,
	readlinkSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { field, renderSpec, TYPE } from "../support/frames.js";
import { until, type World } from "../support/world.js";

const { errno } = constants;

export function startingSuite(world: () => World): void {
	it("reports pids and start times that are those of the processes", async () => {
		const run = await world().run(["sleep", "100"]);
		const stat = readFileSync(`/proc/${run.started.agent}/stat`, "latin1");
		const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
		expect(Number(fields[19])).toBe(run.started.agentStart);
		expect(Number(fields[1])).toBe(run.started.shim);
		expect(readFileSync(`/proc/${run.started.shim}/cmdline`, "latin1").split("\0")).toEqual([
			...["reeve-shim", "run", run.spec.runId, ""],
		]);
	});

	it.each([0, 1, 7, 255])("reports exit code %i", async (code) => {
		const run = await world().run(["sh", "-c", `exit ${code}`]);
		expect((await run.exit()).status).toBe(code << 8);
		expect(await run.ended()).toMatchObject({ state: "ended", status: code << 8, tree: "empty" });
	});

	it.each(["SIGTERM", "SIGKILL", "SIGSEGV"] as const)("reports an end by %s", async (name) => {
		const run = await world().run(["sleep", "100"]);
		process.kill(run.started.agent, name);
		const exit = await run.exit();
		expect(exit.status & 0x7f).toBe(constants.signals[name]);
		expect(exit.treeEmpty).toBe(true);
		await run.client.end();
	});

	it("names the agent and its log in the record, and shares one file with the lock", async () => {
		const agentId = 'p:"quoted" \\ ü';
		const run = await world().run(["sleep", "100"], { agentId });
		expect(run.record()).toMatchObject({ agent_id: agentId, log_dir: run.spec.logDir });
		const [lock, record] = ["lock", "record"].map((name) => statSync(join(run.spec.runDir, name)));
		expect(record?.ino).toBe(lock?.ino);
		const odd = await world().run(["sleep", "100"], { agent: "c", agentId: "line\nfeed" });
		expect(odd.record()).not.toHaveProperty("agent_id");
		const long = await world().run(["sleep", "100"], {
			...{ agent: "b", agentId: "x".repeat(4_000) },
		});
		expect(long.record()).toMatchObject({ state: "started", agent: long.started.agent });
		expect(long.record()).not.toHaveProperty("agent_id");
	});

	it("removes its socket and releases its lock before it reports the exit", async () => {
		const run = await world().run(["sleep", "100"]);
		process.kill(run.started.agent, "SIGKILL");
		await run.exit();
		expect(existsSync(run.spec.socket)).toBe(false);
		const next = await world().run(["sleep", "100"]);
		expect((await next.hello()).runId).toBe(next.spec.runId);
	});

	it.each([true, false])(
		"gives the program descriptors 0, 1 and 2 only (terminal: %s)",
		async (terminal) => {
			const run = await world().run(["sh", "-c", "ls -l /proc/$$/fd; echo end; sleep 100"], {
				terminal,
			});
			await run.logged("end");
			const numbers = [
				...run
					.log()
					.toString()
					.matchAll(/ (\d+) -> /g),
			].map((match) => match[1]);
			expect(numbers).toEqual(["0", "1", "2"]);
		},
	);

	it("keeps only the needed files open in the shim and the starter", async () => {
		const run = await world().run(["sleep", "100"]);
		const targets = (pid: number) =>
			Array.from({ length: 40 }, (_, fd) => {
				try {
					return readlinkSync(`/proc/${pid}/fd/${fd}`)
						.replace(/:\[.*/, "")
						.replace(world().folder, "F");
				} catch {
					return "";
				}
			}).filter((target) => target !== "");
		const expected = [
			"/dev/null",
			"pipe",
			"F/a",
			"F/a/lock",
			"F/a/log",
			"F/a/log/current.log",
			"F/a/record",
			"socket",
			"/dev/ptmx",
			"/dev/pts/",
		];
		const surplus = () =>
			targets(run.started.shim).filter(
				(target) =>
					!expected.includes(
						target.replace(/(pts\/)\d+/, "$1").replace(/^\/dev\/pts\/ptmx$/, "/dev/ptmx"),
					),
			);
		// The shim closes its specification just after it has reported the start.
		for (let look = 0; look < 100 && surplus().length > 0; look++) await sleep(10);
		expect(surplus()).toEqual([]);
		expect(targets(run.started.shim).length).toBeLessThanOrEqual(15);
		expect(targets(world().starterPid).length).toBeLessThanOrEqual(9);
	});

	it("leaks no descriptor in the starter over many starts, failed ones included", async () => {
		const count = () =>
			readFileSync(`/proc/${world().starterPid}/status`, "utf8") && fdCount(world().starterPid);
		await (await world().run(["true"])).ended();
		const before = count();
		for (let i = 0; i < 30; i++) {
			await world().tryStart(world().spec(["/nowhere"], { agent: `f${i}` }));
			await (await world().run(["true"])).ended();
		}
		await until(() => count() <= before, "the starter keeps descriptors");
	});

	it("starts the program as leader of a session with the terminal as its own", async () => {
		const run = await world().run(
			["sh", "-c", "cut -d' ' -f5-8 /proc/$$/stat; tty; stty size; echo end; sleep 100"],
			{
				columns: 91,
				rows: 33,
			},
		);
		await run.logged("end");
		const [ids = "", tty = "", size = ""] = run.log().toString().split("\r\n");
		const [group, session, terminal, foreground] = ids.split(" ").map(Number);
		expect([group, session, foreground]).toEqual([
			run.started.agent,
			run.started.agent,
			run.started.agent,
		]);
		expect(terminal).not.toBe(0);
		expect(tty).toMatch(/^\/dev\/pts\/\d+$/);
		expect(size).toBe("33 91");
	});

	it("sets the terminal so that input is UTF-8", async () => {
		const run = await world().run(["sh", "-c", "stty -a; echo end; sleep 100"]);
		await run.logged("end");
		expect(run.log().toString()).toMatch(/[^-]iutf8/);
	});

	it("gives a program without a terminal /dev/null and one pipe", async () => {
		const run = await world().run(
			["sh", "-c", "readlink /proc/$$/fd/0; cat; echo out; echo err >&2; tty; echo end; sleep 100"],
			{
				terminal: false,
			},
		);
		await run.logged("end");
		expect(run.log().toString()).toBe("/dev/null\nout\nerr\nnot a tty\nend\n");
	});

	it("resets umask, signals, core limit and dumpable flag for the program", async () => {
		const script =
			"umask; ulimit -c; grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status; stat -c %u /proc/self/maps; echo end; sleep 100";
		const run = await world().run(["sh", "-c", script]);
		await run.logged("end");
		const lines = run.log().toString().split("\r\n");
		expect(lines[0]).toBe(`0${process.umask().toString(8).padStart(3, "0")}`);
		expect(lines[1]).not.toBe("");
		expect(
			lines.filter((line) => /Sig(Blk|Ign)/.test(line)).map((line) => line.split("\t")[1]),
		).toEqual([...["0000000000000000", "0000000000000000"]]);
		expect(lines[5]).toBe(String(process.getuid?.()));
	});

	it("passes arguments and environment byte for byte, and nothing else", async () => {
		const odd = Buffer.from([0x41, 0xff, 0xfe, 0x0a, 0x20, 0x27, 0x22, 0x24, 0x2a, 0x5c, 0x80]);
		const env = [
			Buffer.concat([Buffer.from("ODD="), odd]),
			"EMPTY=",
			"EQ==a=b=",
			"PATH=/usr/bin:/bin",
			"A=1",
			"A=2",
		];
		const args = ["cat", "/proc/self/environ", "/proc/self/cmdline"];
		const run = await world().run(args, { env, terminal: false });
		await run.ended();
		const expected = Buffer.concat(
			[...env, ...args].map((text) =>
				Buffer.concat([Buffer.from(text as string), Buffer.from([0])]),
			),
		);
		expect(run.log().equals(expected)).toBe(true);
	});

	it("looks the program up in the agent's PATH, in order", async () => {
		const folder = join(world().folder, "bin");
		mkdirSync(folder);
		writeFileSync(join(folder, "probe"), "#!/bin/sh\necho found $0\n");
		chmodSync(join(folder, "probe"), 0o755);
		const run = await world().run(["probe"], {
			env: [`PATH=/nowhere:${folder}:/bin`],
			terminal: false,
		});
		await run.ended();
		expect(run.log().toString()).toBe(`found ${folder}/probe\n`);
	});

	it("starts in the working directory", async () => {
		const run = await world().run(["pwd"], { cwd: "/usr/lib", terminal: false });
		await run.ended();
		expect(run.log().toString()).toBe("/usr/lib\n");
	});

	it.each([
		["a missing program", ["/no/such/program"], {}, 10, errno.ENOENT],
		["a program that is not in PATH", ["no-such-program"], {}, 10, errno.ENOENT],
		["a folder as program", ["/tmp"], {}, 10, errno.EACCES],
		["a missing working directory", ["true"], { cwd: "/no/such/folder" }, 8, errno.ENOENT],
		["a file as working directory", ["true"], { cwd: "/etc/passwd" }, 8, errno.ENOTDIR],
		["a missing control group", ["true"], { groups: ["/no/such/group"] }, 9, errno.ENOENT],
		["a missing run folder", ["true"], { runDir: "/no/such/run" }, 2, errno.ENOENT],
		["a missing parent of the log folder", ["true"], { logDir: "/no/such/log" }, 2, errno.ENOENT],
		["a socket in a missing folder", ["true"], { socket: "/no/such/s" }, 5, errno.ENOENT],
	] as const)("reports %s with its step", async (_, args, options, step, error) => {
		const failed = await world().tryStart(world().spec(args, options));
		expect(failed).toMatchObject({ step, errno: error });
	});

	it("reports a file of an unknown format and arguments that are too long", async () => {
		const path = join(world().folder, "noformat");
		writeFileSync(path, "no shebang\n", { mode: 0o755 });
		expect(await world().tryStart(world().spec([path]))).toMatchObject({
			step: 10,
			errno: errno.ENOEXEC,
		});
		const long = "x".repeat(200 * 1024);
		expect(await world().tryStart(world().spec(["true", long]))).toMatchObject({
			step: 10,
			errno: errno.E2BIG,
		});
		const after = world().spec(["true"]);
		expect(await world().tryStart(after)).toHaveProperty("agent");
	});

	it("leaves a record of a failed start, no socket and a free lock", async () => {
		const spec = world().spec(["/no/such/program"]);
		await world().tryStart(spec);
		expect(JSON.parse(readFileSync(join(spec.runDir, "record"), "utf8"))).toMatchObject({
			run: spec.runId,
			state: "failed",
		});
		expect(existsSync(spec.socket)).toBe(false);
		expect(await world().tryStart(world().spec(["sleep", "100"]))).toHaveProperty("agent");
	});

	it("refuses a second shim in the same run folder", async () => {
		await world().run(["sleep", "100"]);
		expect(await world().tryStart(world().spec(["true"]))).toMatchObject({
			step: 3,
			errno: errno.EAGAIN,
		});
	});

	it("refuses a run folder that other users can enter, or that is a link", async () => {
		const spec = world().spec(["true"]);
		chmodSync(spec.runDir, 0o755);
		expect(await world().tryStart(spec)).toMatchObject({ step: 2, errno: errno.EPERM });
		chmodSync(spec.runDir, 0o700);
		const link = join(world().folder, "link");
		symlinkSync(spec.runDir, link);
		expect(await world().tryStart({ ...spec, runDir: link })).toMatchObject({
			step: 2,
			errno: errno.ENOTDIR,
		});
	});

	it("follows no link in place of its record, lock or log", async () => {
		const precious = join(world().folder, "precious");
		writeFileSync(precious, "precious");
		for (const [name, step] of [
			["record", 4],
			["lock", 3],
			["log/current.log", 2],
		] as const) {
			const spec = world().spec(["true"], { agent: `link-${step}` });
			mkdirSync(join(spec.runDir, "log"));
			symlinkSync(precious, join(spec.runDir, name));
			expect(await world().tryStart(spec)).toMatchObject({ step, errno: errno.ELOOP });
		}
		expect(readFileSync(precious, "utf8")).toBe("precious");
	});

	it.each([
		["no run id", 1, ""],
		["a run id with a slash", 1, "../x"],
		["a relative run folder", 2, "x"],
		["a socket path that is too long", 3, `/${"x".repeat(103)}`],
		["log files 0", 6, Buffer.alloc(4)],
		["a number of the wrong size", 5, Buffer.alloc(3)],
		["a zero byte in a text", 7, Buffer.from("/\0x")],
		["a variable without a name", 9, "x"],
		["a boot id with a quote", 13, 'a"b'],
	])("reports a specification with %s", async (_, tag, value) => {
		const spec = Buffer.concat([renderSpec(world().spec(["true"])), field(tag, value)]);
		expect(await world().tryStart(spec)).toMatchObject({ step: 1, errno: errno.EINVAL });
	});

	it("ignores fields that it does not know", async () => {
		const spec = Buffer.concat([
			renderSpec(world().spec(["sleep", "100"])),
			field(999, "from the future"),
		]);
		expect(await world().tryStart(spec)).toHaveProperty("agent");
	});

	it("reports a shim that is killed during the start", async () => {
		const spec = world().spec(["true"]);
		await world().run(["sleep", "100"]);
		// It waits for the lock for two seconds: time enough to kill it.
		const starting = world().tryStart({ ...spec, runId: "doomed" });
		let pid = 0;
		await until(() => {
			const children = readFileSync(
				`/proc/${world().starterPid}/task/${world().starterPid}/children`,
				"utf8",
			);
			pid =
				children
					.trim()
					.split(" ")
					.map(Number)
					.find((child) => {
						try {
							return readFileSync(`/proc/${child}/cmdline`, "latin1").includes("doomed");
						} catch {
							return false;
						}
					}) ?? 0;
			return pid > 0;
		});
		process.kill(pid, "SIGKILL");
		expect(await starting).toMatchObject({ step: 11 });
	});

	it("starts a hundred programs that are asked for at once", async () => {
		const specs = Array.from({ length: 100 }, (_, i) =>
			world().spec(["sleep", "100"], { agent: `many-${i}` }),
		);
		const started = await Promise.all(specs.map((spec) => world().tryStart(spec)));
		expect(started.filter((result) => "agent" in result).length).toBe(100);
		expect(new Set(started.map((result) => ("agent" in result ? result.agent : 0))).size).toBe(100);
	});

	it("takes a specification of megabytes", async () => {
		const env = Array.from({ length: 20 }, (_, i) => `V${i}=${"v".repeat(60_000)}`);
		const run = await world().run(["sh", "-c", "echo ${#V19}"], {
			env: [...env, "PATH=/bin:/usr/bin"],
			terminal: false,
		});
		await run.ended();
		expect(run.log().toString()).toBe("60000\n");
		const starter = await world().starter();
		expect(starter.frames.some((frame) => frame.type === TYPE.shimGone)).toBe(false);
	});
}

function fdCount(pid: number): number {
	let count = 0;
	for (let fd = 0; fd < 256; fd++) {
		try {
			readlinkSync(`/proc/${pid}/fd/${fd}`);
			count++;
		} catch {
			// Not open.
		}
	}
	return count;
}

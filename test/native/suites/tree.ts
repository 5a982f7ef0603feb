/** Process trees: finding, signalling and ending them, and what is left when a shim or the starter is killed. */

import { execFileSync } from "node:child_process";
import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmdirSync,
	writeFileSync,
} from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { Fields, TYPE, u32, u64 } from "../support/frames.js";
import { isAlive, until, type World } from "../support/world.js";

const { signals } = constants;

/** All live processes with this text in their environment or arguments. */
function marked(mark: string): number[] {
	return readdirSync("/proc")
		.map(Number)
		.filter((pid) => {
			if (!(pid > 0)) return false;
			try {
				const text =
					readFileSync(`/proc/${pid}/environ`, "latin1") +
					readFileSync(`/proc/${pid}/cmdline`, "latin1");
				return (
					text.includes(mark) &&
					isAlive(pid) &&
					!readFileSync(`/proc/${pid}/cmdline`, "latin1").startsWith("reeve-shim")
				);
			} catch {
				return false;
			}
		});
}

function nameOf(pid: number): string {
	try {
		return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
	} catch {
		return "gone";
	}
}

/** Twenty processes in sessions of their own that ignore every signal they can. */
const STUBBORN =
	"i=0; while [ $i -lt 20 ]; do (trap '' HUP INT TERM QUIT USR1; setsid sh -c 'trap \"\" HUP INT TERM QUIT; sleep 1000; sleep 1000' & ) ; i=$((i+1)); done";

export function treeSuite(world: () => World): void {
	const mark = (name: string) => `REEVE_TEST_MARK=${name}-${world().folder}`;
	const env = (name: string) => [mark(name), "PATH=/usr/bin:/bin", "TERM=xterm-256color"];

	it("lists all live descendants and no dead ones", async () => {
		const run = await world().run([
			"sh",
			"-c",
			"sleep 1000 & (sleep 1001 &) ; setsid sleep 1002 & true & sh -c 'sleep 1003; true'",
		]);
		const names = async () => (await run.client.tree()).map(nameOf).sort();
		const expected = ["sh", "sh", "sleep", "sleep", "sleep", "sleep"];
		await until(async () => (await names()).join() === expected.join());
		// One is in its own session, and the world ends only the processes it knows.
		expect((await run.client.kill()).proven).toBe(true);
	});

	if (process.platform === "linux") deadlineSuite(world);

	it("signals the agent, its groups, or everything", async () => {
		const file = join(world().folder, "got");
		const script = `trap 'echo agent >> ${file}' USR1; set -m; sh -c "trap 'echo foreground >> ${file}' USR1; while :; do sleep 0.02; done" ; exit`;
		const run = await world().run([
			"bash",
			"-c",
			`(setsid sh -c "trap 'echo far >> ${file}' USR1; while :; do sleep 0.02; done" &); ${script}`,
		]);
		await until(async () => (await run.client.tree()).length >= 5);
		await sleep(200);
		const got = () => (existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : []);
		const groups = await run.client.signal(signals.SIGUSR1, 1);
		expect(groups).toContain(run.started.agent);
		await until(() => got().includes("foreground"));
		expect(got()).not.toContain("far");
		const all = await run.client.signal(signals.SIGUSR1, 2);
		await until(() => got().includes("far"));
		expect(all.length).toBeGreaterThan(groups.length);
		expect(await run.client.signal(signals.SIGKILL, 0)).toEqual([run.started.agent]);
		// The shell in its own session outlives the agent, and the world ends only the processes it knows.
		expect((await run.client.kill()).proven).toBe(true);
	});

	it.each([
		["twenty daemons that ignore signals", `${STUBBORN}; sleep 1000`, 21],
		[
			"a chain of two hundred",
			'f() { if [ $1 -gt 0 ]; then sh "$C" $(($1-1)); else sleep 1000; fi; }; f 200',
			200,
		],
		["stopped processes", "sleep 1000 & kill -STOP $!; sleep 1000", 3],
		["eight comets", 'for i in 1 2 3 4 5 6 7 8; do sh "$M" & done; sleep 1000', 1],
		["a subreaper of its own", "setsid sh -c 'sleep 1000 & sleep 1000' & sleep 1000", 4],
	])("ends %s and proves it", { timeout: 120_000 }, async (name, script, least) => {
		const chain = join(world().folder, "chain.sh");
		writeFileSync(chain, 'if [ "$1" -gt 0 ]; then sh "$C" $(($1-1)); else sleep 1000; fi\n');
		const comet = join(world().folder, "comet.sh");
		writeFileSync(comet, 'setsid sh "$M" &\n');
		const run = await world().run(["sh", "-c", script], {
			env: [...env(name), `C=${chain}`, `M=${comet}`],
		});
		await until(async () => (await run.client.tree()).length >= least);
		const { proven, killed } = await run.client.kill(30_000);
		expect(proven).toBe(true);
		expect(killed.length).toBeGreaterThanOrEqual(least);
		const exit = await run.exit();
		expect([exit.treeEmpty, exit.status]).toEqual([true, 9]);
		expect(marked(mark(name))).toEqual([]);
	});

	it("never reports a live tree as gone: a kill without time is unproven", async () => {
		const run = await world().run(["sh", "-c", `${STUBBORN}; sleep 1000`], {
			env: env("deadline"),
		});
		await until(async () => (await run.client.tree()).length >= 21);
		const first = await run.client.kill(0);
		if (first.proven) expect(marked(mark("deadline"))).toEqual([]);
		const second = await run.client.kill(20_000).catch(() => ({ proven: true }));
		expect(second.proven).toBe(true);
		await run.ended();
		expect(marked(mark("deadline"))).toEqual([]);
	});

	it("reports the exit at once while processes are left, and their end later", async () => {
		const run = await world().run([
			"sh",
			"-c",
			"(setsid sleep 1.5 &); (setsid sleep 1.5 &); sleep 0.2; exit 5",
		]);
		const exit = await run.exit();
		expect(exit).toMatchObject({ status: 5 << 8, treeEmpty: false, left: 2 });
		expect(Date.now() - exit.atMs).toBeLessThan(1000);
		expect(run.record()).toMatchObject({ state: "ended", status: 5 << 8, tree: "left" });
		const status = await run.status();
		expect(status).toMatchObject({ state: 2, exit: { status: 5 << 8, left: 2 } });
		await run.client.fields(TYPE.treeEmpty);
		expect(run.record()).toMatchObject({ state: "ended", status: 5 << 8, tree: "empty" });
		await run.client.end();
	});

	it("reports the exit while a grandchild floods the terminal, and ends that when asked", async () => {
		const run = await world().run(
			["sh", "-c", "trap '' HUP; (trap '' HUP; setsid yes <&1 & ) ; sleep 0.3; exit 6"],
			{ env: env("flood"), logBytes: 1_000_000 },
		);
		const exit = await run.exit();
		expect(exit).toMatchObject({ status: 6 << 8, treeEmpty: false });
		expect(Date.now() - exit.atMs).toBeLessThan(2000);
		const later = await world().connect(run.spec.socket);
		expect((await later.kill()).proven).toBe(true);
		await run.ended();
		expect(marked(mark("flood"))).toEqual([]);
	});

	it.each([true, false])(
		"reports the exit while a silent grandchild holds the output (terminal: %s)",
		async (terminal) => {
			const run = await world().run(
				["sh", "-c", "(trap '' HUP; setsid sleep 1000 & ); sleep 0.2; exit 6"],
				{ terminal, env: env("silent") },
			);
			const exit = await run.exit();
			expect(exit).toMatchObject({ status: 6 << 8, treeEmpty: false, left: 1 });
			expect(Date.now() - exit.atMs).toBeLessThan(1000);
			// Waiting costs no processor time.
			const ticks = () =>
				readFileSync(`/proc/${run.started.shim}/stat`, "latin1")
					.split(" ")
					.slice(13, 15)
					.map(Number)
					.reduce((a, b) => a + b);
			const before = ticks();
			await sleep(500);
			expect(ticks() - before).toBeLessThanOrEqual(2);
			const later = await world().connect(run.spec.socket);
			expect((await later.kill()).proven).toBe(true);
			await run.ended();
		},
	);

	it("ends a tree through cgroup.kill where there is one", async (context) => {
		const root = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].find((path) =>
			existsSync(join(path, "cgroup.controllers")),
		);
		const group = join(root ?? "/nowhere", `reeve-test-${process.pid}`);
		try {
			mkdirSync(group);
		} catch {
			context.skip("no control group (version 2) can be made here");
		}
		if (!existsSync(join(group, "cgroup.kill"))) {
			rmdirSync(group);
			context.skip("this kernel has no cgroup.kill");
		}
		const comet = join(world().folder, "comet.sh");
		writeFileSync(comet, 'setsid sh "$M" &\n');
		const run = await world().run(
			["sh", "-c", "i=0; while [ $i -lt 32 ]; do sh $M & i=$((i+1)); done; sleep 1000"],
			{ groups: [group], env: [...env("group"), `M=${comet}`] },
		);
		expect(readFileSync(`/proc/${run.started.agent}/cgroup`, "utf8")).toContain(
			`reeve-test-${process.pid}`,
		);
		expect(readFileSync(`/proc/${run.started.shim}/cgroup`, "utf8")).not.toContain(
			`reeve-test-${process.pid}`,
		);
		await sleep(200);
		expect((await run.client.kill(20_000)).proven).toBe(true);
		expect(marked(mark("group"))).toEqual([]);
		await until(() => {
			try {
				rmdirSync(group);
				return true;
			} catch {
				return false;
			}
		});
	});

	it("survives everything but SIGKILL", async () => {
		const run = await world().run(["sleep", "1000"]);
		for (const pid of [run.started.shim, world().starterPid]) {
			for (const name of [
				"SIGHUP",
				"SIGINT",
				"SIGTERM",
				"SIGQUIT",
				"SIGUSR1",
				"SIGUSR2",
				"SIGALRM",
				"SIGPIPE",
			] as const)
				process.kill(pid, name);
		}
		await sleep(100);
		expect((await run.status()).agent).toBe(run.started.agent);
		expect(await run.client.tree()).toEqual([run.started.agent]);
		expect(await world().tryStart(world().spec(["sleep", "1000"], { agent: "b" }))).toHaveProperty(
			"agent",
		);
	});

	it.each([
		["with a terminal", "sleep 1000", true],
		["with a terminal, ignoring the hang-up", "trap '' HUP; sleep 1000; sleep 1000", true],
		["without a terminal", "sleep 1000", false],
		["with three daemons", "for i in 1 2 3; do (setsid sleep 1000 &); done; sleep 1000", true],
		[
			"with three daemons that cleared their environment",
			"for i in 1 2 3; do (env -i setsid sleep 98765$N & ); done; sleep 1000",
			true,
		],
	])(
		"hands the processes of a killed shim to the starter, without an effect on other runs (%s)",
		async (_, script, terminal) => {
			const starter = await world().starter();
			const other = await world().run(["sleep", "1000"], { agent: "other" });
			const number = String(process.pid);
			const run = await world().run(["sh", "-c", script], {
				terminal,
				env: [...env("killed"), `N=${number}`],
			});
			await sleep(150);
			const tree = await run.client.tree();
			process.kill(run.started.shim, "SIGKILL");
			const gone = await starter.fields(TYPE.shimGone);
			expect([gone.str(), gone.u32()]).toEqual([run.spec.runId, 9]);
			await sleep(100);
			const strangers = (await starter.ask(TYPE.strangers, [TYPE.strangerList]))[1].list();
			for (const pid of strangers) expect(tree).toContain(pid);
			expect(tree.filter(isAlive).sort()).toEqual([...strangers].sort());
			const [, killed] = await starter.ask(TYPE.killStrangers, [TYPE.strangersKilled], u32(5000));
			expect(killed.u8()).toBe(1);
			expect(tree.filter(isAlive)).toEqual([]);
			expect(marked(mark("killed"))).toEqual([]);
			expect((await other.status()).agent).toBe(other.started.agent);
			expect(isAlive(other.started.agent)).toBe(true);
			// The run folder is free again.
			expect(await world().tryStart(world().spec(["sleep", "1000"]))).toHaveProperty("agent");
		},
	);

	it("neither kills nor lists a shim as a stranger", async () => {
		const starter = await world().starter();
		const runs = await Promise.all(
			Array.from({ length: 8 }, (_, i) => world().run(["sleep", "1000"], { agent: `s${i}` })),
		);
		expect((await starter.ask(TYPE.strangers, [TYPE.strangerList]))[1].list()).toEqual([]);
		const [, killed] = await starter.ask(TYPE.killStrangers, [TYPE.strangersKilled], u32(1000));
		expect([killed.u8(), killed.list()]).toEqual([1, []]);
		for (const run of runs) expect((await run.status()).agent).toBe(run.started.agent);
	});

	it("does not report a shim that ended in order", async () => {
		const starter = await world().starter();
		await (await world().run(["true"])).ended();
		await sleep(100);
		expect(starter.frames.filter((frame) => frame.type === TYPE.shimGone)).toEqual([]);
	});

	it("agents keep running and exit as before when the starter is killed, and another starter can start", async () => {
		const run = await world().run(["sh", "-c", "read x; exit 8"]);
		process.kill(world().starterPid, "SIGKILL");
		await sleep(50);
		expect((await run.status()).agent).toBe(run.started.agent);
		await world().startStarter();
		const other = await world().run(["sleep", "1000"], { agent: "other" });
		expect(isAlive(other.started.agent)).toBe(true);
		await run.client.input("\r");
		expect((await run.exit()).status).toBe(8 << 8);
		expect(run.record()).toMatchObject({ state: "ended", tree: "empty" });
	});

	it("exits silently if another starter owns the folder", async () => {
		const starter = await world().starter();
		execFileSync(world().binary, ["starter", world().folder], { timeout: 5000 });
		expect((await starter.ask(TYPE.strangers, [TYPE.strangerList]))[0]).toBe(TYPE.strangerList);
	});

	it("ends by itself ten seconds after the last child and connection", {
		timeout: 30_000,
	}, async () => {
		const starter = await world().starter();
		const pid = world().starterPid;
		await (await world().run(["true"])).ended();
		starter.close();
		await sleep(8000);
		expect(isAlive(pid)).toBe(true);
		await until(() => !isAlive(pid), "the starter stays", 6000);
		expect(existsSync(join(world().folder, "starter.sock"))).toBe(false);
	});

	it("sends the exit to every connection, once", async () => {
		const run = await world().run(["sh", "-c", "read x; exit 2"]);
		const others = await Promise.all([1, 2, 3].map(() => world().connect(run.spec.socket)));
		await Promise.all(others.map((other) => other.fields(TYPE.hello)));
		await run.client.input("\r");
		for (const client of [run.client, ...others]) {
			await client.end();
			const exits = client.frames.filter((frame) => frame.type === TYPE.exit);
			expect(exits.map((frame) => new Fields(frame.payload).u32())).toEqual([2 << 8]);
		}
	});
}

/** Of the host's clock since boot. */
const uptimeMs = () =>
	Math.floor(Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]) * 1_000);

function deadlineSuite(world: () => World): void {
	const deadline = (at: number, graceMs: number) => [u64(at), u32(graceMs)];

	it("ends the tree at its deadline without a daemon: SIGTERM, and SIGKILL after the grace period", async () => {
		const gentle = await world().run(
			["sh", "-c", "trap 'exit 7' TERM; while :; do sleep 0.02; done"],
			{
				...{ agent: "gentle", deadline: uptimeMs() + 700, graceMs: 60_000 },
			},
		);
		const stubborn = await world().run(["sh", "-c", `${STUBBORN}; sleep 1000`], {
			...{ agent: "stubborn", deadline: uptimeMs() + 700, graceMs: 300 },
		});
		const [asked, killed] = [await gentle.ended(), await stubborn.ended()];
		expect(asked).toMatchObject({ status: 7 << 8, deadline: true });
		expect(killed).toMatchObject({ tree: "empty", deadline: true });
	});

	it("follows the newest deadline, and forgets one that is removed", async () => {
		const start = uptimeMs();
		const run = await world().run(["sleep", "100"], { deadline: start + 60_000, graceMs: 0 });
		run.client.send(TYPE.deadline, ...deadline(start + 200_000, 0));
		run.client.send(TYPE.deadline, ...deadline(0, 0));
		await run.status();
		expect(isAlive(run.started.agent)).toBe(true);
		run.client.send(TYPE.deadline, ...deadline(uptimeMs() + 300, 0));
		expect(await run.ended()).toMatchObject({ deadline: true });
		expect(uptimeMs()).toBeGreaterThanOrEqual(start + 300);
	});

	it("ends it as soon as a deadline that was delayed arrives, and refuses a start after it", async () => {
		const run = await world().run(["sleep", "100"], { agent: "late" });
		run.client.send(TYPE.deadline, ...deadline(uptimeMs() - 10, 0));
		expect(await run.ended()).toMatchObject({ deadline: true });
		const refused = await world().tryStart(
			world().spec(["sleep", "100"], { deadline: uptimeMs() - 10, graceMs: 0 }),
		);
		expect(refused).toMatchObject({ step: 1, detail: "the deadline" });
	});

	it("extends nothing once it has begun to end a run", async () => {
		const script = "trap '' TERM; while :; do sleep 0.02; done";
		const run = await world().run(["sh", "-c", script], {
			...{ agent: "begun", deadline: uptimeMs() + 300, graceMs: 700 },
		});
		await sleep(500);
		run.client.send(TYPE.deadline, ...deadline(uptimeMs() + 600_000, 0));
		expect(await run.ended()).toMatchObject({ deadline: true, tree: "empty" });
	});
}

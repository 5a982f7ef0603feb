/**
 * The parts that every measurement needs: a folder of its own, agents that write down when they start, the processes around
 * them, and the end of everything that was started.
 */

import { spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** In the environment of everything that a run starts: by it the run's own processes are known. */
const MARK = "REEVE_BENCH_RUN";
const WAIT_MS_MAX = 180_000;
/** A command that takes longer has hung. */
const RUN_MS_MAX = 180_000;

/** @typedef {{ name: string, pid: number, atMs: number }} Started */

export class World {
	/** @param {string} label */
	constructor(label) {
		this.mark = randomUUID();
		this.folder = mkdtempSync(join(tmpdir(), `reeve-bench-${label}-`));
		this.ledger = join(this.folder, "ledger");
		writeFileSync(this.ledger, "");
		/** @type {Record<string, string>} */
		this.env = {
			PATH: process.env["PATH"] ?? "/usr/bin:/bin",
			HOME: this.folder,
			LANG: "C.UTF-8",
			[MARK]: this.mark,
		};
	}

	/** @param {string} name */
	file(name) {
		return join(this.folder, name);
	}

	/** The command line of an agent that writes down its start and then waits. @param {string} name */
	agent(name) {
		return ["/bin/bash", resolve("bench/peers/agent.sh"), name, this.ledger];
	}

	/** @returns {Started[]} */
	started() {
		return readFileSync(this.ledger, "utf8")
			.split("\n")
			.filter((line) => line !== "")
			.map((line) => {
				const [name = "", pid, seconds] = line.split(" ");
				return { name, pid: Number(pid), atMs: Number(seconds) * 1_000 };
			});
	}

	/** Waits until the ledger has so many lines, and gives them. @param {number} count */
	async untilStarted(count) {
		await until(() => this.started().length >= count, `${count} starts`);
		return this.started();
	}

	/** The agents that run: the last start of each name, if it is still there. */
	agents() {
		const last = new Map(this.started().map(({ name, pid }) => [name, pid]));
		return new Map([...last].filter(([, pid]) => isAlive(pid)));
	}

	/** Everything that was started and is no agent: daemons, shims, servers, helpers. */
	house() {
		const agents = new Set(this.started().map(({ pid }) => pid));
		return this.processes().filter((pid) => !agents.has(pid) && pid !== process.pid);
	}

	/** All live processes of this run: marked ones, those that name its folder, and their descendants. */
	processes() {
		const all = readProcesses();
		const own = new Set(
			all
				.filter(({ text }) => text.includes(this.mark) || text.includes(this.folder))
				.map(({ pid }) => pid),
		);
		for (let before = -1; before !== own.size; ) {
			before = own.size;
			for (const { pid, parent } of all) if (own.has(parent)) own.add(pid);
		}
		own.delete(process.pid);
		return [...own];
	}

	/**
	 * @param {string} program
	 * @param {string[]} args
	 */
	run(program, args) {
		const { status, stdout, stderr, error } = spawnSync(program, args, {
			...{ cwd: this.folder, env: this.env, encoding: "utf8", maxBuffer: 1e9 },
			...{ timeout: RUN_MS_MAX, killSignal: "SIGKILL" },
		});
		if (status === 0) return stdout;
		throw new Error(
			`${program} ${args.join(" ")}: ${error?.message ?? ""}${stdout.slice(-2_000)}${stderr.slice(-2_000)}`,
		);
	}

	/**
	 * @param {string} program
	 * @param {string[]} args
	 */
	start(program, args) {
		return spawn(program, args, {
			...{ cwd: this.folder, env: this.env, stdio: ["pipe", "pipe", "ignore"] },
		});
	}

	/** Kills the remaining processes, by pid, and removes the folder. */
	async close() {
		for (let tries = 0; tries < 50; tries++) {
			const left = this.processes();
			if (left.length === 0) break;
			for (const pid of left) {
				try {
					process.kill(pid, "SIGKILL");
				} catch {}
			}
			await sleep(100);
		}
		rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
	}
}

/** @returns {{ pid: number, parent: number, text: string }[]} */
function readProcesses() {
	return readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.flatMap((name) => {
			try {
				const stat = readFileSync(`/proc/${name}/stat`, "latin1");
				const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
				if (state === "Z") return [];
				const text = ["environ", "cmdline"].map((file) =>
					readFileSync(`/proc/${name}/${file}`, "latin1"),
				);
				return [{ pid: Number(name), parent: Number(parent), text: text.join("\0") }];
			} catch {
				return [];
			}
		});
}

/** @param {number} pid */
export function isAlive(pid) {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
		return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) !== "Z";
	} catch {
		return false;
	}
}

/** Proportional memory of these processes in MB. @param {readonly number[]} pids */
export function pssMb(pids) {
	const kilobytes = pids.map((pid) => {
		try {
			const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
			return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0);
		} catch {
			return 0;
		}
	});
	return kilobytes.reduce((sum, each) => sum + each, 0) / 1_024;
}

/**
 * @param {() => boolean} isSo
 * @param {string} what
 */
export async function until(isSo, what, everyMs = 2) {
	const endMs = performance.now() + WAIT_MS_MAX;
	while (!isSo()) {
		if (performance.now() > endMs) throw new Error(`waited too long for ${what}`);
		await sleep(everyMs);
	}
}

/** The wall clock with fractions of a millisecond, as the agents have it. */
export const nowMs = () => performance.timeOrigin + performance.now();

/** @param {() => unknown} act */
export async function timeMs(act) {
	const startedMs = performance.now();
	await act();
	return performance.now() - startedMs;
}

/** @param {readonly number[]} values */
export function median(values) {
	return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** File systems slow down with age: many files come and go before anything is measured. @param {number} files */
export function ageFileSystem(files) {
	const folder = mkdtempSync(join(tmpdir(), "reeve-bench-age-"));
	for (let part = 0; part < files; part += 1_000) {
		const below = join(folder, String(part));
		mkdirSync(below);
		for (let n = 0; n < 1_000; n++) writeFileSync(join(below, String(n)), "x".repeat(n * 4));
	}
	rmSync(folder, { recursive: true });
}

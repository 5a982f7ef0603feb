/**
 * CPU and memory of agents by their process trees, from one pass over the processes of the host. A process belongs to
 * the agent whose mark it carries, otherwise to that of its parent; this is looked up once per process. Where a run has
 * a control group that counts memory, its memory is read from there: it counts shared pages once.
 */

import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";
import type { MeasuredAgent, ResourceMeter, ResourceReading } from "../ports/resources.js";
import { isOwnGroup } from "./cgroup-members.js";
import { parseCpuTime, parseProcStat } from "./process-identity.js";

/** Processes that are read before other work of the daemon gets a turn. */
const SLICE = 100;
const MARKS = /(?:^|\0)REEVE_(RUN_ID|AGENT)=([^\0]*)/g;

interface ProcessUse {
	readonly pid: number;
	readonly ppid: number;
	readonly startTime: string;
	/** With its reaped children, so that the sum over a tree never loses the time of an exited process. */
	readonly cpuMs: number;
	readonly rssBytes: number;
}

interface Marks {
	readonly runId: string | null;
	readonly agent: string | null;
}

const NO_MARKS: Marks = { runId: null, agent: null };

export function createResourceMeter(
	read: () => Promise<readonly ProcessUse[]> = process.platform === "linux" ? readProc : readPs,
	nowMs: () => number = () => performance.now(),
): ResourceMeter {
	/** The marks of known processes, by pid and start time. */
	let marks = new Map<string, Marks>();
	let before: { readonly atMs: number; readonly cpuMs: ReadonlyMap<string, number> } | null = null;

	function marksOf({ pid, startTime }: ProcessUse): Marks {
		return marks.get(`${pid} ${startTime}`) ?? readMarks(pid);
	}

	return {
		async measure(agents) {
			const table = await read();
			const atMs = nowMs();
			const found = new Map(table.map((each) => [`${each.pid} ${each.startTime}`, marksOf(each)]));
			marks = found;
			const owners = ownersOf(table, agents, (each) => found.get(keyOf(each)) ?? NO_MARKS);
			const uses = new Map<string, { memoryBytes: number; cpuMs: number; processes: number }>();
			for (const each of table) {
				const owner = owners.get(each.pid) ?? null;
				if (owner === null) continue;
				const use = uses.get(owner) ?? { memoryBytes: 0, cpuMs: 0, processes: 0 };
				use.memoryBytes += each.rssBytes;
				use.cpuMs += each.cpuMs;
				use.processes += 1;
				uses.set(owner, use);
			}
			const last = before;
			before = { atMs, cpuMs: new Map([...uses].map(([id, { cpuMs }]) => [id, cpuMs])) };
			const groups = new Map(agents.map((agent) => [agent.id, groupMemory(agent)]));
			return new Map(
				[...uses].map(([id, { memoryBytes, cpuMs, processes }]): [string, ResourceReading] => {
					const inGroup = groups.get(id) ?? null;
					const usedMs = last?.cpuMs.get(id);
					const passedMs = atMs - (last?.atMs ?? atMs);
					const isKnown = usedMs !== undefined && passedMs > 0;
					return [
						id,
						{
							memoryBytes: inGroup ?? memoryBytes,
							processes,
							memory: inGroup === null ? "rss" : "cgroup",
							cpuPercent: isKnown ? percentOf(cpuMs - usedMs, passedMs) : null,
						},
					];
				}),
			);
		},
	};
}

/** A process that exited without being reaped by its tree takes its time with it. */
function percentOf(usedMs: number, passedMs: number): number {
	return Math.round((Math.max(0, usedMs) / passedMs) * 1_000) / 10;
}

const keyOf = ({ pid, startTime }: ProcessUse) => `${pid} ${startTime}`;

/** The agent of each process, by pid. */
function ownersOf(
	table: readonly ProcessUse[],
	agents: readonly MeasuredAgent[],
	marksOf: (process: ProcessUse) => Marks,
): ReadonlyMap<number, string | null> {
	const ids = new Set(agents.map(({ id }) => id));
	const byRun = new Map(agents.map(({ id, handle }) => [handle?.runId ?? "", id]));
	const roots = new Map(
		agents.map(({ id, handle }) => [`${handle?.process.pid} ${handle?.process.startTime}`, id]),
	);
	const byPid = new Map(table.map((each) => [each.pid, each]));
	const owners = new Map<number, string | null>([[process.pid, null]]);
	/** Programs of calls and workers are children of this process; their runs are not listed. */
	const isOurs = (each: ProcessUse | undefined, depth = 0): boolean =>
		each !== undefined &&
		depth < 50 &&
		(each.ppid === process.pid || isOurs(byPid.get(each.ppid), depth + 1));

	function ownerOf(each: ProcessUse, depth = 0): string | null {
		const known = owners.get(each.pid);
		if (known !== undefined) return known;
		const { runId, agent } = marksOf(each);
		const named = agent !== null && ids.has(agent) && isOurs(each) ? agent : null;
		const marked = roots.get(keyOf(each)) ?? byRun.get(runId ?? "-") ?? named;
		const parent = byPid.get(each.ppid);
		const inherited = parent === undefined || depth > 50 ? null : ownerOf(parent, depth + 1);
		const owner = marked ?? inherited;
		owners.set(each.pid, owner);
		return owner;
	}

	for (const each of table) ownerOf(each);
	return owners;
}

function readMarks(pid: number): Marks {
	if (process.platform !== "linux") return NO_MARKS;
	try {
		const found = Object.fromEntries(
			[...readFileSync(`/proc/${pid}/environ`, "latin1").matchAll(MARKS)].map(
				([, name = "", value = ""]) => [name, value],
			),
		);
		return { runId: found["RUN_ID"] ?? null, agent: found["AGENT"] ?? null };
	} catch {
		return NO_MARKS;
	}
}

/** Memory in use by the control group of a run; null without one that counts memory. */
function groupMemory({ handle }: MeasuredAgent): number | null {
	const groups = handle?.data["groups"];
	if (typeof groups !== "string") return null;
	for (const group of groups.split(":")) {
		if (!isOwnGroup(group)) continue;
		try {
			const used = Number(readFileSync(join(group, "memory.current"), "utf8"));
			const stat = readFileSync(join(group, "memory.stat"), "utf8");
			const unused = Number(/^inactive_file (\d+)$/m.exec(stat)?.[1] ?? 0);
			if (Number.isFinite(used)) return Math.max(0, used - unused);
		} catch {
			// This group does not count memory.
		}
	}
	return null;
}

/** Node knows the size of its own memory in bytes, the kernel the number of its pages. */
function readPageBytes(): number {
	const pages = pagesOf(readFileSync("/proc/self/stat", "latin1"));
	return 2 ** Math.round(Math.log2(process.memoryUsage.rss() / Math.max(1, pages)));
}

const pagesOf = (stat: string) => Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[21] ?? 0);

let pageBytes: number | undefined;

async function readProc(): Promise<readonly ProcessUse[]> {
	pageBytes ??= readPageBytes();
	const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
	const found: ProcessUse[] = [];
	for (const [index, pid] of pids.entries()) {
		if (index % SLICE === SLICE - 1) await nextTurn();
		const text = readStat(pid);
		const entry = text === null ? null : parseProcStat(text);
		if (text === null || entry === null || entry.ended) continue;
		// Kernel threads use no memory of an agent.
		if (entry.pid === 2 || entry.ppid === 2) continue;
		const { ppid, startTime, cpuMs } = entry;
		found.push({ pid: entry.pid, ppid, startTime, cpuMs, rssBytes: pagesOf(text) * pageBytes });
	}
	return found;
}

/** Null if the process exited in the meantime. */
function readStat(pid: string): string | null {
	try {
		return readFileSync(`/proc/${pid}/stat`, "latin1");
	} catch {
		return null;
	}
}

const PS_LINE = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+([\d:.-]+)\s+(\S.*?)\s*$/;

async function readPs(): Promise<readonly ProcessUse[]> {
	const columns = "pid=,ppid=,rss=,time=,lstart=";
	const options = { env: { LC_ALL: "C", TZ: "UTC", PATH: "/usr/bin:/bin" }, timeout: 10_000 };
	const { stdout } = await promisify(execFile)("ps", ["-ax", "-o", columns], options);
	return parsePsUse(stdout);
}

/** For systems without `/proc`. */
export function parsePsUse(listing: string): readonly ProcessUse[] {
	return listing.split("\n").flatMap((line) => {
		const [, pid, ppid, rss, time = "", started = ""] = PS_LINE.exec(line) ?? [];
		if (pid === undefined) return [];
		return [
			{
				pid: Number(pid),
				ppid: Number(ppid),
				rssBytes: Number(rss) * 1_024,
				cpuMs: parseCpuTime(time),
				startTime: started.replaceAll(/\s+/g, " "),
			},
		];
	});
}

/**
 * Identifies processes. A pid alone is not enough: it is reused after its process exits. Boot id, pid
 * and start time together identify one process permanently (S10).
 *
 * "Not found" and "unknown" are different results, and nothing here turns the second into the first.
 */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { ProcessIdentity } from "../ports/backend.js";

/** One process as listed by the system. */
export interface ProcessEntry {
	readonly pid: number;
	readonly ppid: number;
	readonly pgid: number;
	/** Session; 0 if the system does not report it. */
	readonly sid: number;
	readonly startTime: string;
	/** The foreground process group of its terminal; -1 or 0 without one. */
	readonly foregroundPgid: number;
	/** The name of its program, for reports only. */
	readonly name: string;
	/** A zombie: it has exited but was not reaped yet. */
	readonly ended: boolean;
	/** CPU time of the process and of its reaped children. */
	readonly cpuMs: number;
}

/** The result for a pid: its process, no process, or unknown. */
export type Lookup = ProcessEntry | "none" | "unknown";

/** System programs run with a fixed language and time zone, so that their output always parses the same. */
const PLAIN_ENV = { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C", TZ: "UTC" };

export function runSystemProgram(program: string, args: readonly string[]): string {
	return execFileSync(program, args, {
		encoding: "utf8",
		env: PLAIN_ENV,
		stdio: ["ignore", "pipe", "ignore"],
		maxBuffer: 64 * 1024 * 1024,
		timeout: 10_000,
	});
}

/** The unit of `/proc`, independent of the kernel's own tick rate. */
const MS_PER_TICK = 10;

/**
 * `/proc/<pid>/stat`. The program name may contain anything, so the fields start after the last `)`.
 */
export function parseProcStat(text: string): ProcessEntry | null {
	const nameEnd = text.lastIndexOf(")");
	const pid = Number.parseInt(text, 10);
	const fields = text.slice(nameEnd + 2).split(" ");
	const [state, ppid, pgid, sid, , foregroundPgid] = fields;
	const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
	const startTime = fields[19];
	if (nameEnd < 0 || Number.isNaN(pid) || startTime === undefined) return null;
	return {
		pid,
		ppid: Number(ppid),
		pgid: Number(pgid),
		sid: Number(sid),
		startTime,
		foregroundPgid: Number(foregroundPgid),
		name: text.slice(text.indexOf("(") + 1, nameEnd),
		ended: state === "Z" || state === "X" || state === "x",
		cpuMs: ticks * MS_PER_TICK,
	};
}

/** `lstart` always has five words; the name after it may have any number. */
const PS_LINE =
	/^\s*(\d+)\s+(\d+)\s+(\d+)\s+(-?\d+)\s+(\S+)\s+([\d:.-]+)\s+(\S+(?:\s+\S+){4})(?:\s+(\S.*?))?\s*$/;

/** A line of `ps -o` with `PS_COLUMNS`. */
export function parsePsLine(line: string): ProcessEntry | null {
	const found = PS_LINE.exec(line);
	if (found === null) return null;
	const [, pid, ppid, pgid, tpgid, state = "", cpuTime = "", startTime = "", name = ""] = found;
	return {
		pid: Number(pid),
		ppid: Number(ppid),
		pgid: Number(pgid),
		sid: 0,
		startTime: startTime.replaceAll(/\s+/g, " "),
		foregroundPgid: Number(tpgid),
		name,
		ended: state.startsWith("Z"),
		cpuMs: parseCpuTime(cpuTime),
	};
}

/** `[days-][hours:]minutes:seconds[.hundredths]`. */
export function parseCpuTime(text: string): number {
	const [clock = "", days = "0"] = text.split("-").reverse();
	const seconds = clock.split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
	return Math.round((Number(days) * 86_400 + seconds) * 1_000);
}

export const PS_COLUMNS = "pid=,ppid=,pgid=,tpgid=,stat=,time=,lstart=,ucomm=";

export function lookUp(pid: number): Lookup {
	return process.platform === "linux" ? lookUpInProc(pid) : lookUpWithPs(pid);
}

function lookUpInProc(pid: number): Lookup {
	try {
		return parseProcStat(readFileSync(`/proc/${pid}/stat`, "latin1")) ?? "unknown";
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		return code === "ENOENT" || code === "ESRCH" ? askKernel(pid) : "unknown";
	}
}

function lookUpWithPs(pid: number): Lookup {
	try {
		return parsePsLine(runSystemProgram("ps", ["-o", PS_COLUMNS, "-p", String(pid)])) ?? "unknown";
	} catch {
		// `ps` fails in the same way if the process does not exist and if it could not run.
		return askKernel(pid);
	}
}

/** Signal 0 only checks for existence. It works even if a listing hides processes of other users. */
function askKernel(pid: number): "none" | "unknown" {
	try {
		process.kill(pid, 0);
		return "unknown";
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === "ESRCH" ? "none" : "unknown";
	}
}

let knownBootId: string | undefined;

/** Changes with every boot; throws if the system does not report it. */
export function readBootId(): string {
	knownBootId ??= (
		process.platform === "linux"
			? readFileSync("/proc/sys/kernel/random/boot_id", "utf8")
			: runSystemProgram("sysctl", ["-n", "kern.bootsessionuuid"])
	).trim();
	return knownBootId;
}

/** The identity of a live process; null if there is none, or it cannot be read. */
export function readIdentity(pid: number): ProcessIdentity | null {
	const entry = lookUp(pid);
	if (entry === "none" || entry === "unknown" || entry.ended) return null;
	return { bootId: readBootId(), pid, startTime: entry.startTime };
}

/** Whether exactly this process is alive. */
export function isAlive(identity: ProcessIdentity): boolean | "unknown" {
	if (identity.bootId !== readBootId()) return false;
	const entry = lookUp(identity.pid);
	if (entry === "unknown") return "unknown";
	if (entry === "none") return false;
	return !entry.ended && entry.startTime === identity.startTime;
}

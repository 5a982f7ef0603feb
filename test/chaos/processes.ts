/** The processes of the pid namespace, from /proc alone. */

import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export type ProcessKind =
	| "daemon"
	| "starter"
	| "shim"
	| "tmux_server"
	| "pane"
	| "session"
	| "task"
	| "cli"
	| "other";

export interface ChaosProcess {
	readonly pid: number;
	readonly ppid: number;
	readonly isZombie: boolean;
	readonly kind: ProcessKind;
	readonly command: string;
	readonly runId: string | null;
}

/** First match wins. Session and task programs come first: their arguments may name anything. */
const KINDS: readonly [part: string, kind: ProcessKind][] = [
	["keeps-a-ledger.pl", "session"],
	["fake-agent-main.js", "session"],
	["notes-in-ledger.pl", "task"],
	["dist/daemon/main.js", "daemon"],
	["reeve-shim starter", "starter"],
	["reeve-shim run", "shim"],
	["reeve-shim attach", "pane"],
	["dist/cli/main.js", "cli"],
];

/** Every process except zombies, which cannot be inspected. */
export function readProcesses(): readonly ChaosProcess[] {
	return readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.flatMap((name) => readProcess(Number(name)) ?? []);
}

function readProcess(pid: number): ChaosProcess | null {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
		const name = stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")"));
		const [state = "", ppid = "0"] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
		const command = readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ").trim();
		const environ = readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
		const marker = environ.find((each) => each.startsWith("REEVE_RUN_ID="));
		return {
			...{ pid, ppid: Number(ppid), isZombie: state === "Z" || state === "X", command },
			kind: kindOf(name, command),
			runId: marker?.slice("REEVE_RUN_ID=".length) ?? null,
		};
	} catch {
		return null;
	}
}

function kindOf(name: string, command: string): ProcessKind {
	if (name.startsWith("tmux: server")) return "tmux_server";
	return KINDS.find(([part]) => command.includes(part))?.[1] ?? "other";
}

/** The number and the names of the open files of a process. */
export function openFiles(pid: number): readonly string[] {
	try {
		return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
			try {
				return readlinkSync(`/proc/${pid}/fd/${fd}`);
			} catch {
				return [];
			}
		});
	} catch {
		return [];
	}
}

/** Sends a signal to a process that may be gone. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
	try {
		return process.kill(pid, name);
	} catch {
		return false;
	}
}

/**
 * All processes at one moment, and their runs by the mark in their environment. The mark survives
 * everything that breaks other relations: double forks, new sessions, a dead parent.
 */

import { readdirSync, readFileSync } from "node:fs";
import {
	type ProcessEntry,
	PS_COLUMNS,
	parseProcStat,
	parsePsLine,
	runSystemProgram,
} from "./process-identity.js";

/** The variable that identifies a run's processes. */
const RUN_ID_VARIABLE = "REEVE_RUN_ID";

export interface ProcessTable {
	readonly entries: readonly ProcessEntry[];
	/** The run whose mark the process carries; null if it has none or hides its environment. */
	runIdOf(pid: number): string | null;
}

export function readProcessTable(): ProcessTable {
	return process.platform === "linux" ? readProc() : readPs();
}

let upcoming: Promise<ProcessTable> | null = null;

/** A table read after this call. Simultaneous callers share it: a table of 1,000 processes takes 20 ms. */
export function nextProcessTable(): Promise<ProcessTable> {
	upcoming ??= new Promise((resolve, reject) => {
		setImmediate(() => {
			upcoming = null;
			try {
				resolve(readProcessTable());
			} catch (error) {
				reject(error);
			}
		});
	});
	return upcoming;
}

function readProc(): ProcessTable {
	const entries = readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.flatMap((name) => readIfThere(`/proc/${name}/stat`))
		.flatMap((text) => parseProcStat(text) ?? []);
	const known = new Map<number, string | null>();
	return {
		entries,
		runIdOf(pid) {
			let runId = known.get(pid);
			if (runId === undefined) {
				const [environment = ""] = readIfThere(`/proc/${pid}/environ`);
				runId = parseEnviron(environment);
				known.set(pid, runId);
			}
			return runId;
		},
	};
}

/** Errors of this process, not of the listed one: then the whole table fails. */
const OUT_OF_ROOM = ["EMFILE", "ENFILE", "ENOMEM"];

/** Empty if the process exited in the meantime or is not readable. */
function readIfThere(path: string): string[] {
	try {
		return [readFileSync(path, "latin1")];
	} catch (error) {
		if (OUT_OF_ROOM.includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
		return [];
	}
}

/** The run id in a `/proc/<pid>/environ`. */
export function parseEnviron(text: string): string | null {
	const start = `\0${text}`.indexOf(`\0${RUN_ID_VARIABLE}=`);
	if (start < 0) return null;
	return text.slice(start + RUN_ID_VARIABLE.length + 1).split("\0", 1)[0] ?? null;
}

function readPs(): ProcessTable {
	const entries = runSystemProgram("ps", ["-ax", "-o", PS_COLUMNS])
		.split("\n")
		.flatMap((line) => parsePsLine(line) ?? []);
	let marks: Map<number, string> | undefined;
	return {
		entries,
		runIdOf(pid) {
			marks ??= parsePsMarks(
				runSystemProgram("ps", ["-axww", "-o", "pid=,command="]),
				runSystemProgram("ps", ["-axEww", "-o", "pid=,command="]),
			);
			return marks.get(pid) ?? null;
		},
	};
}

/**
 * `ps -E` prints the environment after the arguments. The same listing without it shows where the
 * arguments end, so that a mark among them (for example in a search for a run) does not count.
 */
export function parsePsMarks(withoutEnv: string, withEnv: string): Map<number, string> {
	const byPid = (listing: string) =>
		new Map(
			listing.split("\n").flatMap((line) => {
				const found = /^\s*(\d+) (.*)$/.exec(line);
				return found === null ? [] : [[Number(found[1]), found[2] ?? ""] as const];
			}),
		);
	const commands = byPid(withoutEnv);
	const marks = new Map<number, string>();
	for (const [pid, text] of byPid(withEnv)) {
		const command = commands.get(pid);
		if (command === undefined || !text.startsWith(command)) continue;
		const mark = new RegExp(` ${RUN_ID_VARIABLE}=(\\S+)`).exec(text.slice(command.length));
		if (mark?.[1] !== undefined) marks.set(pid, mark[1]);
	}
	return marks;
}

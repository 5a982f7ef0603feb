/**
 * What can be limited where no control group may be made: the memory of each process by itself. Linux
 * counts what a process may write to (RLIMIT_DATA), so programs that only reserve addresses, as Node and
 * Go do by the gigabyte, are not struck; a limit on addresses (RLIMIT_AS) would keep them from starting.
 *
 * The number of processes is not limited so: the system's limit counts all processes of the user, and
 * one agent would then be refused a process because of another (S17). There is none on the share of a
 * processor.
 */

import { accessSync, constants } from "node:fs";

type Argv = readonly [string, ...string[]];

const PRLIMIT = ["/usr/bin/prlimit", "/bin/prlimit"].find(isExecutable) ?? null;

/** How memory is limited without a group, or null where it cannot be. */
export const MEMORY_WITHOUT_GROUP =
	process.platform === "linux" && PRLIMIT !== null
		? "each process is limited separately (RLIMIT_DATA), not the whole process tree"
		: null;

/** Why there is nothing to be had without a group. */
export const NONE_WITHOUT_GROUP = {
	memory: "prlimit (util-linux) could limit each process separately, but is not installed",
	pids: "the system's own limit counts all processes of the user and would affect other agents",
	cpu: "the system has no other way to limit CPU time",
} as const;

/** A command line under which a program may have this much memory for itself. */
export function limitMemory(argv: Argv, bytes: number): Argv {
	if (MEMORY_WITHOUT_GROUP === null || PRLIMIT === null) return argv;
	return [PRLIMIT, `--data=${bytes}:${bytes}`, "--", ...argv];
}

function isExecutable(path: string): boolean {
	try {
		accessSync(path, constants.X_OK);
		return true;
	} catch {
		return false;
	}
}

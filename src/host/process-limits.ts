/**
 * Limits without control groups: only the memory of each process separately. Linux limits writable memory
 * (RLIMIT_DATA), so programs that only reserve address space, as Node and Go do by the gigabyte, are not affected; a
 * limit on address space (RLIMIT_AS) would prevent them from starting.
 *
 * The number of processes is not limited this way: the system's limit counts all processes of the user, so one agent
 * would be refused a process because of another (S17). There is no such limit for CPU time.
 */

import { isExecutable } from "./spawn-errors.js";

type Argv = readonly [string, ...string[]];

const PRLIMIT = ["/usr/bin/prlimit", "/bin/prlimit"].find(isExecutable) ?? null;

/** How memory is limited without a group, or null if it cannot be. */
export const MEMORY_WITHOUT_GROUP =
	process.platform === "linux" && PRLIMIT !== null
		? "each process is limited separately (RLIMIT_DATA), not the whole process tree"
		: null;

/** Why there is no alternative without a group. */
export const NONE_WITHOUT_GROUP = {
	memory: "prlimit (util-linux) could limit each process separately, but is not installed",
	pids: "the system's own limit counts all processes of the user and would affect other agents",
	cpu: "the system has no other way to limit CPU time",
} as const;

/** A command line that limits the memory of a program. */
export function limitMemory(argv: Argv, bytes: number): Argv {
	if (MEMORY_WITHOUT_GROUP === null || PRLIMIT === null) return argv;
	return [PRLIMIT, `--data=${bytes}:${bytes}`, "--", ...argv];
}

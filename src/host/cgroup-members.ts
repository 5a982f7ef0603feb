/** The members of a run's control group, and how to kill them. Works from the group's path alone. */

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The directory below which all of Reeve's groups are. */
export const GROUPS_FOLDER = "reeve";

/** A stored path is trusted only if it can be one of Reeve's (S10). */
export function isOwnGroup(path: string): boolean {
	return /^\/[^\0]*\/reeve\/[\w.-]+$/.test(path) && !path.includes("/../");
}

/** Including those in groups that the run has created below its own. */
export function readGroupMembers(path: string): number[] {
	return isOwnGroup(path) ? readMembersBelow(path) : [];
}

function readMembersBelow(path: string): number[] {
	try {
		const procs = readFileSync(join(path, "cgroup.procs"), "utf8").split("\n").filter(Boolean);
		const below = readdirSync(path, { withFileTypes: true }).filter((each) => each.isDirectory());
		return [
			...procs.map(Number),
			...below.flatMap(({ name }) => readMembersBelow(join(path, name))),
		];
	} catch {
		return [];
	}
}

/** Kills all at once if the kernel supports it (version 2, Linux 5.14); otherwise does nothing. */
export function killGroup(path: string): void {
	if (!isOwnGroup(path)) return;
	try {
		// `r+`: must not create the file in a directory that is not a group.
		writeFileSync(join(path, "cgroup.kill"), "1", { flag: "r+" });
	} catch {
		// Version 1, an old kernel, or already gone: the members are killed one by one.
	}
}

/** The folders that count the processes of a run that the kernel kills because memory is exhausted: a scope counts for the group two levels below. */
export function oomCountersOf(group: string): readonly string[] {
	const scope = dirname(dirname(group));
	return scope.endsWith(".scope") ? [scope] : [group];
}

/** How many processes of a group the kernel has killed because memory ran out. */
export function readOomKills(folder: string): number {
	for (const file of ["memory.events", "memory.oom_control"]) {
		const path = join(folder, file);
		// At most one is there, and an exception for each exit of hundreds would be felt.
		if (!existsSync(path)) continue;
		try {
			const found = /^oom_kill (\d+)$/m.exec(readFileSync(path, "utf8"));
			if (found !== null) return Number(found[1]);
		} catch {
			// Removed in the meantime.
		}
	}
	return 0;
}

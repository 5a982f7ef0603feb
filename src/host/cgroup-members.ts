/** The members of a run's control group, and how to kill them. Works from the group's path alone. */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

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

/** How many processes of a group the kernel has killed because of its memory limit. */
export function readOomKills(folder: string): number {
	for (const file of ["memory.events", "memory.oom_control"]) {
		try {
			const found = /^oom_kill (\d+)$/m.exec(readFileSync(join(folder, file), "utf8"));
			if (found !== null) return Number(found[1]);
		} catch {
			// The file of the other version.
		}
	}
	return 0;
}

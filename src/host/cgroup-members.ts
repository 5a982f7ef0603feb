/** Who is in a run's control group, and the end of them all. Works from the group's path alone. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** All of Reeve's groups are below a folder of this name. */
export const GROUPS_FOLDER = "reeve";

/** A stored path is believed only if it can be one of ours (S10). */
export function isOwnGroup(path: string): boolean {
	return /^\/[^\0]*\/reeve\/[\w.-]+$/.test(path) && !path.includes("/../");
}

export function readGroupMembers(path: string): number[] {
	if (!isOwnGroup(path)) return [];
	try {
		return readFileSync(join(path, "cgroup.procs"), "utf8").split("\n").filter(Boolean).map(Number);
	} catch {
		return [];
	}
}

/** Kills all at once where the kernel can (version 2, Linux 5.14); elsewhere nothing happens. */
export function killGroup(path: string): void {
	if (!isOwnGroup(path)) return;
	try {
		// `r+`: opening must not create the file in a folder that is no group.
		writeFileSync(join(path, "cgroup.kill"), "1", { flag: "r+" });
	} catch {
		// Version 1, an old kernel, or gone already: the members are killed one by one.
	}
}

/** Creates and removes directories of control groups, while others do the same next to them. */

import { mkdirSync, readdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { GROUPS_FOLDER } from "./cgroup-members.js";

const MAKE_TRIES_MAX = 10;

/** Another process may remove the empty common directory between two steps. */
export function makeGroup(folder: string): void {
	for (let tries = 1; ; tries++) {
		try {
			mkdirSync(folder, { recursive: true });
			return;
		} catch (error) {
			const isRace = (error as NodeJS.ErrnoException).code === "ENOENT";
			if (!isRace || tries >= MAKE_TRIES_MAX) throw error;
		}
	}
}

/** False if it is not empty. */
export function removeGroup(folder: string): boolean {
	try {
		rmdirSync(folder);
		return true;
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === "ENOENT";
	}
}

/** Removes an owner's empty groups below a group, and the common directory. */
export function sweepGroups(home: string, owner: string): void {
	const parent = join(home, GROUPS_FOLDER);
	try {
		const ours = readdirSync(parent).filter((name) => name.startsWith(`${owner}-`));
		// The kernel refuses to remove a group that is not empty.
		for (const name of ours) removeGroup(join(parent, name));
		rmdirSync(parent);
	} catch {
		// It does not exist, or is still in use.
	}
}

/** Folders of control groups: made and removed, though others make and remove theirs beside them. */

import { mkdirSync, readdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { GROUPS_FOLDER } from "./cgroup-members.js";

const MAKE_TRIES_MAX = 10;

/** Somebody else may remove the common folder, empty as it is, between two steps of this. */
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

/** False when something is still in it. */
export function removeGroup(folder: string): boolean {
	try {
		rmdirSync(folder);
		return true;
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === "ENOENT";
	}
}

/** Removes what is empty of an owner's groups below a group, and the common folder. */
export function sweepGroups(home: string, owner: string): void {
	const parent = join(home, GROUPS_FOLDER);
	try {
		const ours = readdirSync(parent).filter((name) => name.startsWith(`${owner}-`));
		// The kernel refuses to remove a group that has anything in it.
		for (const name of ours) removeGroup(join(parent, name));
		rmdirSync(parent);
	} catch {
		// Not there, or others are still in it.
	}
}

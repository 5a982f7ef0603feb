/** The position of this process in the control group hierarchies, from `/proc`. */

import { join, posix } from "node:path";

/** The directory of this process's own group in each hierarchy. */
export interface GroupLayout {
	/** Version 2; null if it is not mounted. */
	readonly unified: string | null;
	/** Version 1, by controller. */
	readonly byController: Readonly<Partial<Record<string, string>>>;
}

/** From the texts of `/proc/self/cgroup` and `/proc/self/mountinfo`. */
export function parseGroupLayout(cgroup: string, mountinfo: string): GroupLayout {
	const mounts = parseMounts(mountinfo);
	let unified: string | null = null;
	const byController: Record<string, string> = {};
	for (const line of cgroup.split("\n")) {
		const found = /^(\d+):([^:]*):(\/.*)$/.exec(line);
		if (found === null) continue;
		const [, hierarchy, controllers = "", path = "/"] = found;
		if (hierarchy === "0") {
			unified = folderOf(mounts.unified, path);
			continue;
		}
		for (const controller of controllers.split(",")) {
			const folder = folderOf(mounts.byController.get(controller) ?? null, path);
			if (folder !== null) byController[controller] = folder;
		}
	}
	return { unified, byController };
}

interface Mount {
	/** The part of the hierarchy that is mounted. */
	readonly root: string;
	readonly at: string;
}

function parseMounts(mountinfo: string) {
	const byController = new Map<string, Mount>();
	let unified: Mount | null = null;
	for (const line of mountinfo.split("\n")) {
		const [before = "", after = ""] = line.split(" - ");
		const [, , , root = "/", at = "/"] = before.split(" ");
		const [type, , options = ""] = after.split(" ");
		if (type === "cgroup2") unified ??= { root, at };
		if (type !== "cgroup") continue;
		for (const option of options.split(",")) byController.set(option, { root, at });
	}
	return { unified, byController };
}

/** Null if the group is outside of the mounted part, as may happen in a container. */
function folderOf(mount: Mount | null, path: string): string | null {
	if (mount === null) return null;
	const relative = posix.relative(mount.root, path);
	return relative.startsWith("..") ? null : join(mount.at, relative);
}

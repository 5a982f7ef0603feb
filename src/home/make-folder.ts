/** Creates directories for a home. */

import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Creates a directory and its missing parents, private to their owner. One level at a time: on filesystems such as
 * `/proc`, which report ENOENT for a directory in which nothing can be created, Node's recursive mkdir retries forever.
 */
export async function makeFolder(path: string): Promise<void> {
	const missing: string[] = [];
	for (let at = path; !(await isThere(at)) && at !== dirname(at); at = dirname(at))
		missing.push(at);
	for (const folder of missing.reverse()) {
		await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
			// Another process created it first.
			if (error.code !== "EEXIST") throw error;
		});
	}
	if (!(await stat(path)).isDirectory()) {
		throw Object.assign(new Error(`EEXIST: ${path} is not a directory`), { code: "EEXIST" });
	}
}

async function isThere(path: string): Promise<boolean> {
	try {
		await stat(path);
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
		throw error;
	}
}

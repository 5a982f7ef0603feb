/** Folders for a home. */

import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Makes a folder and those above it, as far as they are missing, for their owner alone. One step at a time: where
 * a filesystem says of a folder that it can make nothing in it that there is no such folder, as `/proc` does,
 * Node's own way tries for ever.
 */
export async function makeFolder(path: string): Promise<void> {
	const missing: string[] = [];
	for (let at = path; !(await isThere(at)) && at !== dirname(at); at = dirname(at))
		missing.push(at);
	for (const folder of missing.reverse()) {
		await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
			// Another process was faster.
			if (error.code !== "EEXIST") throw error;
		});
	}
	if (!(await stat(path)).isDirectory()) {
		throw Object.assign(new Error(`EEXIST: ${path} is not a folder`), { code: "EEXIST" });
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

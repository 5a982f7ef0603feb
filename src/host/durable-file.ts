/** Files that are either there whole or not at all, whatever dies meanwhile. */

import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/** Writes beside, forces to the disk, renames, and forces the name to the disk as well. */
export async function writeDurably(path: string, text: string): Promise<void> {
	const beside = `${path}.${process.pid}.tmp`;
	try {
		const file = await open(beside, "w", 0o600);
		try {
			await file.writeFile(text);
			await file.sync();
		} finally {
			await file.close();
		}
		await rename(beside, path);
	} catch (error) {
		await rm(beside, { force: true });
		throw error;
	}
	const folder = await open(dirname(path), "r");
	try {
		await folder.sync();
	} finally {
		await folder.close();
	}
}

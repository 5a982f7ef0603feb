/** The files of an agent's log: the current one and those that were rotated away. */

import { type FileHandle, open } from "node:fs/promises";

/** The number of older files kept next to the current one. */
export const OLDER_FILES = 4;

/** The names of all files, newest first. */
export const LOG_FILES: readonly string[] = Array.from({ length: OLDER_FILES + 1 }, (_, age) =>
	age === 0 ? "current.log" : `current.log.${age}`,
);

/** Identifies a file by its inode and creation time, because inodes are reused. */
export async function logFileName(file: FileHandle): Promise<string> {
	const { ino, birthtimeMs } = await file.stat({ bigint: true });
	return `${ino}.${birthtimeMs}`;
}

/** All kept files, oldest first. A file that is rotated in the meantime is not opened twice. */
export async function openRotatedFiles(path: string): Promise<FileHandle[]> {
	const files = new Map<string, FileHandle>();
	for (let age = 0; age <= OLDER_FILES; age++) {
		const file = await openIfExists(age === 0 ? path : `${path}.${age}`);
		if (file === null) continue;
		const name = await logFileName(file);
		if (files.has(name)) await file.close();
		else files.set(name, file);
	}
	return [...files.values()].reverse();
}

export async function openIfExists(path: string): Promise<FileHandle | null> {
	try {
		return await open(path, "r");
	} catch {
		return null;
	}
}

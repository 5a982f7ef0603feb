/**
 * The only file in this directory that accesses the disk.
 *
 * Keeps A6: reads at most the allowed size, and only regular files, since a pipe or a device may never end.
 */

import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { finding, type Problem, problemsOf } from "./problem.js";

const FILE_BYTES_MAX = 1_048_576;

type ReadFile =
	| { readonly ok: true; readonly bytes: Uint8Array }
	| { readonly ok: false; readonly missing: boolean; readonly message: string };

const MESSAGES: Readonly<Record<string, string>> = {
	ENOENT: "the file does not exist",
	ENOTDIR: "the file does not exist",
	EACCES: "permission denied",
	EPERM: "permission denied",
	EISDIR: "the path is a directory, not a file",
	ELOOP: "too many symbolic links",
	ENAMETOOLONG: "the path is too long",
};

export async function readBounded(path: string): Promise<ReadFile> {
	let handle: FileHandle | null = null;
	try {
		// Without O_NONBLOCK, opening a pipe would wait for a writer.
		handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
		return await readHandle(handle);
	} catch (error) {
		const code = String((error as NodeJS.ErrnoException).code);
		const message = MESSAGES[code] ?? `the file cannot be read (${code})`;
		return { ok: false, missing: code === "ENOENT" || code === "ENOTDIR", message };
	} finally {
		await handle?.close();
	}
}

async function readHandle(handle: FileHandle): Promise<ReadFile> {
	const refuse = (message: string): ReadFile => ({ ok: false, missing: false, message });
	const stats = await handle.stat();
	if (stats.isDirectory()) return refuse("the path is a directory, not a file");
	if (!stats.isFile()) return refuse("the path is not a regular file");
	// One byte more than allowed, to detect a larger file.
	const buffer = Buffer.alloc(FILE_BYTES_MAX + 1);
	let length = 0;
	for (;;) {
		const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
		length += bytesRead;
		if (length > FILE_BYTES_MAX) return refuse("the file is larger than 1MiB");
		if (bytesRead === 0) return { ok: true, bytes: buffer.subarray(0, length) };
	}
}

/** A problem with a whole file, or with one line. */
export function problemOf(path: string, message: string, line = 1): readonly Problem[] {
	return problemsOf(path, [finding({ line, column: 1 }, [], { message })]);
}

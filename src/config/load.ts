/**
 * Reads the files of a fleet. The only file in this folder that touches the disk; whatever is wrong
 * with a file comes back as a value.
 *
 * Keeps A6: no more than the allowed size is ever read, and nothing but a regular file, since a pipe
 * or a device may never end.
 */

import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { type EnvFile, parseEnvFile } from "./env-file.js";
import type { Variables } from "./expand.js";
import { type ParsedFleet, parseFleet } from "./parse-fleet.js";
import { type KnownAgents, type ParsedPlan, parsePlan } from "./plan-file.js";
import { finding, type Problem, problemsOf } from "./problem.js";
import { decodeUtf8 } from "./utf8.js";

const FILE_BYTES_MAX = 1_048_576;

/** What a fleet is read with: the environment and the home directory of whoever asks. */
export interface LoadContext {
	readonly env: Variables;
	readonly homeDir: string;
}

export type LoadedFleet =
	| Extract<ParsedFleet, { ok: true }>
	/** `missing` tells a file that is not there from one that is wrong. */
	| { readonly ok: false; readonly missing: boolean; readonly problems: readonly Problem[] };

/** Reads, checks and resolves a fleet file. Messages call it by the path given. */
export async function loadFleet(path: string, context: LoadContext): Promise<LoadedFleet> {
	const file = await readBounded(path);
	if (!file.ok) {
		return { ok: false, missing: file.missing, problems: problemOf(path, file.message) };
	}
	const decoded = decodeUtf8(file.bytes);
	if (!decoded.ok) {
		const problems = problemOf(path, "this line is not valid UTF-8", decoded.line);
		return { ok: false, missing: false, problems };
	}
	const absolute = resolve(path);
	const parsed = parseFleet(decoded.text, path, { ...context, baseDir: dirname(absolute) });
	return parsed.ok ? parsed : { ...parsed, missing: false };
}

/** Reads and checks a plan file. */
export async function loadPlan(
	path: string,
	agents: KnownAgents | null = null,
): Promise<ParsedPlan> {
	const file = await readBounded(path);
	if (!file.ok) return { ok: false, problems: problemOf(path, file.message) };
	const decoded = decodeUtf8(file.bytes);
	if (decoded.ok) return parsePlan(decoded.text, path, agents);
	return { ok: false, problems: problemOf(path, "this line is not valid UTF-8", decoded.line) };
}

/** Reads an agent's env file. One that is missing is empty. */
export async function readEnvFile(path: string): Promise<EnvFile> {
	const file = await readBounded(path);
	if (file.ok) return parseEnvFile(file.bytes, path);
	if (file.missing) return { ok: true, values: {} };
	return { ok: false, problems: problemOf(path, file.message) };
}

type ReadFile =
	| { readonly ok: true; readonly bytes: Uint8Array }
	| { readonly ok: false; readonly missing: boolean; readonly message: string };

const MESSAGES: Readonly<Record<string, string>> = {
	ENOENT: "there is no such file",
	ENOTDIR: "there is no such file",
	EACCES: "permission denied",
	EPERM: "permission denied",
	EISDIR: "this is a directory, not a file",
	ELOOP: "too many symbolic links",
	ENAMETOOLONG: "the path is too long",
};

async function readBounded(path: string): Promise<ReadFile> {
	let handle: FileHandle | null = null;
	try {
		// Without O_NONBLOCK, opening a pipe would wait for somebody to write to it.
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
	if (stats.isDirectory()) return refuse("this is a directory, not a file");
	if (!stats.isFile()) return refuse("this is not a regular file");
	// One byte more than allowed, to see that there is more.
	const buffer = Buffer.alloc(FILE_BYTES_MAX + 1);
	let length = 0;
	for (;;) {
		const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
		length += bytesRead;
		if (length > FILE_BYTES_MAX) return refuse("the file is larger than 1MiB");
		if (bytesRead === 0) return { ok: true, bytes: buffer.subarray(0, length) };
	}
}

function problemOf(path: string, message: string, line = 1): readonly Problem[] {
	return problemsOf(path, [finding({ line, column: 1 }, [], { message })]);
}

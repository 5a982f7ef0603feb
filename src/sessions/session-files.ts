/**
 * The files that a session needs at its start: its own directory with the files of its adapter, an
 * empty directory for temporary files, and settings that its CLI would otherwise ask for.
 *
 * Reeve only adds to files of the user, or replaces a CLI's own note that it has not asked yet, based on their newest content and under the lock that CLIs use
 * as well. An unreadable file is not changed. The previous version is kept as `NAME.previous`.
 */

import { lstat, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fillFirst, fillIn, type LogProfile, type Seed } from "../core/adapter.js";
import { addToJson, hasInJson, type JsonAddition } from "../core/json-edit.js";
import { messageOf } from "../core/message-of.js";
import { replaceFile } from "../home/replace-file.js";
import { readIfExists, updateFile } from "../home/update-file.js";
import type { AgentAdapter } from "../ports/adapter.js";
import { HOOK_SCRIPT } from "./spool.js";

export type Values = Readonly<Record<string, string | undefined>>;

/** The program that hooks use to write records. */
export const hookOf = (folder: string) => join(folder, "hook.sh");

/** Writes Reeve's own files into the agent's folder, as they must be at every start. */
export async function writeOwnFiles(
	folder: string,
	{ profile, programs = [], readRecord }: AgentAdapter,
	values: Values,
): Promise<void> {
	await mkdir(folder, { recursive: true, mode: 0o700 });
	if (readRecord !== undefined) {
		await writeIfChanged(hookOf(folder), await readProgram(HOOK_SCRIPT), 0o700);
	}
	for (const { name, source } of programs) {
		await writeIfChanged(join(folder, name), await readProgram(source), 0o600);
	}
	for (const { name, text } of profile.files) {
		await writeIfChanged(join(folder, name), fillIn(text, values) ?? text, 0o600);
	}
}

const programTexts = new Map<string, string>();

/** Each is read once: an agent must be able to start while the package is being replaced. */
async function readProgram(source: URL): Promise<string> {
	const text = programTexts.get(source.href) ?? (await readFile(source, "utf8"));
	programTexts.set(source.href, text);
	return text;
}

/** A restart mostly finds the files as they are to be, and new files are slow on a file system that has aged. */
async function writeIfChanged(path: string, text: string, mode: number): Promise<void> {
	const there = await lstat(path).catch(() => null);
	const isSound = there?.isFile() === true && (there.mode & 0o777) === mode;
	if (isSound && there.uid === process.getuid?.() && (await readIfExists(path)) === text) return;
	await replaceFile(path, text, { mode, durable: false });
}

/** A folder with nothing in it; links in it are removed, not followed. */
export async function emptyFolder(folder: string): Promise<void> {
	await mkdir(folder, { recursive: true, mode: 0o700 });
	for (const name of await readdir(folder)) {
		await rm(join(folder, name), { recursive: true, force: true });
	}
}

/**
 * Adds the missing settings to the user's files. Returns a message for each file that could not be
 * changed. That does not prevent the start: the CLI then asks, and its dialog is answered.
 */
export async function plantSeeds(
	seeds: readonly Seed[],
	values: Values,
	locks: string,
): Promise<readonly string[]> {
	const problems: string[] = [];
	for (const { file, set } of seeds) {
		const path = fillFirst(file, values);
		if (path === null) continue;
		try {
			await plant(path, set, { values, locks });
		} catch (error) {
			problems.push(`${path} was not changed: ${messageOf(error)}`);
		}
	}
	return problems;
}

/** Whether the user has one of these settings. An unreadable file may have it. */
export async function hasSetting(settings: LogProfile["unless"], values: Values): Promise<boolean> {
	for (const { file, path } of settings) {
		const place = fillFirst(file, values);
		if (place === null) continue;
		try {
			const text = await readIfExists(place);
			if (text !== null && hasInJson(text, path)) return true;
		} catch {
			return true;
		}
	}
	return false;
}

/** A CLI that writes its file in place leaves it empty or truncated for a moment. */
const READ_TRIES = 5;
const READ_AGAIN_MS = 200;

async function plant(
	path: string,
	set: Seed["set"],
	{ values, locks }: { readonly values: Values; readonly locks: string },
): Promise<void> {
	const additions = set.map((addition) => fillAddition(addition, values));
	const change = (text: string | null) => addToJson(text, additions);
	for (let tries = 1; ; tries++) {
		try {
			// Usually nothing is missing, and then no CLI has to wait for the lock.
			if (change(await readIfExists(path)) === null) return;
			await mkdir(dirname(path), { recursive: true, mode: 0o700 });
			return await updateFile(path, change, { locks, keepsPrevious: true, isShared: true });
		} catch (error) {
			if (tries === READ_TRIES) throw error;
			await sleep(READ_AGAIN_MS);
		}
	}
}

function fillAddition(addition: JsonAddition, values: Values): JsonAddition {
	const path = addition.path.map((key) => fillIn(key, values) ?? key);
	return "add" in addition
		? { path, add: fillValue(addition.add, values) }
		: { ...addition, path, value: fillValue(addition.value, values) };
}

/** A value with the placeholders of all its strings replaced. */
function fillValue(value: unknown, values: Values): unknown {
	if (typeof value === "string") return fillIn(value, values) ?? value;
	if (Array.isArray(value)) return value.map((each) => fillValue(each, values));
	if (typeof value !== "object" || value === null) return value;
	const filled = Object.entries(value).map(([key, each]) => [key, fillValue(each, values)]);
	return Object.fromEntries(filled);
}

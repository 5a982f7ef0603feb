/**
 * The files that a session needs when it starts: its own folder with the files of its adapter, an empty folder for
 * temporary files, and settings of its CLI that the CLI would otherwise ask for.
 *
 * Reeve only ever adds to files of the user, from their newest content and under the lock that CLIs take as well. A
 * file that cannot be read is left alone. The version before the change is kept as `NAME.previous`.
 */

import { mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
	type AdapterProfile,
	fillFirst,
	fillIn,
	type LogProfile,
	type Seed,
} from "../core/adapter.js";
import { addToJson, hasInJson, type JsonAddition } from "../core/json-edit.js";
import { replaceFile } from "../home/replace-file.js";
import { readIfThere, updateFile } from "../home/update-file.js";
import { HOOK_SCRIPT } from "./spool.js";

export type Values = Readonly<Record<string, string | undefined>>;

/** The program by which hooks leave records. */
export const hookOf = (folder: string) => join(folder, "hook.sh");

/** Writes the files of Reeve's own into the agent's folder, again at every start. */
export async function writeOwnFiles(
	folder: string,
	{ files }: AdapterProfile,
	values: Values,
): Promise<void> {
	await mkdir(folder, { recursive: true, mode: 0o700 });
	await replaceFile(hookOf(folder), HOOK_SCRIPT, { mode: 0o700, durable: false });
	for (const { name, text } of files) {
		await replaceFile(join(folder, name), fillIn(text, values) ?? text, { durable: false });
	}
}

/** A folder with nothing in it; links in it are removed, not followed. */
export async function emptyFolder(folder: string): Promise<void> {
	await mkdir(folder, { recursive: true, mode: 0o700 });
	for (const name of await readdir(folder)) {
		await rm(join(folder, name), { recursive: true, force: true });
	}
}

/**
 * Adds the missing settings to the user's files. Returns a message for each file that could not be changed, which is
 * no reason not to start: the CLI then asks, and its dialog is answered.
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

/** Whether the user has one of these settings. A file that cannot be read may have it. */
export async function hasSetting(settings: LogProfile["unless"], values: Values): Promise<boolean> {
	for (const { file, path } of settings) {
		const place = fillFirst(file, values);
		if (place === null) continue;
		try {
			const text = await readIfThere(place);
			if (text !== null && hasInJson(text, path)) return true;
		} catch {
			return true;
		}
	}
	return false;
}

/** A CLI that writes its file in place leaves it empty or cut for a moment. */
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
			// Mostly there is nothing to add, and then no CLI has to wait for the lock.
			if (change(await readIfThere(path)) === null) return;
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
		: { path, value: fillValue(addition.value, values) };
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** A value with the placeholders filled in of all texts in it. */
function fillValue(value: unknown, values: Values): unknown {
	if (typeof value === "string") return fillIn(value, values) ?? value;
	if (Array.isArray(value)) return value.map((each) => fillValue(each, values));
	if (typeof value !== "object" || value === null) return value;
	const filled = Object.entries(value).map(([key, each]) => [key, fillValue(each, values)]);
	return Object.fromEntries(filled);
}

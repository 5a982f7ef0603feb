/**
 * What a session finds on the disk when it starts: its own folder, the files of its adapter in it, an
 * empty folder for temporary files, and settings of its CLI that would otherwise be asked for.
 *
 * Files of the user are only ever added to: a key that is there stays as it is, a file that is not
 * JSON is left alone, and what is written is there whole or not at all.
 */

import { lstat, mkdir, readdir, readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type AdapterProfile, fillFirst, fillIn, type Seed } from "../core/adapter.js";

import { HOOK_SCRIPT } from "./spool.js";

export type Values = Readonly<Record<string, string | undefined>>;

/** The program by which hooks leave records. */
export const hookOf = (folder: string) => join(folder, "hook.sh");

/** Writes the files of Reeve's own into the agent's folder. */
export async function writeOwnFiles(
	folder: string,
	{ files }: AdapterProfile,
	values: Values,
): Promise<void> {
	await mkdir(folder, { recursive: true, mode: 0o700 });
	await writeWhole(hookOf(folder), HOOK_SCRIPT, 0o700);
	for (const { name, text } of files) {
		await writeWhole(join(folder, name), fillIn(text, values) ?? text, 0o600);
	}
}

/** A folder with nothing in it; links in it are removed, not followed. */
export async function emptyFolder(folder: string): Promise<void> {
	await mkdir(folder, { recursive: true, mode: 0o700 });
	for (const name of await readdir(folder)) {
		await rm(join(folder, name), { recursive: true, force: true });
	}
}

/** Sets what is missing; says in words what could not be, which is no reason not to start. */
export async function plantSeeds(
	seeds: readonly Seed[],
	values: Values,
): Promise<readonly string[]> {
	const problems: string[] = [];
	for (const { file, set } of seeds) {
		const path = fillFirst(file, values);
		if (path === null) continue;
		try {
			await plant(path, set, values);
		} catch (error) {
			problems.push(`${path}: ${error instanceof Error ? error.message : String(error)}`);
		}
	}
	return problems;
}

async function plant(path: string, set: Seed["set"], values: Values): Promise<void> {
	// Through links: a user who keeps the file elsewhere wants it to stay there.
	const place = await realpath(path).catch(() => path);
	const written = await readFile(place, "utf8").catch(() => null);
	const settings: unknown = written === null || written.trim() === "" ? {} : JSON.parse(written);
	if (!isMap(settings)) throw new Error("is not a map of keys");
	let changed = false;
	for (const { path: keys, value } of set) {
		const filled = keys.map((key) => fillIn(key, values) ?? key);
		if (setMissing(settings, filled, fillValue(value, values))) changed = true;
	}
	if (!changed) return;
	const mode = await lstat(place).then(
		(stats) => stats.mode & 0o777,
		() => 0o600,
	);
	await mkdir(dirname(place), { recursive: true, mode: 0o700 });
	await writeWhole(place, `${JSON.stringify(settings, null, 2)}\n`, mode);
}

type JsonMap = Record<string, unknown>;

const isMap = (value: unknown): value is JsonMap =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/** A value with the placeholders filled in of all texts in it. */
function fillValue(value: unknown, values: Values): unknown {
	if (typeof value === "string") return fillIn(value, values) ?? value;
	if (Array.isArray(value)) return value.map((each) => fillValue(each, values));
	if (!isMap(value)) return value;
	const filled = Object.entries(value).map(([key, each]) => [key, fillValue(each, values)]);
	return Object.fromEntries(filled);
}

/** Whether it was missing. What stands in the way of it is not replaced. */
function setMissing(settings: JsonMap, keys: readonly string[], value: unknown): boolean {
	const [last] = keys.slice(-1);
	if (last === undefined) return false;
	let at = settings;
	for (const key of keys.slice(0, -1)) {
		if (!Object.hasOwn(at, key)) define(at, key, {});
		const next = at[key];
		if (!isMap(next)) return false;
		at = next;
	}
	if (Object.hasOwn(at, last)) return false;
	define(at, last, value);
	return true;
}

/** Also for `__proto__`, which a folder may be called. */
function define(at: JsonMap, key: string, value: unknown): void {
	Object.defineProperty(at, key, { value, enumerable: true, writable: true, configurable: true });
}

async function writeWhole(path: string, text: string, mode: number): Promise<void> {
	const beside = `${path}.reeve-${process.pid}.tmp`;
	try {
		await writeFile(beside, text, { mode });
		await rename(beside, path);
	} catch (error) {
		await rm(beside, { force: true });
		throw error;
	}
}

/** Whether there is a file at this path, in which `*` stands for any one name. */
export async function findFile(path: string): Promise<string | null> {
	const [first = "", ...rest] = path.split("/");
	return walk(first === "" ? "/" : first, rest);
}

async function walk(at: string, steps: readonly string[]): Promise<string | null> {
	const [step, ...rest] = steps;
	if (step === undefined) return at;
	if (!step.includes("*")) {
		const next = join(at, step);
		const there = await lstat(next).catch(() => null);
		return there === null ? null : walk(next, rest);
	}
	const parts = step.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&"));
	const pattern = new RegExp(`^${parts.join(".*")}$`);
	const names = await readdir(at).catch(() => []);
	// Newest names last in most CLIs, so the last match is looked at first.
	for (const name of names.filter((each) => pattern.test(each)).toReversed()) {
		const found = await walk(join(at, name), rest);
		if (found !== null) return found;
	}
	return null;
}

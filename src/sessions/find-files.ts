/** Finds files of CLIs by a path in which `*` matches any part of one name. */

import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { compilePattern } from "../core/pattern.js";

/** All files with this path, sorted by name. */
export async function findFiles(path: string): Promise<readonly string[]> {
	const [first = "", ...rest] = path.split("/");
	return walk(first === "" ? "/" : first, rest);
}

/** The first file and the most recently changed ones, so that a record with very many files is not read completely. */
export async function chooseFiles(
	paths: readonly string[],
	count: number,
): Promise<readonly string[]> {
	if (paths.length <= count) return paths;
	const changed = await Promise.all(
		paths.map(async (path) => ({
			path,
			atMs: (await lstat(path).catch(() => null))?.mtimeMs ?? 0,
		})),
	);
	// Of files that changed at the same time, the one with the later name.
	const newest = changed.toReversed().sort((a, b) => b.atMs - a.atMs);
	const chosen = new Set(newest.slice(0, count - 1).map(({ path }) => path));
	return paths.filter((path, index) => index === 0 || chosen.has(path));
}

async function walk(at: string, steps: readonly string[]): Promise<readonly string[]> {
	const [step, ...rest] = steps;
	if (step === undefined) return [at];
	if (!step.includes("*")) {
		const next = join(at, step);
		const there = await lstat(next).catch(() => null);
		return there === null ? [] : walk(next, rest);
	}
	const parts = step.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&"));
	const pattern = compilePattern(`^${parts.join(".*")}$`);
	const names = await readdir(at).catch(() => []);
	const found: string[] = [];
	for (const name of names.filter((each) => pattern.test(each)).sort()) {
		found.push(...(await walk(join(at, name), rest)));
	}
	return found;
}

/** Plants a bug: a copy of the core with one piece of text replaced, loaded as a module of its own. */

import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Core } from "./worlds.js";

export interface Bug {
	/** A file of src/core. */
	readonly file: string;
	/** Text that stands exactly once in it. */
	readonly find: string;
	readonly replace: string;
}

const SOURCE = fileURLToPath(new URL("../../src/core", import.meta.url));
const HERE = fileURLToPath(new URL("./.planted-", import.meta.url));

/** Gives the core with the bug in it to `use`, and takes the copy away afterwards. */
export async function withBug<T>(bug: Bug, use: (core: Core) => T): Promise<T> {
	const folder = await mkdtemp(HERE);
	try {
		await cp(SOURCE, folder, { recursive: true, filter: (path) => !path.endsWith(".test.ts") });
		const path = `${folder}/${bug.file}`;
		const parts = (await readFile(path, "utf8")).split(bug.find);
		if (parts.length !== 2) {
			throw new Error(`${bug.file} holds the text to replace ${parts.length - 1} times, not once`);
		}
		await writeFile(path, parts.join(bug.replace));
		return use(await loadCore(folder));
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

async function loadCore(folder: string): Promise<Core> {
	const files = ["crash-policy", "breaker", "task", "retry", "plan"];
	const modules = await Promise.all(files.map((file) => import(`${folder}/${file}.ts`)));
	return Object.assign({}, ...modules) as Core;
}

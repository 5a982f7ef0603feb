/** Plants a bug in a copy of the core, loaded as a module of its own. */

import { type Bug as BugIn, withBugIn } from "../support/plant-source.js";
import type { Core } from "./worlds.js";

/** With `file` below src/core. */
export type Bug = BugIn;

/** Gives the core with the bug in it to `use`. */
export function withBug<T>(bug: Bug, use: (core: Core) => T): Promise<T> {
	const inCore = { ...bug, file: `core/${bug.file}` };
	return withBugIn(["core"], inCore, async (folder) => use(await loadCore(`${folder}/core`)));
}

async function loadCore(folder: string): Promise<Core> {
	const files = ["crash-policy", "breaker", "task", "retry", "plan"];
	const modules = await Promise.all(files.map((file) => import(`${folder}/${file}.ts`)));
	return Object.assign({}, ...modules) as Core;
}

/** Plants a bug: a copy of some folders of src/ with one piece of text replaced, to be loaded from there. */

import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

export interface Bug {
	/** Below the copied folders, as `core/breaker.ts`. */
	readonly file: string;
	/** Text that stands exactly once in it. */
	readonly find: string;
	readonly replace: string;
}

const SOURCE = fileURLToPath(new URL("../../src/", import.meta.url));
const HERE = fileURLToPath(new URL("./.planted-", import.meta.url));

/** Gives the folder of the copy to `use`, and takes it away afterwards. */
export async function withBugIn<T>(
	folders: readonly string[],
	bug: Bug,
	use: (folder: string) => Promise<T>,
): Promise<T> {
	const copy = await mkdtemp(HERE);
	try {
		for (const name of folders) {
			const filter = (path: string) => !path.endsWith(".test.ts");
			await cp(`${SOURCE}${name}`, `${copy}/${name}`, { recursive: true, filter });
		}
		const path = `${copy}/${bug.file}`;
		const parts = (await readFile(path, "utf8")).split(bug.find);
		if (parts.length !== 2) {
			throw new Error(`${bug.file} holds the text to replace ${parts.length - 1} times, not once`);
		}
		await writeFile(path, parts.join(bug.replace));
		return await use(copy);
	} finally {
		await rm(copy, { recursive: true, force: true });
	}
}

/** The files that an agent's CLI has open, if the system reports them. */

import { readdir, readlink } from "node:fs/promises";
import type { ProcessIdentity } from "../ports/backend.js";
import { nextProcessTable } from "./process-table.js";
import { watchTree } from "./process-tree.js";

/** By their real paths. Its tools have their own process groups, and their files do not count. */
export async function readOpenFiles(
	runId: string,
	root: ProcessIdentity,
): Promise<readonly string[]> {
	if (process.platform !== "linux") return [];
	const members = watchTree({ runId, root, groups: [] }).members(await nextProcessTable());
	const own = members.find(({ pid }) => pid === root.pid)?.pgid;
	const files = await Promise.all(
		members.filter(({ pgid }) => pgid === own).map(({ pid }) => readFilesOf(pid)),
	);
	return [...new Set(files.flat())];
}

async function readFilesOf(pid: number): Promise<readonly string[]> {
	const folder = `/proc/${pid}/fd`;
	const names = await readdir(folder).catch(() => []);
	const links = await Promise.all(
		names.map((name) => readlink(`${folder}/${name}`).catch(() => "")),
	);
	return links.filter((link) => link.startsWith("/"));
}

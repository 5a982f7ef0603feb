/** The files and sockets that an agent's CLI has open, if the system reports them. */

import { readdir, readlink } from "node:fs/promises";
import type { ProcessIdentity } from "../ports/backend.js";
import { nextProcessTable } from "./process-table.js";
import { watchTree } from "./process-tree.js";

/** By their real paths. */
export async function readOpenFiles(
	runId: string,
	root: ProcessIdentity,
): Promise<readonly string[]> {
	const links = await readOpen(runId, root);
	return [...new Set(links.filter((link) => link.startsWith("/")))];
}

const SOCKET = /^socket:\[(\d+)\]$/;

/** By their inodes. */
export async function readOpenSockets(
	runId: string,
	root: ProcessIdentity,
): Promise<ReadonlySet<string>> {
	const links = await readOpen(runId, root);
	return new Set(links.flatMap((link) => SOCKET.exec(link)?.[1] ?? []));
}

/** Its tools have process groups of their own, and their files are not the CLI's. */
async function readOpen(runId: string, root: ProcessIdentity): Promise<readonly string[]> {
	if (process.platform !== "linux") return [];
	const members = watchTree({ runId, root, groups: [] }).members(await nextProcessTable());
	const own = members.find(({ pid }) => pid === root.pid)?.pgid;
	const links = await Promise.all(
		members.filter(({ pgid }) => pgid === own).map(({ pid }) => readLinksOf(pid)),
	);
	return links.flat();
}

async function readLinksOf(pid: number): Promise<readonly string[]> {
	const folder = `/proc/${pid}/fd`;
	const names = await readdir(folder).catch(() => []);
	return Promise.all(names.map((name) => readlink(`${folder}/${name}`).catch(() => "")));
}

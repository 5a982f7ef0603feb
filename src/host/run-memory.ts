/** The memory of a run's processes. */

import { readFile } from "node:fs/promises";
import type { ProcessIdentity } from "../ports/backend.js";
import { nextProcessTable } from "./process-table.js";
import { watchTree } from "./process-tree.js";

/** In bytes, with shared pages counted once; null where the system does not report it. */
export async function readRunMemory(runId: string, root: ProcessIdentity): Promise<number | null> {
	if (process.platform !== "linux") return null;
	const members = watchTree({ runId, root, groups: [] }).members(await nextProcessTable());
	const sizes = await Promise.all(members.map(({ pid }) => readProportional(pid)));
	const known = sizes.filter((size) => size !== null);
	return known.length === 0 ? null : known.reduce((sum, size) => sum + size, 0);
}

async function readProportional(pid: number): Promise<number | null> {
	const text = await readFile(`/proc/${pid}/smaps_rollup`, "utf8").catch(() => "");
	const kilobytes = /^Pss:\s*(\d+) kB$/m.exec(text)?.[1];
	return kilobytes === undefined ? null : Number(kilobytes) * 1_024;
}

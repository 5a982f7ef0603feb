/** Names and start times of processes that a shim or the starter has listed by pid. */

import { lookUp, type ProcessEntry } from "../../host/process-identity.js";
import { nextProcessTable } from "../../host/process-table.js";
import type { RunProcess } from "../../ports/backend.js";

const toRunProcess = ({ pid, startTime, name }: ProcessEntry): RunProcess => ({
	pid,
	startTime,
	name,
});

async function lookUpAll(pids: readonly number[]): Promise<ProcessEntry[]> {
	if (process.platform === "linux") {
		return pids.flatMap((pid) => {
			const entry = lookUp(pid);
			return typeof entry === "string" ? [] : [entry];
		});
	}
	const { entries } = await nextProcessTable();
	return entries.filter(({ pid }) => pids.includes(pid));
}

/**
 * The live processes. A pid may have been reused since the listing; one whose parent is neither in the
 * list nor `parent` does not belong to the run (S10).
 */
export async function describeTree(
	pids: readonly number[],
	parent: number,
): Promise<readonly RunProcess[]> {
	const parents = new Set([...pids, parent]);
	const entries = await lookUpAll(pids);
	// Without a subreaper, as on macOS, orphans have another parent.
	const isOwn = ({ ppid }: ProcessEntry) => process.platform !== "linux" || parents.has(ppid);
	return entries.filter((entry) => !entry.ended && isOwn(entry)).map(toRunProcess);
}

/** As many as can still be inspected; the others by their pid alone. */
export async function describeEnded(
	pids: readonly number[],
	known: readonly RunProcess[],
): Promise<readonly RunProcess[]> {
	const missing = pids.filter((pid) => !known.some((each) => each.pid === pid));
	const found = new Map((await lookUpAll(missing)).map((entry) => [entry.pid, entry]));
	return pids.map((pid) => {
		const entry = known.find((each) => each.pid === pid) ?? found.get(pid);
		return entry === undefined
			? { pid, startTime: "", name: "" }
			: { pid, startTime: entry.startTime, name: entry.name };
	});
}

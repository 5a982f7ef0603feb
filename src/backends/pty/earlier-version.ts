/**
 * Runs of versions before the shim: one Node process, the holder, owned all terminals and wrote a file
 * per run and per exit. Its terminals cannot be adopted, so a run that is still alive is stopped and
 * started again; a recorded exit is read.
 */

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { RunExit, RunHandle } from "../../ports/backend.js";

export const REPLACED =
	"started by an earlier version of Reeve, whose terminals this version cannot adopt: stopped and started again";

export interface EarlierFiles {
	/** The exit recorded by the holder; null if there is none. */
	exit(runId: string): RunExit | null;
	/** The handle of an unfinished run; null if there is none. */
	handle(runId: string): RunHandle | null;
	/** The exit is stored. */
	forget(runId: string): void;
}

export function createEarlierFiles(folder: string): EarlierFiles {
	const pathOf = (kind: "runs" | "exits", runId: string) => join(folder, kind, `${runId}.json`);
	return {
		exit: (runId) => readJson<{ readonly exit: RunExit }>(pathOf("exits", runId))?.exit ?? null,
		handle: (runId) =>
			readJson<{ readonly handle: RunHandle | null }>(pathOf("runs", runId))?.handle ?? null,
		forget(runId) {
			for (const kind of ["runs", "exits"] as const) rmSync(pathOf(kind, runId), { force: true });
		},
	};
}

/** Null if it is missing or unreadable. */
function readJson<T>(path: string): T | null {
	try {
		return JSON.parse(readFileSync(path, "utf8")) as T;
	} catch {
		return null;
	}
}

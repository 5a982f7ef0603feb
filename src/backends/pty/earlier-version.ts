/**
 * Runs that a version before the shim has started: one Node process, the holder, had all terminals and wrote a file per run
 * and per exit. No other process can take over its terminals, so a run that is still alive is ended and started again; an exit
 * that it has recorded is read as it is.
 */

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { RunExit, RunHandle } from "../../ports/backend.js";

export const REPLACED =
	"started by an earlier version of Reeve, whose terminals this version cannot adopt: stopped and started again";

export interface EarlierFiles {
	/** The exit that the holder has recorded; null when there is none. */
	exit(runId: string): RunExit | null;
	/** The handle of a run that had not ended; null when there is none. */
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

/** Null when there is none, or none that can be read. */
function readJson<T>(path: string): T | null {
	try {
		return JSON.parse(readFileSync(path, "utf8")) as T;
	} catch {
		return null;
	}
}

/**
 * A file that exists while a daemon runs. A clean exit removes it, so a file found at startup means
 * that a daemon died without a report, for example by `kill -9` or out of memory.
 */

import { rmSync } from "node:fs";
import type { CrashCause } from "../../home/crash-reports.js";
import { readJsonFile } from "../../home/numbered-files.js";
import { replaceFileSync } from "../../home/replace-file.js";
import { readBootId } from "../../host/process-identity.js";
import { readLastLines } from "./crash-file.js";

export interface Marker {
	readonly pid: number;
	readonly version: string;
	readonly startedAt: string;
	readonly bootId: string;
}

/** Writes a new marker, and returns the one that was left behind; null if there is none. */
export function putMarker(path: string, own: Omit<Marker, "bootId">): Marker | null {
	const left = readJsonFile<Marker>(path);
	try {
		replaceFileSync(path, JSON.stringify({ ...own, bootId: readBootId() }));
	} catch {
		// A full disk must not prevent the daemon from supervising.
	}
	return left;
}

export function removeMarker(path: string): void {
	try {
		rmSync(path, { force: true });
	} catch {}
}

/** Whether the whole host went down, which is not a crash of the daemon. */
export function hostRestarted({ bootId }: Marker): boolean {
	return bootId !== readBootId();
}

/** The cause of death from the end of the log; Node itself prints it when it runs out of memory. */
export function causeOf(daemonLog: string): {
	readonly cause: CrashCause;
	readonly message: string;
} {
	const words = readLastLines(daemonLog).findLast((line) =>
		/FATAL ERROR|out of memory/i.test(line),
	);
	if (words !== undefined && /heap|memory/i.test(words)) {
		return { cause: "out_of_memory", message: words };
	}
	return {
		cause: "killed",
		message:
			words ??
			"the daemon was killed without a log entry: by SIGKILL, possibly by the kernel when memory ran out (check `dmesg`)",
	};
}

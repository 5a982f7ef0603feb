/**
 * A file that is there while a daemon runs. Whoever ends in order takes it away; so one that is found at
 * the start tells of a daemon that died without a word, be it by `kill -9` or for want of memory.
 */

import { readFileSync, rmSync } from "node:fs";
import type { CrashCause } from "../../home/crash-reports.js";
import { replaceFileSync } from "../../home/replace-file.js";
import { readBootId } from "../../host/process-identity.js";
import { readLastLines } from "./crash-file.js";

export interface Marker {
	readonly pid: number;
	readonly version: string;
	readonly startedAt: string;
	readonly bootId: string;
}

/** Puts up our own marker, and gives the one that was left; null when there is none. */
export function putMarker(path: string, own: Omit<Marker, "bootId">): Marker | null {
	const left = readMarker(path);
	try {
		replaceFileSync(path, JSON.stringify({ ...own, bootId: readBootId() }));
	} catch {
		// A disk that is full must not keep the daemon from its agents.
	}
	return left;
}

export function removeMarker(path: string): void {
	try {
		rmSync(path, { force: true });
	} catch {}
}

/** Whether the whole host went down, which is no fault of the daemon. */
export function hostRestarted({ bootId }: Marker): boolean {
	return bootId !== readBootId();
}

/** What the last words in the log say of the death; Node itself prints them when its memory is used up. */
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

function readMarker(path: string): Marker | null {
	try {
		return JSON.parse(readFileSync(path, "utf8")) as Marker;
	} catch {
		return null;
	}
}

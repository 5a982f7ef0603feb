/**
 * Crash reports of this home's daemons: one JSON file each, the newest few. Written by the daemon (or
 * by the next one, if it could not report its own death), read by `reeve doctor`.
 */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Home } from "./paths.js";

export type CrashCause =
	| "uncaught_exception"
	| "unhandled_rejection"
	/** A critical service stopped, or one used up its restarts. */
	| "service_failed"
	| "blocked_event_loop"
	| "out_of_memory"
	/** It disappeared without a report: `kill -9`, out of memory, a crash of Node itself. */
	| "killed";

export interface CrashReport {
	/** When it was reported; for a death detected later, when it was detected. */
	readonly at: string;
	readonly cause: CrashCause;
	readonly message: string;
	readonly stack: string | null;
	readonly pid: number;
	/** Null if it was not observed. */
	readonly uptime_ms: number | null;
	readonly started_at: string;
	readonly versions: { readonly reeve: string; readonly node: string; readonly platform: string };
	readonly services: readonly {
		readonly name: string;
		readonly state: string;
		readonly ready: boolean;
		readonly restarts: number;
		readonly reason: string | null;
	}[];
	/** The last events, without their data. */
	readonly events: readonly CrashEvent[];
	/** The end of the daemon's log. */
	readonly log: readonly string[];
}

export interface CrashEvent {
	readonly seq: number;
	readonly at: string;
	readonly type: string;
	readonly agent?: string;
}

export interface StoredCrashReport {
	readonly path: string;
	readonly report: CrashReport;
}

/** Reports of this home, newest first. Unreadable files are skipped. */
export async function readCrashReports({
	crashes,
}: Pick<Home, "crashes">): Promise<readonly StoredCrashReport[]> {
	const names = await readdir(crashes).catch(() => []);
	const newestFirst = names
		.filter((name) => /^crash-.*\.json$/.test(name))
		.sort()
		.reverse();
	const reports = await Promise.all(
		newestFirst.map(async (name) => {
			const path = join(crashes, name);
			try {
				return [{ path, report: JSON.parse(await readFile(path, "utf8")) as CrashReport }];
			} catch {
				return [];
			}
		}),
	);
	return reports.flat();
}

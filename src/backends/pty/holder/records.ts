/**
 * What outlives the holder: which runs it is about to start or has started (`runs/`), and how those that ended did
 * (`exits/`). An exit is on the disk before anybody hears of it (S8). Exits are kept until the client
 * says that it has them, at most `EXITS_MAX` and for `EXIT_AGE_MS_MAX`.
 */

import {
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { writeDurably } from "../../../host/durable-file.js";
import type { RunExit, RunHandle } from "../../../ports/backend.js";

const EXITS_MAX = 10_000;
const EXIT_AGE_MS_MAX = 30 * 24 * 60 * 60 * 1_000;

/** A run that is about to be started, or was. */
export interface RunRecord {
	readonly runId: string;
	/** Null before the start. */
	readonly handle: RunHandle | null;
	/** Whether it lives in a terminal, which it loses with the holder. */
	readonly terminal: boolean;
	readonly logDir: string;
}

export interface ExitRecord {
	readonly exit: RunExit;
	readonly handle: RunHandle;
}

export interface Records {
	putRun(record: RunRecord): void;
	removeRun(runId: string): void;
	readRun(runId: string): RunRecord | null;
	listRuns(): RunRecord[];
	/** Resolves when it is safe on the disk; the run's own record is then gone. */
	putExit(record: ExitRecord): Promise<void>;
	readExit(runId: string): ExitRecord | null;
	forget(runId: string): void;
	/** Removes exits that nobody has asked for in a long time. */
	prune(): void;
}

/** Run ids become file names. */
export const isRunId = (text: string) => /^[A-Za-z0-9][\w.-]{0,127}$/.test(text);

export function createRecords(folder: string): Records {
	const folderOf = { runs: join(folder, "runs"), exits: join(folder, "exits") };
	for (const path of Object.values(folderOf)) mkdirSync(path, { recursive: true, mode: 0o700 });
	const pathOf = (kind: keyof typeof folderOf, runId: string) =>
		join(folderOf[kind], `${runId}.json`);

	return {
		putRun(record) {
			const path = pathOf("runs", record.runId);
			// Not forced to the disk: what takes the disk's memory away takes the process as well.
			writeFileSync(`${path}.tmp`, JSON.stringify(record), { mode: 0o600 });
			renameSync(`${path}.tmp`, path);
		},
		removeRun: (runId) => rmSync(pathOf("runs", runId), { force: true }),
		readRun: (runId) => readJson<RunRecord>(pathOf("runs", runId)),
		listRuns: () => listJson(folderOf.runs).flatMap((path) => readJson<RunRecord>(path) ?? []),
		async putExit(record) {
			await writeDurably(pathOf("exits", record.exit.runId), JSON.stringify(record));
			rmSync(pathOf("runs", record.exit.runId), { force: true });
		},
		readExit: (runId) => readJson<ExitRecord>(pathOf("exits", runId)),
		forget(runId) {
			rmSync(pathOf("exits", runId), { force: true });
		},
		prune() {
			const files = listJson(folderOf.exits)
				.flatMap((path) => {
					const found = statSync(path, { throwIfNoEntry: false });
					return found === undefined ? [] : [{ path, atMs: found.mtimeMs }];
				})
				.sort((a, b) => b.atMs - a.atMs);
			const oldestMs = Date.now() - EXIT_AGE_MS_MAX;
			for (const [place, { path, atMs }] of files.entries()) {
				if (place >= EXITS_MAX || atMs < oldestMs) rmSync(path, { force: true });
			}
		},
	};
}

function listJson(folder: string): string[] {
	return readdirSync(folder)
		.filter((name) => name.endsWith(".json"))
		.map((name) => join(folder, name));
}

/** Null when there is none, or none that can be read. */
function readJson<T>(path: string): T | null {
	try {
		return JSON.parse(readFileSync(path, "utf8")) as T;
	} catch {
		return null;
	}
}

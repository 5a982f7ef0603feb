/** Stores on real files, once for each SQLite that this Node can load. */

import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { Store } from "../../src/ports/store.js";
import { type Database, type DriverName, loadDriver } from "../../src/store/sqlite/driver.js";
import { openDatabase } from "../../src/store/sqlite/open-database.js";
import {
	createSqliteStore,
	openStore,
	type StoreOptions,
} from "../../src/store/sqlite/open-store.js";
import { temporaryFolder } from "../support/reeve.js";

export const DRIVERS: readonly DriverName[] =
	(await loadDriver()).name === "node:sqlite"
		? ["node:sqlite", "@photostructure/sqlite"]
		: ["@photostructure/sqlite"];

export const newPath = (): string => join(temporaryFolder(), "reeve.db");

/** Opens a store that must open, and closes it after the test. */
export async function open(path: string, options: StoreOptions = {}): Promise<Store> {
	const opened = await openStore(path, options);
	if (!opened.ok) throw new Error(`${opened.reason} / ${opened.hint}`);
	onTestFinished(() => opened.store.close());
	return opened.store;
}

/** Opens a store together with the connection that it writes through, to put obstacles in its way. */
export async function openWithConnection(
	path: string,
	{
		faults = { untilFailure: 0, happened: 0 },
		...options
	}: StoreOptions & { faults?: Faults } = {},
): Promise<{ store: Store; database: Database; statements: string[] }> {
	const opened = openDatabase(path, await loadDriver(options.driver), 0);
	if (!opened.ok) throw new Error(opened.reason);
	const statements: string[] = [];
	const store = createSqliteStore(
		{ ...opened, database: spy(opened.database, statements, faults) },
		options,
	);
	onTestFinished(() => store.close());
	return { store, database: opened.database, statements };
}

/** The disk fails at one statement: the first is number 1, 0 is none. */
export interface Faults {
	untilFailure: number;
	happened: number;
}

/** Records each statement, and fails where requested. */
function spy(database: Database, statements: string[], faults: Faults): Database {
	const beforeEach = (sql: string) => {
		statements.push(sql);
		faults.untilFailure -= 1;
		if (faults.untilFailure !== 0) return;
		faults.happened += 1;
		throw Object.assign(new Error("disk I/O error"), { code: "ERR_SQLITE_ERROR", errcode: 10 });
	};
	return {
		exec: (sql) => {
			// Rolling back is how the store gets out of a failure.
			if (sql !== "ROLLBACK") beforeEach(sql);
			database.exec(sql);
		},
		prepare(sql) {
			const statement = database.prepare(sql);
			return {
				get: (...values) => statement.get(...values),
				all: (...values) => statement.all(...values),
				run(...values) {
					beforeEach(sql);
					return statement.run(...values);
				},
			};
		},
		readValue: (query) => database.readValue(query),
		close: () => database.close(),
	};
}

/** A connection of another program to the same file. */
export async function connect(path: string, driver?: DriverName): Promise<Database> {
	const database = (await loadDriver(driver)).open(path, { readOnly: false });
	onTestFinished(() => {
		try {
			database.close();
		} catch {}
	});
	return database;
}

/** The numbers that events made by `eventWith` carry, in the order of the sequence. */
export function numbersIn(store: Store): number[] {
	const events = store.readEvents({ afterSeq: 0, limit: 1e6 });
	expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
	expect(store.lastSeq()).toBe(events.length);
	return events.map((event) => (event.type === "agent.started" ? (event.data.pid ?? -1) : -1));
}

export const range = (count: number): number[] =>
	Array.from({ length: count }, (_, index) => index);

/** Lets the given time pass. */
export const wait = (ms: number): Promise<void> =>
	new Promise((resolve) => {
		setTimeout(resolve, ms);
	});

/** Waits until this holds. */
export async function until(holds: () => boolean, withinMs = 5_000): Promise<void> {
	const startedMs = performance.now();
	while (!holds()) {
		if (performance.now() - startedMs > withinMs) throw new Error(`never: ${holds}`);
		await wait(2);
	}
}

/** A disk of its own for this test, or why there can be none. */
export function mountDisk(
	sizeKib: number,
): { folder: string; remount(options: string): void } | string {
	if (process.platform !== "linux" || process.getuid?.() !== 0) return "only root can mount a disk";
	const folder = mkdtempSync(join(tmpdir(), "reeve-disk-"));
	const mount = (...args: string[]) => spawnSync("mount", args, { encoding: "utf8" });
	const mounted = mount("-t", "tmpfs", "-o", `size=${sizeKib}k,mode=0700`, "reeve-test", folder);
	onTestFinished(() => {
		// Lazily: a test that failed may have left a store open on it.
		if (mounted.status === 0) spawnSync("umount", ["-l", folder]);
		rmSync(folder, { recursive: true, force: true });
	});
	if (mounted.status !== 0) return `no disk can be mounted here: ${mounted.stderr}`;
	return {
		folder,
		remount(options) {
			const { status, stderr } = mount("-o", `remount,${options}`, folder);
			if (status !== 0) throw new Error(stderr);
		},
	};
}

/** Writes until the disk takes no more. */
export function fill(path: string): void {
	const file = openSync(path, "w");
	try {
		for (let size = 65_536; size >= 1; size = Math.floor(size / 2)) {
			for (;;) {
				try {
					if (writeSync(file, Buffer.alloc(size)) < size) break;
				} catch {
					break;
				}
			}
		}
	} finally {
		closeSync(file);
	}
}

/**
 * Opens the database file and migrates it. Problems are returned as values; a damaged, foreign or newer
 * file is not changed, since it may be repairable.
 */

import { messageOf } from "../../core/message-of.js";
import { prepareFile, type Refusal, refusal, watchFiles } from "./database-file.js";
import type { Database, Driver } from "./driver.js";
import { isDamage, obstacleOf } from "./failure.js";
import {
	APPLICATION_ID,
	MIGRATIONS,
	migrate,
	readPragma,
	readVersion,
	versionAfter,
} from "./migrations.js";

export interface OpenDatabase {
	readonly database: Database;
	/** Why nothing may be written to the files now; null if they are in place. */
	readonly findObstacle: () => string | null;
}

export type DatabaseResult = ({ readonly ok: true } & OpenDatabase) | Refusal;

/** Waiting for a lock blocks the whole process, so it is short; the store retries by itself. */
const BUSY_TIMEOUT_MS = 50;
const LOG_BYTES_KEPT_MAX = 16 * 1_048_576;

const SETTINGS = [
	// A commit is on the disk when it returns (T4), also on macOS, where fsync alone does not guarantee that.
	"PRAGMA synchronous = FULL",
	"PRAGMA fullfsync = ON",
	"PRAGMA foreign_keys = ON",
	"PRAGMA trusted_schema = OFF",
	`PRAGMA journal_size_limit = ${LOG_BYTES_KEPT_MAX}`,
];

/**
 * `program` is the version of Reeve that opens it, stored for the error message of an older version.
 */
export function openDatabase(
	path: string,
	driver: Driver,
	nowMs: number,
	program: string | null = null,
): DatabaseResult {
	const refused = prepareFile(path) ?? inspectFile(path, driver, { program });
	if (refused !== null) return refused;
	let database: Database | null = null;
	try {
		database = connect(path, driver, false);
		database.exec("PRAGMA journal_mode = WAL");
		const mode = readPragma(database, "journal_mode");
		if (mode !== "wal")
			throw new Error(`the file system does not support a write-ahead log, only ${String(mode)}`);
		for (const setting of SETTINGS) database.exec(setting);
		migrate(database, nowMs);
		if (program !== null) rememberProgram(database, program);
		// The log exists after the first read.
		readVersion(database);
		return { ok: true, database, findObstacle: watchFiles(path) };
	} catch (error) {
		database?.close();
		return refuse(path, error);
	}
}

function connect(path: string, driver: Driver, readOnly: boolean): Database {
	const database = driver.open(path, { readOnly });
	database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
	return database;
}

/**
 * Checks that the file belongs to Reeve and is valid. Read-only, because a connection with write access
 * merges the log into the file when it closes, and a rejected file must not change.
 */
export function inspectFile(
	path: string,
	driver: Driver,
	{
		readsThrough = true,
		program = null,
	}: { readonly readsThrough?: boolean; readonly program?: string | null } = {},
): Refusal | null {
	let database: Database | null = null;
	try {
		database = connect(path, driver, true);
		const refused = refuseByOrigin(path, database, program);
		return refused ?? (readsThrough ? refuseByCheck(path, database) : null);
	} catch (error) {
		return refuse(path, error);
	} finally {
		database?.close();
	}
}

function refuseByOrigin(path: string, database: Database, program: string | null): Refusal | null {
	const version = readVersion(database);
	const isOurs = readPragma(database, "application_id") === APPLICATION_ID;
	const isNew = version === 0 && readPragma(database, "schema_version") === 0;
	if (!isOurs && !isNew) {
		return refusal(
			`${path} is a database of another program`,
			"Nothing was changed. Move it, or use another path for Reeve's database.",
		);
	}
	const known = versionAfter(MIGRATIONS);
	if (version > known) {
		return refuseNewer(path, { version, known, writer: readProgram(database), program });
	}
	return null;
}

function refuseNewer(
	path: string,
	facts: { version: number; known: number; writer: string | null; program: string | null },
): Refusal {
	const { version, known, writer, program } = facts;
	const newer = writer === null ? "a newer Reeve" : `Reeve ${writer}`;
	const older = program === null ? "this one" : `and this is Reeve ${program}, which`;
	const install = `npm install -g reeve@${writer ?? "latest"}`;
	return refusal(
		`${path} was written by ${newer}: its schema version is ${version}, ${older} supports ${known}.`,
		`Nothing was changed. Use ${newer} again (${install}), or move the file to start with an empty database.`,
	);
}

/** The version of Reeve that last wrote to it; null if unknown. */
function readProgram(database: Database): string | null {
	try {
		return String(database.readValue("SELECT value FROM meta WHERE key = 'program'") ?? "") || null;
	} catch {
		return null;
	}
}

function rememberProgram(database: Database, program: string): void {
	if (readProgram(database) === program) return;
	database.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('program', ?)").run(program);
}

function refuseByCheck(path: string, database: Database): Refusal | null {
	const found = readPragma(database, "quick_check");
	return found === "ok" ? null : damaged(path, String(found));
}

function refuse(path: string, error: unknown): Refusal {
	if (isDamage(error)) return damaged(path, messageOf(error));
	const reason = obstacleOf(error) ?? messageOf(error);
	return refusal(
		`cannot open ${path}: ${reason}`,
		"Check the disk, and whether another program has the file open. No data was lost.",
	);
}

export function damaged(path: string, detail: string): Refusal {
	const [first = "", ...more] = detail
		.split("\n")
		.map((line) => line.trim())
		.filter((line) => line !== "" && !line.startsWith("***"));
	const rest = more.length === 0 ? "" : ` (and ${more.length} more)`;
	return refusal(
		`${path} is damaged or not a database: ${first || detail}${rest}`,
		`It was not changed. Move it together with ${path}-wal and ${path}-shm to start with an empty database, or repair a copy (\`sqlite3 copy.db .recover\`).`,
	);
}

/**
 * The schema, as numbered migrations. Each step is one transaction that also updates `user_version`, so
 * an interrupted step has no effect and runs again at the next start.
 *
 * Keeps A2: migrations are restartable. The tables enforce A3: the database rejects changes that would
 * leave a gap in the events, or modify one.
 */

import type { Database } from "./driver.js";

/** Identifies a file of Reeve: "Reev" in ASCII. */
export const APPLICATION_ID = 0x52656576;

export interface Migration {
	readonly version: number;
	readonly sql: string;
}

/**
 * Columns contain the searched and sorted fields; `record` contains the whole object as JSON (one of
 * the drivers truncates text at a NUL, which an agent's last output may contain).
 */
export const MIGRATIONS: readonly Migration[] = [
	{
		version: 1,
		sql: `
			CREATE TABLE meta (
				key TEXT PRIMARY KEY,
				value TEXT NOT NULL
			) STRICT, WITHOUT ROWID;

			CREATE TABLE agents (
				id TEXT PRIMARY KEY,
				fleet_file TEXT NOT NULL,
				position INTEGER NOT NULL,
				record TEXT NOT NULL
			) STRICT;

			CREATE TABLE runs (
				number INTEGER PRIMARY KEY,
				run_id TEXT NOT NULL UNIQUE,
				agent_id TEXT NOT NULL,
				state TEXT NOT NULL CHECK (state IN ('intended', 'running', 'ended')),
				record TEXT NOT NULL
			) STRICT;
			CREATE INDEX runs_open ON runs (number) WHERE state <> 'ended';

			CREATE TABLE exits (
				number INTEGER PRIMARY KEY,
				run_id TEXT NOT NULL UNIQUE REFERENCES runs (run_id),
				agent_id TEXT NOT NULL,
				record TEXT NOT NULL
			) STRICT;
			CREATE INDEX exits_by_agent ON exits (agent_id, number);

			CREATE TABLE effects (
				key TEXT PRIMARY KEY,
				due_at_ms REAL NOT NULL,
				record TEXT NOT NULL
			) STRICT;

			CREATE TABLE events (
				seq INTEGER PRIMARY KEY,
				at_ms REAL NOT NULL,
				type TEXT NOT NULL,
				agent TEXT,
				record TEXT NOT NULL
			) STRICT;
			CREATE INDEX events_by_agent ON events (agent, seq) WHERE agent IS NOT NULL;

			CREATE TRIGGER events_without_gap BEFORE INSERT ON events
			WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM events)
			BEGIN SELECT raise(ABORT, 'an event must take the next number'); END;

			CREATE TRIGGER events_never_change BEFORE UPDATE ON events
			BEGIN SELECT raise(ABORT, 'events are never changed'); END;

			CREATE TRIGGER events_never_go BEFORE DELETE ON events
			BEGIN SELECT raise(ABORT, 'events are never removed'); END;
		`,
	},
	{
		version: 2,
		sql: `
			CREATE TABLE tasks (
				number INTEGER PRIMARY KEY,
				task_id TEXT NOT NULL UNIQUE,
				plan_id TEXT NOT NULL,
				agent_id TEXT NOT NULL,
				status TEXT NOT NULL,
				-- A dead letter of which nothing has become yet.
				open_letter INTEGER NOT NULL,
				created_at_ms REAL NOT NULL,
				idempotency_key TEXT UNIQUE,
				record TEXT NOT NULL
			) STRICT;
			CREATE INDEX tasks_by_plan ON tasks (plan_id, number);
			CREATE INDEX tasks_by_agent ON tasks (agent_id, number);
			CREATE INDEX tasks_open ON tasks (number)
				WHERE status NOT IN ('succeeded', 'dead_lettered', 'cancelled');
			CREATE INDEX tasks_open_letters ON tasks (number) WHERE open_letter = 1;

			CREATE TABLE task_inputs (
				task_id TEXT PRIMARY KEY,
				record TEXT NOT NULL
			) STRICT, WITHOUT ROWID;

			CREATE TABLE task_results (
				task_id TEXT PRIMARY KEY,
				record TEXT NOT NULL
			) STRICT, WITHOUT ROWID;

			CREATE TABLE attempts (
				task_id TEXT NOT NULL,
				n INTEGER NOT NULL,
				record TEXT NOT NULL,
				PRIMARY KEY (task_id, n)
			) STRICT, WITHOUT ROWID;

			CREATE TABLE plans (
				number INTEGER PRIMARY KEY,
				plan_id TEXT NOT NULL UNIQUE,
				status TEXT NOT NULL,
				created_at_ms REAL NOT NULL,
				idempotency_key TEXT UNIQUE,
				record TEXT NOT NULL
			) STRICT;
			CREATE INDEX plans_open ON plans (number)
				WHERE status NOT IN ('succeeded', 'failed', 'cancelled');

			CREATE TABLE breakers (
				agent_id TEXT PRIMARY KEY,
				record TEXT NOT NULL
			) STRICT, WITHOUT ROWID;

			-- Whatever the program believes, an end is final (T2).
			CREATE TRIGGER tasks_end_once BEFORE UPDATE OF status ON tasks
			WHEN OLD.status IN ('succeeded', 'dead_lettered', 'cancelled') AND NEW.status <> OLD.status
			BEGIN SELECT raise(ABORT, 'a task that has ended stays so'); END;
		`,
	},
	{
		version: 3,
		// History is limited: the oldest events may be removed in order, but never the newest.
		sql: `
			DROP TRIGGER events_never_go;
			CREATE TRIGGER events_go_oldest_first BEFORE DELETE ON events
			WHEN OLD.seq IS NOT (SELECT min(seq) FROM events) OR OLD.seq IS (SELECT max(seq) FROM events)
			BEGIN SELECT raise(ABORT, 'only the oldest events are removed, and never the newest'); END;
		`,
	},
	{
		version: 4,
		// A requested exit has a plain name. Events keep what was reported at their time.
		sql: `
			UPDATE exits SET record = replace(record, '"cause":"killed_by_us"', '"cause":"requested"')
			WHERE record LIKE '%"cause":"killed_by_us"%';
		`,
	},
	{
		version: 5,
		// State that is never due has tables of its own. Effects are what is left: planned starts and notifications.
		sql: `
			CREATE TABLE messages (
				message_id TEXT PRIMARY KEY,
				agent_id TEXT NOT NULL,
				record TEXT NOT NULL
			) STRICT;
			CREATE TABLE questions (
				agent_id TEXT PRIMARY KEY,
				record TEXT NOT NULL
			) STRICT;
			CREATE TABLE screen_questions (
				agent_id TEXT PRIMARY KEY,
				record TEXT NOT NULL
			) STRICT;
			CREATE TABLE finished_turns (
				agent_id TEXT PRIMARY KEY,
				record TEXT NOT NULL
			) STRICT;
			CREATE TABLE accounts (
				account TEXT PRIMARY KEY,
				record TEXT NOT NULL
			) STRICT;
			CREATE TABLE usage (
				agent_id TEXT PRIMARY KEY,
				record TEXT NOT NULL
			) STRICT;
			CREATE TABLE cursors (
				reader TEXT PRIMARY KEY,
				seq INTEGER NOT NULL
			) STRICT;
			ALTER TABLE effects ADD COLUMN type TEXT NOT NULL DEFAULT '';
			UPDATE effects SET type = coalesce(json_extract(record, '$.type'), '');

			INSERT INTO messages SELECT
				json_extract(record, '$.payload.id'),
				json_extract(record, '$.payload.agentId'),
				json_extract(record, '$.payload')
			FROM effects WHERE type = 'inbox';
			INSERT INTO questions SELECT
				json_extract(record, '$.payload.agent'), json_extract(record, '$.payload')
			FROM effects WHERE type = 'question';
			INSERT INTO accounts SELECT
				json_extract(record, '$.payload.account'), json_extract(record, '$.payload')
			FROM effects WHERE type = 'account';
			INSERT INTO usage SELECT
				json_extract(record, '$.payload.agentId'), json_extract(record, '$.payload')
			FROM effects WHERE type = 'usage';
			INSERT INTO cursors SELECT 'notify', json_extract(record, '$.payload.seq')
			FROM effects WHERE type = 'cursor';
			DELETE FROM effects WHERE type NOT IN ('start', 'notification');
		`,
	},
	{
		version: 6,
		sql: `
			CREATE TABLE schedules (
				id TEXT PRIMARY KEY,
				fleet_file TEXT NOT NULL,
				position INTEGER NOT NULL,
				record TEXT NOT NULL
			) STRICT;
			CREATE TABLE slots (
				number INTEGER PRIMARY KEY,
				slot_id TEXT NOT NULL UNIQUE,
				schedule TEXT NOT NULL,
				status TEXT NOT NULL,
				decided_at_ms REAL NOT NULL,
				record TEXT NOT NULL
			) STRICT;
			CREATE INDEX slots_by_schedule ON slots (schedule, number);
			CREATE INDEX slots_open ON slots (number) WHERE status IN ('queued', 'fired');

			-- Whatever the program believes, the outcome of a slot is final.
			CREATE TRIGGER slots_end_once BEFORE UPDATE OF status ON slots
			WHEN OLD.status NOT IN ('queued', 'fired') AND NEW.status <> OLD.status
			BEGIN SELECT raise(ABORT, 'a slot that has ended stays so'); END;
		`,
	},
	{
		version: 7,
		sql: `
			-- The values of environments are stored by revision from here on: an older version would not
			-- find them, and would start agents without them.
		`,
	},
];

export function readPragma(database: Database, name: string): unknown {
	return database.readValue(`SELECT ${name} FROM pragma_${name} LIMIT 1`);
}

export function readVersion(database: Database): number {
	return Number(readPragma(database, "user_version"));
}

/** The version that these migrations lead to. */
export function versionAfter(migrations: readonly Migration[]): number {
	return migrations.at(-1)?.version ?? 0;
}

/** Runs the missing steps, one transaction each. Throws if one fails. */
export function migrate(
	database: Database,
	nowMs: number,
	migrations: readonly Migration[] = MIGRATIONS,
): void {
	for (const migration of migrations) {
		if (readVersion(database) < migration.version) {
			takeStep(database, migration, nowMs);
		}
	}
}

function takeStep(database: Database, { version, sql }: Migration, nowMs: number): void {
	database.exec("BEGIN IMMEDIATE");
	try {
		// Checked again under the lock: another program may have run this step.
		if (readVersion(database) < version) {
			database.exec(sql);
			const at = new Date(nowMs).toISOString();
			database.exec(`INSERT INTO meta (key, value) VALUES ('migrated_to_${version}_at', '${at}')`);
			database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
			database.exec(`PRAGMA user_version = ${version}`);
		}
		database.exec("COMMIT");
	} catch (error) {
		rollBack(database);
		throw error;
	}
}

/** Rolls back the open transaction. There may be none: some errors end it. */
export function rollBack(database: Database): void {
	try {
		database.exec("ROLLBACK");
	} catch {}
}

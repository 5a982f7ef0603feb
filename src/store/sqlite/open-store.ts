/**
 * The SQLite store: opens the file, reads from it, and writes through the queue. The file is the only state that
 * outlives the daemon, so it is never replaced, and never shared with other users.
 *
 * Keeps A1: after a crash, the stored state is a prefix of the commits that contains all acknowledged ones.
 */

import type { Message } from "../../core/inbox.js";
import { messageOf } from "../../core/message-of.js";
import type {
	AgentStateReads,
	StoredAccount,
	StoredFinishedTurn,
	StoredQuestion,
	StoredScreenQuestion,
	StoredUsage,
} from "../../ports/agent-store.js";
import type { ScheduleReads, StoredSchedule, StoredSlot } from "../../ports/schedule-store.js";
import type {
	EarlierEventQuery,
	EffectOf,
	EffectPayloads,
	EventQuery,
	NumberedExit,
	Store,
	StoredAgent,
	StoredExit,
	StoredRun,
} from "../../ports/store.js";
import {
	CommitQueue,
	createPublisher,
	DEFAULT_LIMITS,
	type QueueLimits,
	warnOfListener,
} from "./commit-queue.js";
import { type Refusal, refusal } from "./database-file.js";
import { type Database, type DriverName, loadDriver, type Row } from "./driver.js";

import { damaged, type OpenDatabase, openDatabase } from "./open-database.js";
import { decodeEvent, decodeRecord, rowLimit } from "./records.js";
import { createPruner } from "./retention.js";
import { createTaskReads } from "./task-reads.js";
import { BatchWriter } from "./writer.js";

export interface StoreOptions {
	/** Wall time, used only for the history of migrations. */
	readonly now?: () => number;
	/** Handles exceptions of listeners; by default the process emits a warning. */
	readonly onListenerError?: (error: unknown) => void;
	/** Instead of the best available one. */
	readonly driver?: DriverName;
	readonly limits?: Partial<QueueLimits>;
	/** The version of Reeve that opens it, stored for the error message of an older version. */
	readonly program?: string;
}

export type OpenedStore = { readonly ok: true; readonly store: Store } | Refusal;

/** Opens or creates the database at this path; its directory must exist. Never throws. */
export async function openStore(path: string, options: StoreOptions = {}): Promise<OpenedStore> {
	const { now = Date.now } = options;
	const driver = await loadDriver(options.driver).catch(messageOf);
	if (typeof driver === "string") {
		return refusal(
			`SQLite is not available: ${driver}`,
			"Use Node 22.13 or newer, or reinstall Reeve on this platform.",
		);
	}
	const opened = openDatabase(path, driver, now(), options.program ?? null);
	if (!opened.ok) return opened;
	try {
		return { ok: true, store: createSqliteStore(opened, options) };
	} catch (error) {
		// Its version is current, but its tables do not match the statements.
		opened.database.close();
		return damaged(path, messageOf(error));
	}
}

/** The store over an open, migrated database. Closing the store closes the database. */
export function createSqliteStore(
	{ database, findObstacle }: OpenDatabase,
	{ onListenerError = warnOfListener, limits = {} }: StoreOptions = {},
): Store {
	const writer = new BatchWriter(database, findObstacle);
	const publisher = createPublisher(onListenerError);
	const queue = new CommitQueue(writer, publisher.publish, { ...DEFAULT_LIMITS, ...limits });
	let closing: Promise<void> | null = null;
	return {
		...createReads(database),
		...createTaskReads(database),
		...createPruner(
			database,
			() => writer.lastSeq(),
			(change) => queue.commit(change),
		),
		lastSeq: () => writer.lastSeq(),
		commit: (change, request) => queue.commit(change, request),
		accept: (act) => queue.accept(act),
		acceptWithRequest: (act) => queue.acceptWithRequest(act),
		detach: (act) => queue.detach(act),
		onCommit: (listener) => publisher.add(listener),
		health: () => queue.health,
		close() {
			closing ??= queue.drain().then(() => closeDatabase(database));
			return closing;
		},
	};
}

/** Merges the log into the file; if that fails, the next open does it. */
function closeDatabase(database: Database): void {
	try {
		database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
	} catch {}
	database.close();
}

type Reads = Pick<
	Store,
	| "readAgents"
	| "readOpenRuns"
	| "readExits"
	| "readExitsBefore"
	| "readEffects"
	| "readCursor"
	| "readEvents"
	| "readEventsBefore"
> &
	AgentStateReads &
	ScheduleReads;

function createReads(database: Database): Reads {
	const agents = database.prepare("SELECT record FROM agents ORDER BY fleet_file, position, id");
	const runs = database.prepare("SELECT record FROM runs WHERE state <> 'ended' ORDER BY number");
	// In the order of recording: the wall clock may have been set back in between.
	const exits = database.prepare(
		"SELECT record FROM exits WHERE agent_id = ? ORDER BY number DESC LIMIT ?",
	);
	const exitsBefore = database.prepare(
		"SELECT number, record FROM exits WHERE agent_id = ? AND number < ? ORDER BY number DESC LIMIT ?",
	);
	const effects = database.prepare(
		"SELECT record FROM effects WHERE type = ? ORDER BY due_at_ms, key",
	);
	const cursors = database.prepare("SELECT seq FROM cursors WHERE reader = ?");
	const rows = <T>(table: string, key: string) => {
		const all = database.prepare(`SELECT record FROM ${table} ORDER BY ${key}`);
		return () => all.all().map((row) => decodeRecord<T>(row));
	};
	const openSlots = database.prepare(
		"SELECT record FROM slots WHERE status IN ('queued', 'fired') ORDER BY number",
	);
	const slots = database.prepare(
		"SELECT record FROM slots WHERE schedule = ? ORDER BY number DESC LIMIT ?",
	);
	const events = database.prepare(
		"SELECT seq, at_ms, record FROM events WHERE seq > ? ORDER BY seq LIMIT ?",
	);
	const eventsOfAgent = database.prepare(
		"SELECT seq, at_ms, record FROM events WHERE agent = ? AND seq > ? ORDER BY seq LIMIT ?",
	);
	const typed = "seq > ? AND type IN (SELECT value FROM json_each(?)) ORDER BY seq LIMIT ?";
	const eventsOfTypes = database.prepare(`SELECT seq, at_ms, record FROM events WHERE ${typed}`);
	const eventsOfAgentAndTypes = database.prepare(
		`SELECT seq, at_ms, record FROM events WHERE agent = ? AND ${typed}`,
	);
	const earlier = database.prepare(
		"SELECT seq, at_ms, record FROM events WHERE seq < ? ORDER BY seq DESC LIMIT ?",
	);
	const earlierOfAgent = database.prepare(
		"SELECT seq, at_ms, record FROM events WHERE agent = ? AND seq < ? ORDER BY seq DESC LIMIT ?",
	);
	const read = ({ afterSeq, limit, agent, types }: EventQuery): readonly Row[] => {
		const rows = rowLimit(limit);
		if (types !== undefined) {
			const list = JSON.stringify(types);
			return agent === undefined
				? eventsOfTypes.all(afterSeq, list, rows)
				: eventsOfAgentAndTypes.all(agent, afterSeq, list, rows);
		}
		return agent === undefined
			? events.all(afterSeq, rows)
			: eventsOfAgent.all(agent, afterSeq, rows);
	};
	return {
		readAgents: () => agents.all().map((row) => decodeRecord<StoredAgent>(row)),
		readOpenRuns: () => runs.all().map((row) => decodeRecord<StoredRun>(row)),
		readExits: (agentId, limit) =>
			exits.all(agentId, rowLimit(limit)).map((row) => decodeRecord<StoredExit>(row)),
		readEffects: <Type extends keyof EffectPayloads>(type: Type) =>
			effects.all(type).map((row) => decodeRecord<EffectOf<Type>>(row)),
		readCursor(reader) {
			const [row] = cursors.all(reader);
			return row === undefined ? null : Number(row["seq"]);
		},
		readMessages: rows<Message>("messages", "message_id"),
		readQuestions: rows<StoredQuestion>("questions", "agent_id"),
		readScreenQuestions: rows<StoredScreenQuestion>("screen_questions", "agent_id"),
		readFinishedTurns: rows<StoredFinishedTurn>("finished_turns", "agent_id"),
		readAccounts: rows<StoredAccount>("accounts", "account"),
		readUsage: rows<StoredUsage>("usage", "agent_id"),
		readSchedules: rows<StoredSchedule>("schedules", "fleet_file, position, id"),
		readOpenSlots: () => openSlots.all().map((row) => decodeRecord<StoredSlot>(row)),
		readSlots: (schedule, limit) =>
			slots.all(schedule, rowLimit(limit)).map((row) => decodeRecord<StoredSlot>(row)),
		readEvents: (query) => read(query).map(decodeEvent),
		readEventsBefore: ({ beforeSeq, limit, agent }: EarlierEventQuery) =>
			(agent === undefined
				? earlier.all(beforeSeq, rowLimit(limit))
				: earlierOfAgent.all(agent, beforeSeq, rowLimit(limit))
			).map(decodeEvent),
		readExitsBefore: (agentId, before, limit) =>
			exitsBefore.all(agentId, before, rowLimit(limit)).map(
				(row): NumberedExit => ({
					number: Number(row["number"]),
					exit: decodeRecord<StoredExit>(row),
				}),
			),
	};
}

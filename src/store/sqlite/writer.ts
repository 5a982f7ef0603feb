/**
 * Writes one batch of changes as one transaction. A change that fails is excluded alone, and its events get no number:
 * if a part of it was already written, the batch is written again without it, which is rare and cheaper than a
 * savepoint for every change. An obstacle rolls the whole batch back, in the database and in memory, for a retry.
 *
 * Keeps A3: numbers are assigned inside the transaction, after the highest stored one. Keeps A1: memory never contains
 * a change that was rolled back.
 */

import type { ReeveEvent } from "../../core/events.js";
import { messageOf } from "../../core/message-of.js";
import type { Database, Statement } from "./driver.js";
import { obstacleOf } from "./failure.js";
import { rollBack } from "./migrations.js";
import {
	createRecorder,
	type EventValues,
	type Operation,
	type SqliteTransaction,
	WRITES,
} from "./operations.js";
import { decodeEvent } from "./records.js";

export interface PendingChange {
	readonly change: (transaction: SqliteTransaction) => unknown;
	/** Its result after it ran; null before that, and again after it was undone in memory. */
	outcome: ChangeOutcome | null;
}

export type ChangeOutcome =
	| {
			readonly ok: true;
			readonly result: unknown;
			readonly operations: readonly Operation[];
			/** How to undo its changes in memory, in the order of the changes. */
			readonly undo: readonly (() => void)[];
	  }
	| { readonly ok: false; readonly error: unknown };

export type BatchResult =
	| { readonly ok: true; readonly events: readonly ReeveEvent[] }
	| { readonly ok: false; readonly reason: string };

/** Nothing can be written now. Aborts the batch, not only the current change. */
class Obstacle extends Error {
	override readonly name = "Obstacle";
}

/** A change failed after a part of it was written. The batch restarts without it. */
class HalfWritten extends Error {
	override readonly name = "HalfWritten";
	readonly pending: PendingChange;

	constructor(pending: PendingChange, cause: unknown) {
		super("a change failed halfway", { cause });
		this.pending = pending;
	}
}

const CONTROL = { begin: "BEGIN IMMEDIATE", commit: "COMMIT" } as const;

export class BatchWriter {
	readonly #database: Database;
	readonly #findObstacle: () => string | null;
	readonly #control: Readonly<Record<keyof typeof CONTROL, Statement>>;
	readonly #writes: Readonly<Record<keyof typeof WRITES, Statement>>;
	readonly #appendEvent: Statement;
	readonly #lastSeq: Statement;
	/** Of the current transaction. */
	#events: ReeveEvent[] = [];
	#seq = 0;

	constructor(database: Database, findObstacle: () => string | null) {
		this.#database = database;
		this.#findObstacle = findObstacle;
		this.#control = prepareAll(database, CONTROL);
		this.#writes = prepareAll(database, WRITES);
		this.#appendEvent = database.prepare(
			"INSERT INTO events (seq, at_ms, type, agent, record) VALUES (?, ?, ?, ?, ?)",
		);
		this.#lastSeq = database.prepare("SELECT coalesce(max(seq), 0) AS seq FROM events");
	}

	/** Runs pending changes and makes the whole batch durable, or leaves no trace of it. */
	write(batch: readonly PendingChange[]): BatchResult {
		for (;;) {
			try {
				this.#begin();
				for (const pending of batch) this.#writeOne(pending);
				this.#step("commit");
				return { ok: true, events: this.#events };
			} catch (error) {
				rollBack(this.#database);
				undoAll(batch);
				if (error instanceof HalfWritten) {
					// The others are written again without it.
					error.pending.outcome = { ok: false, error: error.cause };
					continue;
				}
				// Errors outside of a change are not the caller's fault and may be temporary.
				const reason = error instanceof Obstacle ? error.message : messageOf(error);
				return { ok: false, reason };
			}
		}
	}

	/** The number of the newest event, 0 if there is none. */
	lastSeq(): number {
		return Number(this.#lastSeq.get()?.["seq"]);
	}

	#begin(): void {
		const obstacle = this.#findObstacle();
		if (obstacle !== null) throw new Obstacle(obstacle);
		this.#step("begin");
		this.#events = [];
		this.#seq = this.lastSeq();
	}

	/** Writes the operations of a change after it has finished. */
	#writeOne(pending: PendingChange): void {
		pending.outcome ??= runChange(pending.change);
		if (!pending.outcome.ok) return;
		let written = 0;
		try {
			for (const operation of pending.outcome.operations) {
				this.#perform(operation);
				written += 1;
			}
		} catch (error) {
			if (error instanceof Obstacle) throw error;
			if (written > 0) throw new HalfWritten(pending, error);
			undoAll([pending]);
			pending.outcome = { ok: false, error };
		}
	}

	#perform(operation: Operation): void {
		try {
			if (operation.write === "appendEvent") this.#append(operation.event);
			else this.#writes[operation.write].run(...operation.values);
		} catch (error) {
			throw asObstacle(error) ?? error;
		}
	}

	#append(event: EventValues): void {
		const seq = this.#seq + 1;
		this.#appendEvent.run(seq, event.atMs, event.type, event.agent, event.record);
		this.#seq = seq;
		this.#events.push(decodeEvent({ seq, at_ms: event.atMs, record: event.record }));
	}

	#step(name: keyof typeof CONTROL): void {
		try {
			this.#control[name].run();
		} catch (error) {
			throw asObstacle(error) ?? error;
		}
	}
}

/**
 * Restores memory, newest change first. Nothing else has run since, so the saved values are correct. A
 * change's recorded operations are kept if they depend on nothing that was undone.
 */
function undoAll(batch: readonly PendingChange[]): void {
	for (const pending of batch.toReversed()) {
		if (!pending.outcome?.ok || pending.outcome.undo.length === 0) continue;
		for (const undo of pending.outcome.undo.toReversed()) undo();
		pending.outcome = null;
	}
}

/** Runs a change, which only records its operations and does not see their effects. */
function runChange(change: PendingChange["change"]): ChangeOutcome {
	const operations: Operation[] = [];
	const undo: (() => void)[] = [];
	let ended = false;
	const note = <T>(list: T[]) => {
		return (item: T) => {
			if (ended) throw new Error("the transaction has ended: a change must be synchronous");
			list.push(item);
		};
	};
	const transaction = createRecorder(note(operations), note(undo));
	try {
		const result = change(transaction);
		if (isThenable(result)) throw new TypeError("a change must be synchronous");
		return { ok: true, result, operations, undo };
	} catch (error) {
		for (const restore of undo.toReversed()) restore();
		return { ok: false, error };
	} finally {
		ended = true;
	}
}

function prepareAll<Name extends string>(
	database: Database,
	sql: Readonly<Record<Name, string>>,
): Readonly<Record<Name, Statement>> {
	const names = Object.keys(sql) as Name[];
	const prepared = names.map((name) => [name, database.prepare(sql[name])]);
	return Object.fromEntries(prepared) as Record<Name, Statement>;
}

function asObstacle(error: unknown): Obstacle | null {
	const reason = obstacleOf(error);
	return reason === null ? null : new Obstacle(reason, { cause: error });
}

function isThenable(value: unknown): boolean {
	return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}

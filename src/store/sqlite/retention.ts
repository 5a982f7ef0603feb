/**
 * Removes expired history, with a bounded number of rows per transaction, so that nothing else waits
 * for long. Open runs and the newest event stay (A3).
 */

import { decideEventCut, type Retention } from "../../core/retention.js";
import type { Pruned } from "../../ports/store.js";
import type { Database } from "./driver.js";
import type { SqliteTransaction } from "./operations.js";

const ROWS_PER_COMMIT = 1_000;

const OLD_EXITS = `
	SELECT number FROM (
		SELECT number, agent_id, json_extract(record, '$.atMs') AS at_ms,
			row_number() OVER (PARTITION BY agent_id ORDER BY number DESC) AS place
		FROM exits
	) WHERE place > ? OR (at_ms < ? AND (place > ? OR agent_id NOT IN (SELECT id FROM agents)))
	LIMIT ${ROWS_PER_COMMIT}`;

/** A run is kept as long as its exit; one that never started has none. */
const OLD_RUNS = `
	SELECT number FROM runs
	WHERE state = 'ended' AND NOT EXISTS (SELECT 1 FROM exits WHERE exits.run_id = runs.run_id)
	LIMIT ${ROWS_PER_COMMIT}`;

/** Finished tasks, except those that an open plan may still use and open dead letters. */
const OLD_TASKS = `
	SELECT task_id FROM tasks
	WHERE status IN ('succeeded', 'dead_lettered', 'cancelled') AND open_letter = 0
		AND plan_id NOT IN (
			SELECT plan_id FROM plans WHERE status NOT IN ('succeeded', 'failed', 'cancelled')
		)
		AND (
			number <= (SELECT max(number) FROM tasks) - ?
			OR (created_at_ms < ? AND number <= (SELECT max(number) FROM tasks) - ?)
		)
	LIMIT ${ROWS_PER_COMMIT}`;

/** A plan is kept as long as any of its tasks. */
const OLD_PLANS = `
	SELECT plan_id FROM plans
	WHERE status IN ('succeeded', 'failed', 'cancelled')
		AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.plan_id = plans.plan_id)
	LIMIT ${ROWS_PER_COMMIT}`;

const OLD_SLOTS = `
	SELECT number FROM (
		SELECT number, status, decided_at_ms,
			row_number() OVER (PARTITION BY schedule ORDER BY number DESC) AS place
		FROM slots
	) WHERE status NOT IN ('queued', 'fired') AND (place > ? OR (decided_at_ms < ? AND place > ?))
	LIMIT ${ROWS_PER_COMMIT}`;

export interface Pruner {
	firstSeq(): number;
	seqAt(atMs: number): number;
	prune(retention: Retention, nowMs: number): Promise<Pruned>;
}

export function createPruner(
	database: Database,
	lastSeq: () => number,
	commit: (change: (transaction: SqliteTransaction) => void) => Promise<void>,
): Pruner {
	const first = database.prepare("SELECT min(seq) AS seq FROM events");
	const young = database.prepare("SELECT min(seq) AS seq FROM events WHERE at_ms >= ?");
	const timeOf = database.prepare("SELECT at_ms FROM events WHERE seq = ?");
	const exits = database.prepare(OLD_EXITS);
	const runs = database.prepare(OLD_RUNS);
	const tasks = database.prepare(OLD_TASKS);
	const plans = database.prepare(OLD_PLANS);
	const slots = database.prepare(OLD_SLOTS);
	const firstSeq = () => Number(first.get()?.["seq"] ?? 0) || lastSeq() + 1;

	/** Numbers have no gaps, so the time of any of them can be looked up. */
	function seqAt(atMs: number): number {
		let [low, high] = [firstSeq(), lastSeq() + 1];
		while (low < high) {
			const middle = Math.floor((low + high) / 2);
			if (Number(timeOf.get(middle)?.["at_ms"] ?? 0) < atMs) low = middle + 1;
			else high = middle;
		}
		return low;
	}

	async function pruneEvents(retention: Retention, oldestMs: number): Promise<number> {
		const youngSeq = (young.get(oldestMs)?.["seq"] ?? null) as number | null;
		const cut = decideEventCut({ lastSeq: lastSeq(), youngSeq }, retention);
		const from = firstSeq();
		for (let at = from; at <= cut; at += ROWS_PER_COMMIT) {
			await commit((transaction) =>
				transaction.removeEventsThrough(Math.min(cut, at + ROWS_PER_COMMIT - 1)),
			);
		}
		return Math.max(0, cut - from + 1);
	}

	/** Repeats until nothing is found. */
	async function pruneRows<Key>(
		find: () => readonly Key[],
		remove: (transaction: SqliteTransaction, keys: readonly Key[]) => void,
	): Promise<number> {
		for (let count = 0; ; ) {
			const keys = find();
			if (keys.length === 0) return count;
			await commit((transaction) => remove(transaction, keys));
			count += keys.length;
		}
	}

	return {
		firstSeq,
		seqAt,
		async prune(retention, nowMs) {
			const oldestMs = nowMs - retention.ageMsMax;
			const { exitsMax, exitsMin, tasksMax, tasksMin, slotsMax, slotsMin } = retention;
			return {
				events: await pruneEvents(retention, oldestMs),
				exits: await pruneRows(
					() => numbersOf(exits.all(exitsMax, oldestMs, exitsMin)),
					(transaction, numbers) => transaction.removeExits(numbers),
				),
				runs: await pruneRows(
					() => numbersOf(runs.all()),
					(transaction, numbers) => transaction.removeRuns(numbers),
				),
				tasks: await pruneRows(
					() => tasks.all(tasksMax, oldestMs, tasksMin).map((row) => String(row["task_id"])),
					(transaction, ids) => transaction.removeTasks(ids),
				),
				plans: await pruneRows(
					() => plans.all().map((row) => String(row["plan_id"])),
					(transaction, ids) => transaction.removePlans(ids),
				),
				slots: await pruneRows(
					() => numbersOf(slots.all(slotsMax, oldestMs, slotsMin)),
					(transaction, numbers) => transaction.removeSlots(numbers),
				),
			};
		},
	};
}

function numbersOf(rows: readonly Readonly<Record<string, unknown>>[]): readonly number[] {
	return rows.map((row) => Number(row["number"]));
}

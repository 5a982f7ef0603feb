/**
 * Removes history that is not kept any more, a bounded number of rows in a transaction, so that nothing
 * else waits for long. What is open stays: runs that have not ended, and the newest event (A3).
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

/** A run is kept as long as its exit; one that never began has none. */
const OLD_RUNS = `
	SELECT number FROM runs
	WHERE state = 'ended' AND NOT EXISTS (SELECT 1 FROM exits WHERE exits.run_id = runs.run_id)
	LIMIT ${ROWS_PER_COMMIT}`;

export interface Pruner {
	firstSeq(): number;
	prune(retention: Retention, nowMs: number): Promise<Pruned>;
}

export function createPruner(
	database: Database,
	lastSeq: () => number,
	commit: (change: (transaction: SqliteTransaction) => void) => Promise<void>,
): Pruner {
	const first = database.prepare("SELECT min(seq) AS seq FROM events");
	const young = database.prepare("SELECT min(seq) AS seq FROM events WHERE at_ms >= ?");
	const exits = database.prepare(OLD_EXITS);
	const runs = database.prepare(OLD_RUNS);
	const firstSeq = () => Number(first.get()?.["seq"] ?? 0) || lastSeq() + 1;

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

	/** Until nothing is found any more. */
	async function pruneRows(
		find: () => readonly number[],
		remove: (transaction: SqliteTransaction, numbers: readonly number[]) => void,
	): Promise<number> {
		for (let count = 0; ; ) {
			const numbers = find();
			if (numbers.length === 0) return count;
			await commit((transaction) => remove(transaction, numbers));
			count += numbers.length;
		}
	}

	return {
		firstSeq,
		async prune(retention, nowMs) {
			const oldestMs = nowMs - retention.ageMsMax;
			const { exitsMax, exitsMin } = retention;
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
			};
		},
	};
}

function numbersOf(rows: readonly Readonly<Record<string, unknown>>[]): readonly number[] {
	return rows.map((row) => Number(row["number"]));
}

/** The tasks that the hosts of a cluster share, on PostgreSQL. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Pool, QueryConfig } from "pg";
import { SILENT_AFTER_MS } from "../../core/cluster.js";
import { ReeveError } from "../../core/errors.js";
import type { TaskStatus } from "../../core/task.js";
import type { ChangedShared, SharedTasksDatabase } from "../../ports/shared-tasks.js";
import type {
	StoredAttempt,
	StoredTask,
	TaskCountQuery,
	TaskQuery,
} from "../../ports/task-store.js";
import { ChangeBatches } from "./change-batches.js";
import { explainFailure } from "./connect.js";
import type { DbosQueues } from "./dbos-queues.js";
import { COLUMNS, detailOf, sharedOf } from "./task-rows.js";

/** One host at a time looks for lost work. */
const SWEEP_LOCK = 7_237_311_005;
/** A sweep takes on this many tasks at once. */
const LOST_MAX = 500;
/** A request fails after it. */
const ANSWER_MS_MAX = 5_000;
const EVENTS_MAX = 1_000;
const PRUNED_MAX = 1_000;
const IS_ALIVE = `h.seen_at > clock_timestamp() - make_interval(secs => ${SILENT_AFTER_MS / 1_000})`;
const IS_LOST = `NOT EXISTS (SELECT FROM reeve.hosts h WHERE h.home = t.home AND ${IS_ALIVE})`;

export function createSharedTasks(pool: Pool, queues: DbosQueues): SharedTasksDatabase {
	const batches = new ChangeBatches(pool, queues);
	const rethrow = (error: unknown): never => {
		throw explainFailure(error);
	};
	const query = async (text: string, values: readonly unknown[]) => {
		const bounded = { text, values: [...values], query_timeout: ANSWER_MS_MAX } as QueryConfig;
		return (await pool.query(bounded).catch(rethrow)).rows;
	};
	const attemptsOf = async (ids: readonly string[]) => {
		const found = new Map<string, StoredAttempt[]>();
		const rows = await query(
			"SELECT task_id, record FROM reeve.attempts WHERE task_id = ANY ($1) ORDER BY task_id, n",
			[ids],
		);
		for (const { task_id: id, record } of rows) {
			found.set(id, [...(found.get(id) ?? []), JSON.parse(record)]);
		}
		return (id: string) => found.get(id) ?? [];
	};
	return {
		prepare: ({ boot }) => queues.prepare(boot).catch(rethrow),
		async accept(member, task) {
			const accepted = batches.apply(member, { type: "accept", task }).catch(rethrow);
			return (await Promise.race([accepted, noAnswer()])) as StoredTask | null;
		},
		change: async (member, taskId, decide, { withInput } = { withInput: false }) =>
			(await batches
				.apply(member, { type: "change", taskId, decide, withInput })
				.catch(rethrow)) as ChangedShared | null,
		changeCircuit: async (member, agentId, decide) =>
			(await batches.apply(member, { type: "circuit", agentId, decide }).catch(rethrow)) as never,
		async read(taskId) {
			const [row] = await query(
				`SELECT ${COLUMNS}, input, result FROM reeve.tasks WHERE task_id = $1`,
				[taskId],
			);
			return row === undefined ? null : detailOf(row, (await attemptsOf([taskId]))(taskId));
		},
		async list(wanted, agents) {
			const { text, values } = conditionsOf(wanted, agents);
			const rows = await query(
				`SELECT ${COLUMNS}, NULL AS input, NULL AS result FROM reeve.tasks WHERE ${text}
					ORDER BY task_id DESC LIMIT ${Math.floor(wanted.limit)}`,
				values,
			);
			const attempts = await attemptsOf(rows.map(({ task_id: id }) => id));
			return rows.map((row) => detailOf(row, attempts(row.task_id)));
		},
		async count(wanted, agents) {
			const { text, values } = conditionsOf(wanted, agents);
			const rows = await query(
				`SELECT status, count(*)::int AS count FROM reeve.tasks WHERE ${text} GROUP BY status`,
				values,
			);
			return Object.fromEntries(
				rows.map(({ status, count }) => [status as TaskStatus, Number(count)]),
			);
		},
		countLetters: (agents) =>
			query(
				`SELECT agent AS "agentId", count(*)::int AS count, min(created_at_ms) AS "sinceMs" FROM reeve.tasks
					WHERE open_letter AND agent = ANY ($1) GROUP BY agent`,
				[agents],
			),
		readCircuits: (agents) =>
			query(`SELECT agent AS "agentId", state FROM reeve.circuits WHERE agent = ANY ($1)`, [
				agents,
			]),
		async ended(ids) {
			const rows = await query(
				`SELECT n.id FROM unnest($1::text[]) AS n (id) LEFT JOIN reeve.tasks t ON t.task_id = n.id
					WHERE t.ended_at_ms IS NOT NULL OR t.task_id IS NULL`,
				[ids],
			);
			return rows.map(({ id }) => id);
		},
		async runningOf(home) {
			const rows = await query(
				`SELECT ${COLUMNS} FROM reeve.tasks WHERE home = $1 AND boot IS NOT NULL`,
				[home],
			);
			return rows.map(sharedOf);
		},
		async lost() {
			const rows = await query(
				`SELECT ${COLUMNS} FROM reeve.tasks t WHERE boot IS NOT NULL AND ${IS_LOST} LIMIT ${LOST_MAX}`,
				[],
			);
			return rows.map(sharedOf);
		},
		async stranded() {
			const taken = await queues.taken(null).catch(rethrow);
			if (taken.length === 0) return [];
			const rows = await query(`SELECT boot FROM reeve.hosts h WHERE ${IS_ALIVE}`, []);
			const alive = new Set(rows.map(({ boot }) => boot));
			return taken.filter(({ boot }) => !alive.has(boot));
		},
		takenBy: (boot) => queues.taken(boot).catch(rethrow),
		discard: (entries) => queues.discard(entries).catch(rethrow),
		async exclusively(work) {
			const client = await pool.connect().catch(rethrow);
			let failed: Error | undefined;
			try {
				const { rows } = await client.query("SELECT pg_try_advisory_lock($1) AS mine", [
					SWEEP_LOCK,
				]);
				if (rows[0]?.mine !== true) return false;
				await work();
				await client.query("SELECT pg_advisory_unlock($1)", [SWEEP_LOCK]);
				return true;
			} catch (error) {
				// Closing the connection releases the lock.
				failed = error as Error;
				return rethrow(error);
			} finally {
				client.release(failed);
			}
		},
		async eventsAfter(home, seq) {
			const rows = await query(
				`SELECT seq::float8 AS seq, at_ms, event FROM reeve.task_events
					WHERE home = $1 AND seq > $2 ORDER BY seq LIMIT ${EVENTS_MAX}`,
				[home, seq],
			);
			return rows.map(({ seq: number, at_ms: atMs, event }) => ({
				...{ seq: number, atMs },
				event: JSON.parse(event),
			}));
		},
		onEvents: (listener) => batches.onEvents(listener),
		async prune(endedBeforeMs, leftBeforeMs) {
			const rows = await query(
				`WITH gone AS (
						SELECT task_id FROM reeve.tasks WHERE ended_at_ms < $1 AND NOT open_letter
							ORDER BY ended_at_ms LIMIT ${PRUNED_MAX}
					), others AS (
						DELETE FROM reeve.task_events WHERE task_id IS NULL AND at_ms < $1
					), events AS (
						DELETE FROM reeve.task_events e USING gone g WHERE e.task_id = g.task_id
					)
					DELETE FROM reeve.tasks t USING gone g WHERE t.task_id = g.task_id RETURNING t.task_id`,
				[endedBeforeMs],
			);
			return rows.length + (await queues.prune(leftBeforeMs).catch(rethrow));
		},
		serve: ({ boot }, agents, run, signal) =>
			queues.serve(boot, agents, run, signal).catch(rethrow),
	};
}

/** Its client must not wait for a database that hangs. */
async function noAnswer(): Promise<never> {
	await sleep(ANSWER_MS_MAX, undefined, { ref: false });
	throw new ReeveError(
		"cluster_unavailable",
		`the database did not answer within ${ANSWER_MS_MAX / 1_000} s; the task may have been accepted`,
		"Repeat the request with the same idempotency key.",
	);
}

function conditionsOf(
	query: Omit<TaskQuery, "limit"> | TaskCountQuery,
	agents: readonly string[],
): { readonly text: string; readonly values: readonly unknown[] } {
	const values: unknown[] = [];
	const place = (value: unknown) => `$${values.push(value)}`;
	const { before, part, agent, within, status, plan, sinceMs, openLetters } = query as TaskQuery;
	const conditions = [`agent = ANY (${place(agents)})`];
	if (before !== undefined) conditions.push(`task_id < ${place(before)}`);
	if (part !== undefined) {
		conditions.push(`(starts_with(task_id, ${place(part)}) OR task_id LIKE ${place(`%${part}`)})`);
	}
	if (agent !== undefined) conditions.push(`agent = ${place(agent)}`);
	if (within !== undefined) {
		const name = place(within);
		conditions.push(`${name} IN (agent, split_part(agent, ':', 1))`);
	}
	if (status !== undefined) conditions.push(`status = ${place(status)}`);
	if (plan !== undefined) conditions.push(`plan_id = ${place(plan)}`);
	if (sinceMs !== undefined) conditions.push(`created_at_ms >= ${place(sinceMs)}`);
	if (openLetters !== undefined) conditions.push("open_letter");
	return { text: conditions.join(" AND "), values };
}

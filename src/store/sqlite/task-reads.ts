/** Reads of calls: tasks, attempts, plans and circuits. */

import type { TaskStatus } from "../../core/task.js";
import type {
	PlanQuery,
	StoredAttempt,
	StoredBreaker,
	StoredPlan,
	StoredTask,
	TaskInput,
	TaskQuery,
	TaskReads,
} from "../../ports/task-store.js";
import type { Database, SqlValue, Statement } from "./driver.js";
import { decodeRecord, rowLimit } from "./records.js";

export function createTaskReads(database: Database): TaskReads {
	const one = <T>(statement: Statement, key: string): T | null => {
		const row = statement.get(key);
		return row === undefined ? null : decodeRecord<T>(row);
	};
	const sql = {
		openTasks: database.prepare(
			"SELECT record FROM tasks WHERE status NOT IN ('succeeded', 'dead_lettered', 'cancelled') ORDER BY number",
		),
		task: database.prepare("SELECT record FROM tasks WHERE task_id = ?"),
		input: database.prepare("SELECT record FROM task_inputs WHERE task_id = ?"),
		result: database.prepare("SELECT record FROM task_results WHERE task_id = ?"),
		attempts: database.prepare("SELECT record FROM attempts WHERE task_id = ? ORDER BY n"),
		taskOfKey: database.prepare("SELECT record FROM tasks WHERE idempotency_key = ?"),
		plan: database.prepare("SELECT record FROM plans WHERE plan_id = ?"),
		planOfKey: database.prepare("SELECT record FROM plans WHERE idempotency_key = ?"),
		openPlans: database.prepare(
			"SELECT record FROM plans WHERE status NOT IN ('succeeded', 'failed', 'cancelled') ORDER BY number",
		),
		letters: database.prepare(
			"SELECT agent_id AS agentId, count(*) AS count, min(created_at_ms) AS sinceMs FROM tasks WHERE open_letter = 1 GROUP BY agent_id",
		),
		breakers: database.prepare("SELECT record FROM breakers ORDER BY agent_id"),
	};
	const search = createSearch(database);
	const count = createCount(database);
	return {
		readOpenTasks: () => sql.openTasks.all().map((row) => decodeRecord<StoredTask>(row)),
		readTask: (taskId) => one<StoredTask>(sql.task, taskId),
		readTasks: (query) => search<StoredTask>("tasks", "task_id", query, taskConditions(query)),
		countTasks: (query) => count(taskConditions(query)),
		countLetters: () =>
			sql.letters.all().map(({ agentId, count, sinceMs }) => ({
				...{ agentId: String(agentId), count: Number(count), sinceMs: Number(sinceMs) },
			})),
		readTaskInput: (taskId) => one<TaskInput>(sql.input, taskId),
		readTaskResult: (taskId) => {
			const row = sql.result.get(taskId);
			return row === undefined ? undefined : decodeRecord<unknown>(row);
		},
		readAttempts: (taskId) =>
			sql.attempts.all(taskId).map((row) => decodeRecord<StoredAttempt>(row)),
		findTask: (key) => one<StoredTask>(sql.taskOfKey, key),
		readPlan: (planId) => one<StoredPlan>(sql.plan, planId),
		readOpenPlans: () => sql.openPlans.all().map((row) => decodeRecord<StoredPlan>(row)),
		readPlans: (query) => search<StoredPlan>("plans", "plan_id", query, planConditions(query)),
		findPlan: (key) => one<StoredPlan>(sql.planOfKey, key),
		readBreakers: () => sql.breakers.all().map((row) => decodeRecord<StoredBreaker>(row)),
	};
}

type Condition = readonly [sql: string, value: SqlValue];

function taskConditions(query: Omit<TaskQuery, "limit">): readonly Condition[] {
	return [
		...partConditions("task_id", query.part),
		...condition("agent_id = ?", query.agent),
		...condition("? IN (agent_id, substr(agent_id, 1, instr(agent_id, ':') - 1))", query.within),
		...condition("status = ?", query.status),
		...condition("plan_id = ?", query.plan),
		...condition("created_at_ms >= ?", query.sinceMs),
		...condition("open_letter = ?", query.openLetters === undefined ? undefined : 1),
	];
}

function planConditions(query: PlanQuery): readonly Condition[] {
	return [
		...partConditions("plan_id", query.part),
		...condition("status = ?", query.status),
		...condition("created_at_ms >= ?", query.sinceMs),
	];
}

/** Compared by length instead of LIKE, so that `%` and `_` are literal. */
function partConditions(id: string, part: string | undefined): readonly Condition[] {
	const length = part?.length ?? 0;
	return condition(`? IN (substr(${id}, 1, ${length}), substr(${id}, -${length}))`, part);
}

/** By status. Scans all matching tasks, so it runs only on request. */
function createCount(database: Database) {
	return (conditions: readonly Condition[]): Partial<Record<TaskStatus, number>> => {
		const where =
			conditions.length === 0 ? "" : `WHERE ${conditions.map(([sql]) => sql).join(" AND ")}`;
		const rows = database
			.prepare(`SELECT status, count(*) AS count FROM tasks ${where} GROUP BY status`)
			.all(...conditions.map(([, value]) => value));
		return Object.fromEntries(rows.map(({ status, count }) => [status, Number(count)]));
	};
}

function condition(sql: string, value: SqlValue | undefined): readonly Condition[] {
	return value === undefined ? [] : [[sql, value]];
}

/** Newest first. One statement is prepared for every combination of conditions; there are few. */
function createSearch(database: Database) {
	const prepared = new Map<string, Statement>();
	return <T>(
		table: "tasks" | "plans",
		id: "task_id" | "plan_id",
		{ before, limit }: { readonly before?: string; readonly limit: number },
		conditions: readonly Condition[],
	): readonly T[] => {
		const all = [
			...conditions,
			...condition(`number < (SELECT number FROM ${table} WHERE ${id} = ?)`, before),
		];
		const where = all.length === 0 ? "" : `WHERE ${all.map(([sql]) => sql).join(" AND ")}`;
		const sql = `SELECT record FROM ${table} ${where} ORDER BY number DESC LIMIT ?`;
		let statement = prepared.get(sql);
		if (statement === undefined) {
			statement = database.prepare(sql);
			prepared.set(sql, statement);
		}
		const values = all.map(([, value]) => value);
		return statement.all(...values, rowLimit(limit)).map((row) => decodeRecord<T>(row));
	};
}

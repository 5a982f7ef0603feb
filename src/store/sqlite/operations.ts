/**
 * The operations of a change, as plain values captured when they were requested. A failed commit is
 * retried from these values, so that later modifications do not affect it.
 */

import type { NewEvent, StoreTransaction } from "../../ports/store.js";
import type { StoredTask } from "../../ports/task-store.js";
import type { SqlValue } from "./driver.js";

export const WRITES = {
	putAgent: `INSERT INTO agents (id, fleet_file, position, record) VALUES (?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET
			fleet_file = excluded.fleet_file, position = excluded.position, record = excluded.record`,
	removeAgent: "DELETE FROM agents WHERE id = ?",
	putRun: `INSERT INTO runs (run_id, agent_id, state, record) VALUES (?, ?, ?, ?)
		ON CONFLICT (run_id) DO UPDATE SET
			agent_id = excluded.agent_id, state = excluded.state, record = excluded.record`,
	putExit: `INSERT INTO exits (run_id, agent_id, record) VALUES (?, ?, ?)
		ON CONFLICT (run_id) DO UPDATE SET agent_id = excluded.agent_id, record = excluded.record`,
	putEffect: `INSERT INTO effects (key, type, due_at_ms, record) VALUES (?, ?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET
			type = excluded.type, due_at_ms = excluded.due_at_ms, record = excluded.record`,
	removeEffect: "DELETE FROM effects WHERE key = ?",
	putCursor: `INSERT INTO cursors (reader, seq) VALUES (?, ?)
		ON CONFLICT (reader) DO UPDATE SET seq = excluded.seq`,
	removeCursor: "DELETE FROM cursors WHERE reader = ?",
	putMessage: `INSERT INTO messages (message_id, agent_id, record) VALUES (?, ?, ?)
		ON CONFLICT (message_id) DO UPDATE SET record = excluded.record`,
	removeMessage: "DELETE FROM messages WHERE message_id = ?",
	putQuestion: `INSERT INTO questions (agent_id, record) VALUES (?, ?)
		ON CONFLICT (agent_id) DO UPDATE SET record = excluded.record`,
	removeQuestion: "DELETE FROM questions WHERE agent_id = ?",
	putScreenQuestion: `INSERT INTO screen_questions (agent_id, record) VALUES (?, ?)
		ON CONFLICT (agent_id) DO UPDATE SET record = excluded.record`,
	removeScreenQuestion: "DELETE FROM screen_questions WHERE agent_id = ?",
	putFinishedTurn: `INSERT INTO finished_turns (agent_id, record) VALUES (?, ?)
		ON CONFLICT (agent_id) DO UPDATE SET record = excluded.record`,
	removeFinishedTurn: "DELETE FROM finished_turns WHERE agent_id = ?",
	putAccount: `INSERT INTO accounts (account, record) VALUES (?, ?)
		ON CONFLICT (account) DO UPDATE SET record = excluded.record`,
	putUsage: `INSERT INTO usage (agent_id, record) VALUES (?, ?)
		ON CONFLICT (agent_id) DO UPDATE SET record = excluded.record`,
	removeUsage: "DELETE FROM usage WHERE agent_id = ?",
	putTask: `INSERT INTO tasks
			(task_id, plan_id, agent_id, status, open_letter, created_at_ms, idempotency_key, record)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (task_id) DO UPDATE SET
			status = excluded.status, open_letter = excluded.open_letter, record = excluded.record`,
	putTaskInput: `INSERT INTO task_inputs (task_id, record) VALUES (?, ?)
		ON CONFLICT (task_id) DO UPDATE SET record = excluded.record`,
	putTaskResult: `INSERT INTO task_results (task_id, record) VALUES (?, ?)
		ON CONFLICT (task_id) DO UPDATE SET record = excluded.record`,
	putAttempt: "INSERT INTO attempts (task_id, n, record) VALUES (?, ?, ?)",
	putPlan: `INSERT INTO plans (plan_id, status, created_at_ms, idempotency_key, record)
		VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (plan_id) DO UPDATE SET status = excluded.status, record = excluded.record`,
	putBreaker: `INSERT INTO breakers (agent_id, record) VALUES (?, ?)
		ON CONFLICT (agent_id) DO UPDATE SET record = excluded.record`,
	putSchedule: `INSERT INTO schedules (id, fleet_file, position, record) VALUES (?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET
			fleet_file = excluded.fleet_file, position = excluded.position, record = excluded.record`,
	removeSchedule: "DELETE FROM schedules WHERE id = ?",
	removeSlotsOf: "DELETE FROM slots WHERE schedule = ?",
	putSlot: `INSERT INTO slots (slot_id, schedule, status, decided_at_ms, record)
		VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (slot_id) DO UPDATE SET status = excluded.status, record = excluded.record`,
	removeSlots: "DELETE FROM slots WHERE number IN (SELECT value FROM json_each(?))",
	removeEventsThrough: "DELETE FROM events WHERE seq <= ?",
	removeExits: "DELETE FROM exits WHERE number IN (SELECT value FROM json_each(?))",
	removeRuns:
		"DELETE FROM runs WHERE state = 'ended' AND number IN (SELECT value FROM json_each(?))",
	removeTasks: "DELETE FROM tasks WHERE task_id IN (SELECT value FROM json_each(?))",
	removeTaskInputs: "DELETE FROM task_inputs WHERE task_id IN (SELECT value FROM json_each(?))",
	removeTaskResults: "DELETE FROM task_results WHERE task_id IN (SELECT value FROM json_each(?))",
	removeAttempts: "DELETE FROM attempts WHERE task_id IN (SELECT value FROM json_each(?))",
	removePlans: "DELETE FROM plans WHERE plan_id IN (SELECT value FROM json_each(?))",
} as const;

export interface EventValues {
	readonly atMs: number;
	readonly type: string;
	readonly agent: string | null;
	readonly record: string;
}

export type Operation =
	| { readonly write: keyof typeof WRITES; readonly values: readonly SqlValue[] }
	| { readonly write: "appendEvent"; readonly event: EventValues };

/** Operations reserved for the store itself: removing history, by row numbers. */
export interface SqliteTransaction extends StoreTransaction {
	removeEventsThrough(seq: number): void;
	removeExits(numbers: readonly number[]): void;
	removeRuns(numbers: readonly number[]): void;
	/** With all their data. */
	removeTasks(ids: readonly string[]): void;
	removePlans(ids: readonly string[]): void;
	removeSlots(numbers: readonly number[]): void;
}

/** The transaction object of a change: records each operation. */
export function createRecorder(
	perform: (operation: Operation) => void,
	onRollback: (undo: () => void) => void,
): SqliteTransaction {
	const write = (name: keyof typeof WRITES, ...values: SqlValue[]) =>
		perform({ write: name, values });
	return {
		putAgent: (agent) =>
			write("putAgent", agent.id, agent.fleetFile, agent.position, JSON.stringify(agent)),
		removeAgent: (id) => write("removeAgent", id),
		putRun: (run) => write("putRun", run.runId, run.agentId, run.state, JSON.stringify(run)),
		putExit: (exit) => write("putExit", exit.runId, exit.agentId, JSON.stringify(exit)),
		putEffect: (effect) =>
			write("putEffect", effect.key, effect.type, effect.dueAtMs, JSON.stringify(effect)),
		removeEffect: (key) => write("removeEffect", key),
		putCursor: (reader, seq) => write("putCursor", reader, seq),
		removeCursor: (reader) => write("removeCursor", reader),
		putMessage: (message) =>
			write("putMessage", message.id, message.agentId, JSON.stringify(message)),
		removeMessage: (id) => write("removeMessage", id),
		putQuestion: (question) => write("putQuestion", question.agent, JSON.stringify(question)),
		removeQuestion: (agentId) => write("removeQuestion", agentId),
		putScreenQuestion: (kept) =>
			write("putScreenQuestion", kept.question.agent, JSON.stringify(kept)),
		removeScreenQuestion: (agentId) => write("removeScreenQuestion", agentId),
		putFinishedTurn: (turn) => write("putFinishedTurn", turn.agent, JSON.stringify(turn)),
		removeFinishedTurn: (agentId) => write("removeFinishedTurn", agentId),
		putAccount: (account) => write("putAccount", account.account, JSON.stringify(account)),
		putUsage: (usage) => write("putUsage", usage.agentId, JSON.stringify(usage)),
		removeUsage: (agentId) => write("removeUsage", agentId),
		putTask: (task) =>
			write(
				"putTask",
				...[task.taskId, task.planId, task.agentId, task.status],
				...[isOpenLetter(task) ? 1 : 0, task.createdAtMs, task.idempotencyKey],
				JSON.stringify(task),
			),
		putTaskInput: (taskId, input) => write("putTaskInput", taskId, JSON.stringify(input)),
		// JSON has no undefined, but an agent may return no result.
		putTaskResult: (taskId, result) =>
			write("putTaskResult", taskId, JSON.stringify(result ?? null)),
		putAttempt: (attempt) =>
			write("putAttempt", attempt.taskId, attempt.n, JSON.stringify(attempt)),
		putPlan: (plan) =>
			write(
				"putPlan",
				...[plan.planId, plan.status, plan.createdAtMs, plan.idempotencyKey],
				JSON.stringify(plan),
			),
		putBreaker: (breaker) => write("putBreaker", breaker.agentId, JSON.stringify(breaker)),
		putSchedule: (schedule) =>
			write(
				"putSchedule",
				...[schedule.id, schedule.fleetFile, schedule.position, JSON.stringify(schedule)],
			),
		removeSchedule(id) {
			write("removeSlotsOf", id);
			write("removeSchedule", id);
		},
		putSlot: (slot) =>
			write(
				"putSlot",
				...[slot.id, slot.schedule, slot.status, slot.decidedAtMs, JSON.stringify(slot)],
			),
		removeSlots: (numbers) => write("removeSlots", JSON.stringify(numbers)),
		removeEventsThrough: (seq) => write("removeEventsThrough", seq),
		removeExits: (numbers) => write("removeExits", JSON.stringify(numbers)),
		removeRuns: (numbers) => write("removeRuns", JSON.stringify(numbers)),
		removeTasks(ids) {
			const list = JSON.stringify(ids);
			write("removeTaskInputs", list);
			write("removeTaskResults", list);
			write("removeAttempts", list);
			write("removeTasks", list);
		},
		removePlans: (ids) => write("removePlans", JSON.stringify(ids)),
		appendEvent: (event, atMs) =>
			perform({ write: "appendEvent", event: eventValues(event, atMs) }),
		onRollback,
	};
}

const isOpenLetter = ({ status, letter }: StoredTask) =>
	status === "dead_lettered" && letter === null;

function eventValues(event: NewEvent, atMs: number): EventValues {
	// An invalid time must fail the change that contains it, not later readers.
	if (Number.isNaN(new Date(atMs).getTime())) throw new RangeError(`${atMs} is not a time`);
	return { atMs, type: event.type, agent: event.agent ?? null, record: JSON.stringify(event) };
}

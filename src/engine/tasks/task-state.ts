/**
 * The record and event of a task's state change. The table in core decides about transitions; nothing
 * here waits or acts.
 */

import type { AttemptError, CallerCode, Outcome } from "../../core/outcome.js";
import { ATTEMPT_ERROR_TRAITS } from "../../core/outcome.js";
import { applyTaskEvent, isEnded, type TaskEvent } from "../../core/task.js";
import type { NewEvent } from "../../ports/store.js";
import type { StoredTask, TaskError } from "../../ports/task-store.js";

export interface TaskStep {
	readonly task: StoredTask;
	/** Whether it changed; if not, nothing must be written. */
	readonly changed: boolean;
	readonly events: readonly NewEvent[];
}

export interface StepDetails {
	readonly reason: string;
	/** The error of the finished attempt. */
	readonly error?: AttemptError | null;
	readonly durationMs?: number | null;
	/** Other changes of its record. */
	readonly with?: Partial<StoredTask>;
}

/** Changes the state of a task, if the event applies. Sets the time of its end. */
export function stepTask(
	task: StoredTask,
	event: TaskEvent,
	nowMs: number,
	{ reason, error = null, durationMs = null, with: more = {} }: StepDetails,
): TaskStep {
	const { status, attempts } = task;
	const maxAttempts = task.retry.maxAttempts;
	const change = applyTaskEvent({ status, attempts, maxAttempts }, event);
	if (!change.changed) return { task, changed: false, events: [] };
	const next: StoredTask = {
		...task,
		running: null,
		next: null,
		...more,
		status: change.task.status,
		attempts: change.task.attempts,
		reason,
		endedAtMs: isEnded(change.task.status) ? nowMs : null,
	};
	const data = {
		from: status,
		to: next.status,
		attempt: next.attempts,
		error,
		code: next.status === "dead_lettered" ? (next.error?.code ?? null) : null,
		duration_ms: durationMs,
		reason,
	};
	return {
		task: next,
		changed: true,
		events: [{ ...taskEventFields(task), type: "task.changed", data }],
	};
}

/** The common fields of every event about a task. */
export function taskEventFields(task: StoredTask) {
	return {
		agent: task.agentId,
		task: task.taskId,
		plan: task.planId,
		correlation_id: task.correlationId,
	};
}

/** The caller's error for a failed attempt. */
export function taskErrorOf(outcome: Extract<Outcome, { ok: false }>): TaskError {
	const { callerCode } = ATTEMPT_ERROR_TRAITS[outcome.error];
	return { code: callerCode, kind: outcome.error, message: outcome.reason };
}

/** The error of a task that was never attempted. */
export function untriedError(code: CallerCode, message: string): TaskError {
	return { code, kind: null, message };
}

/**
 * What is written down when a task moves: its new record and the event that tells of it. Where it may
 * go is decided by the table in core; nothing here waits or does anything.
 */

import type { AttemptError, CallerCode, Outcome } from "../../core/outcome.js";
import { ATTEMPT_ERROR_TRAITS } from "../../core/outcome.js";
import { applyTaskEvent, isEnded, type TaskEvent } from "../../core/task.js";
import type { NewEvent } from "../../ports/store.js";
import type { StoredTask, TaskError } from "../../ports/task-store.js";

export interface TaskStep {
	readonly task: StoredTask;
	/** Whether it moved at all; when it did not, nothing is to be written. */
	readonly changed: boolean;
	readonly events: readonly NewEvent[];
}

export interface StepDetails {
	readonly reason: string;
	/** How the attempt that ended failed. */
	readonly error?: AttemptError | null;
	readonly durationMs?: number | null;
	/** What else becomes of its record. */
	readonly with?: Partial<StoredTask>;
}

/** Moves a task, if what happened moves it. Ends are dated here. */
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
		...{ status: change.task.status, attempts: change.task.attempts, reason },
		endedAtMs: isEnded(change.task.status) ? nowMs : null,
	};
	const data = {
		...{ from: status, to: next.status, attempt: next.attempts, error },
		code: next.status === "dead_lettered" ? (next.error?.code ?? null) : null,
		...{ duration_ms: durationMs, reason },
	};
	return {
		task: next,
		changed: true,
		events: [{ ...aboutTask(task), type: "task.changed", data }],
	};
}

/** What every event about a task carries. */
export function aboutTask(task: StoredTask) {
	return {
		agent: task.agentId,
		task: task.taskId,
		plan: task.planId,
		correlation_id: task.correlationId,
	};
}

/** What callers are told of a failed attempt. */
export function taskErrorOf(outcome: Extract<Outcome, { ok: false }>): TaskError {
	const { callerCode } = ATTEMPT_ERROR_TRAITS[outcome.error];
	return { code: callerCode, kind: outcome.error, message: outcome.reason };
}

/** The error of a task that was not tried at all. */
export function untriedError(code: CallerCode, message: string): TaskError {
	return { code, kind: null, message };
}

/**
 * The states of a task. The table has every cell: for each status and each event it defines the next
 * status, or why nothing changes.
 *
 * Keeps T1 and T2 (one final status), T3 (attempts ≤ max) and T7 (a late response changes nothing:
 * events of an attempt that is not the current one are ignored).
 */

import { final, stay, type TransitionTable, to } from "./transition-table.js";

/** Every status of a task. */
export const TASK_STATUSES = [
	"queued",
	"dispatched",
	"in_progress",
	"retried",
	"succeeded",
	"dead_lettered",
	"cancelled",
] as const;
/** The status of a task. */
export type TaskStatus = (typeof TASK_STATUSES)[number];

export const TASK_EVENTS = [
	/** The dispatcher selected it. */
	"dispatch",
	/** Its next attempt starts. */
	"start",
	"succeed",
	"retry",
	"dead_letter",
	"cancel",
	/** The daemon stopped between selecting the task and starting it. */
	"requeue",
] as const;
export type TaskEventType = (typeof TASK_EVENTS)[number];

/** An event. Events of an attempt carry its number, so that late ones can be detected (T7). */
export type TaskEvent =
	| { readonly type: "dispatch" | "start" | "cancel" | "requeue" }
	| { readonly type: "succeed" | "retry"; readonly attempt: number }
	/** Null if the task failed without an attempt. */
	| { readonly type: "dead_letter"; readonly attempt: number | null };

export interface TaskProgress {
	readonly status: TaskStatus;
	/** Attempts started so far; the current one has this number. */
	readonly attempts: number;
	readonly maxAttempts: number;
}

export interface TaskChange {
	readonly task: TaskProgress;
	readonly changed: boolean;
	readonly reason: string;
}

export const TASK_TABLE: TransitionTable<TaskStatus, TaskEventType> = {
	queued: {
		dispatch: to("dispatched"),
		start: stay("not dispatched yet"),
		succeed: stay("no attempt is running"),
		retry: stay("no attempt is running"),
		dead_letter: to("dead_lettered"),
		cancel: to("cancelled"),
		requeue: stay("already queued"),
	},
	dispatched: {
		dispatch: stay("already dispatched"),
		start: to("in_progress"),
		succeed: stay("no attempt is running"),
		retry: stay("no attempt is running"),
		dead_letter: to("dead_lettered"),
		cancel: to("cancelled"),
		requeue: to("queued"),
	},
	in_progress: {
		dispatch: stay("an attempt is running"),
		start: stay("an attempt is running"),
		succeed: to("succeeded"),
		retry: to("retried"),
		dead_letter: to("dead_lettered"),
		cancel: to("cancelled"),
		requeue: stay("an attempt is running; its outcome decides"),
	},
	retried: {
		dispatch: to("dispatched"),
		start: stay("not dispatched yet"),
		succeed: stay("no attempt is running"),
		retry: stay("no attempt is running"),
		dead_letter: to("dead_lettered"),
		cancel: to("cancelled"),
		requeue: stay("already waiting for its next attempt"),
	},
	succeeded: final("succeeded", TASK_EVENTS),
	dead_lettered: final("dead-lettered", TASK_EVENTS),
	cancelled: final("cancelled", TASK_EVENTS),
};

export function newTask(maxAttempts: number): TaskProgress {
	return { status: "queued", attempts: 0, maxAttempts: Math.max(1, maxAttempts) };
}

export function isEnded(status: TaskStatus): boolean {
	return status === "succeeded" || status === "dead_lettered" || status === "cancelled";
}

export function applyTaskEvent(task: TaskProgress, event: TaskEvent): TaskChange {
	const attempt = "attempt" in event ? event.attempt : null;
	if (attempt !== null && attempt !== task.attempts) {
		return unchanged(task, `attempt ${attempt} is not the current attempt (${task.attempts})`);
	}
	const cell = TASK_TABLE[task.status][event.type];
	if ("stay" in cell) return unchanged(task, cell.stay);
	if (cell.to !== "in_progress") {
		return { task: { ...task, status: cell.to }, changed: true, reason: event.type };
	}
	if (task.attempts >= task.maxAttempts) {
		return unchanged(task, `all ${task.maxAttempts} attempts are used up`);
	}
	const attempts = task.attempts + 1;
	return {
		task: { ...task, status: "in_progress", attempts },
		changed: true,
		reason: `attempt ${attempts} of ${task.maxAttempts}`,
	};
}

function unchanged(task: TaskProgress, reason: string): TaskChange {
	return { task, changed: false, reason };
}

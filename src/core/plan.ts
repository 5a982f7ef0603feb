/**
 * A plan: a graph of tasks and the status they add up to. `decidePlan` looks at all tasks at once
 * and says which may start, which must be cancelled, and whether the plan has ended.
 *
 * Keeps T11: a plan with a dead-lettered task is failed.
 */

import { isEnded, type TaskStatus } from "./task.js";
import { final, stay, type TransitionTable, to } from "./transition-table.js";

export const PLAN_STATUSES = [
	"draft",
	"pending",
	"running",
	"succeeded",
	"failed",
	"cancelled",
] as const;
export type PlanStatus = (typeof PLAN_STATUSES)[number];

export const PLAN_EVENTS = ["submit", "start", "succeed", "fail", "cancel"] as const;
export type PlanEventType = (typeof PLAN_EVENTS)[number];

export const PLAN_TABLE: TransitionTable<PlanStatus, PlanEventType> = {
	draft: {
		submit: to("pending"),
		start: stay("not submitted yet"),
		succeed: stay("not submitted yet"),
		fail: to("failed"),
		cancel: to("cancelled"),
	},
	pending: {
		submit: stay("already submitted"),
		start: to("running"),
		succeed: stay("nothing has run yet"),
		fail: to("failed"),
		cancel: to("cancelled"),
	},
	running: {
		submit: stay("already submitted"),
		start: stay("already running"),
		succeed: to("succeeded"),
		fail: to("failed"),
		cancel: to("cancelled"),
	},
	succeeded: final("succeeded", PLAN_EVENTS),
	failed: final("failed", PLAN_EVENTS),
	cancelled: final("cancelled", PLAN_EVENTS),
};

export interface PlanChange {
	readonly status: PlanStatus;
	readonly changed: boolean;
	readonly reason: string;
}

export function applyPlanEvent(status: PlanStatus, event: PlanEventType): PlanChange {
	const cell = PLAN_TABLE[status][event];
	if ("stay" in cell) return { status, changed: false, reason: cell.stay };
	return { status: cell.to, changed: true, reason: event };
}

export interface PlanTask {
	readonly status: TaskStatus;
	/** Names of tasks of the same plan that must have succeeded before. */
	readonly dependsOn: readonly string[];
	/** Whether it has been handed to the dispatcher. */
	readonly released: boolean;
}

/** After a dead letter: end the whole plan at once, or let independent branches finish first. */
export type FailureMode = "fail_fast" | "continue";

export interface PlanDecision {
	/** Tasks whose dependencies have all succeeded, to be handed to the dispatcher. */
	readonly release: readonly string[];
	/** Tasks that can or may no longer run. */
	readonly cancel: readonly string[];
	/** The end that the plan has reached, if it has. */
	readonly end: "succeed" | "fail" | "cancel" | null;
	readonly reason: string;
}

/** Decides a submitted plan's next steps. The graph has no cycles; that was checked on submission. */
export function decidePlan(
	tasks: Readonly<Record<string, PlanTask>>,
	mode: FailureMode,
): PlanDecision {
	const names = Object.keys(tasks);
	const dead = names.filter((name) => tasks[name]?.status === "dead_lettered");
	const open = names.filter((name) => !isEnded((tasks[name] as PlanTask).status));

	if (dead.length > 0 && mode === "fail_fast") {
		return { release: [], cancel: open, end: "fail", reason: `${list(dead)} dead-lettered` };
	}
	const blocked = new Set(open.filter((name) => isBlocked(tasks, name)));
	const going = open.filter((name) => !blocked.has(name));
	const release = going.filter((name) => isReady(tasks, name));
	const cancel = [...blocked];
	if (going.length > 0) {
		return { release, cancel, end: null, reason: `${going.length} of ${names.length} to go` };
	}
	if (dead.length > 0) {
		return { release, cancel, end: "fail", reason: `${list(dead)} dead-lettered` };
	}
	const cancelled = names.filter((name) => tasks[name]?.status === "cancelled");
	if (cancelled.length > 0) {
		return { release, cancel, end: "cancel", reason: `${list(cancelled)} cancelled` };
	}
	return { release, cancel, end: "succeed", reason: `all ${names.length} tasks succeeded` };
}

/** Whether something that the task needs, at any distance, ended without success. */
function isBlocked(tasks: Readonly<Record<string, PlanTask>>, name: string): boolean {
	const seen = new Set<string>();
	const stack = [name];
	for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
		for (const needed of tasks[at]?.dependsOn ?? []) {
			if (seen.has(needed)) continue;
			seen.add(needed);
			const status = tasks[needed]?.status;
			if (status === "dead_lettered" || status === "cancelled") return true;
			stack.push(needed);
		}
	}
	return false;
}

function isReady(tasks: Readonly<Record<string, PlanTask>>, name: string): boolean {
	const task = tasks[name] as PlanTask;
	return !task.released && task.dependsOn.every((needed) => tasks[needed]?.status === "succeeded");
}

function list(names: readonly string[]): string {
	return names.length === 1 ? `task ${names[0]}` : `tasks ${names.join(", ")}`;
}

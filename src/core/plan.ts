/**
 * A plan is a graph of tasks with one combined status. `decidePlan` examines all tasks at once and
 * decides which may start, which must be cancelled, and whether the plan is finished.
 *
 * Keeps T11: a plan with a dead-lettered task is failed.
 */

import { orderByDependencies } from "./graph.js";
import { isEnded, type TaskStatus } from "./task.js";
import { final, stay, type TransitionTable, to } from "./transition-table.js";

/** Every status of a plan. */
export const PLAN_STATUSES = [
	"draft",
	"pending",
	"running",
	"succeeded",
	"failed",
	"cancelled",
] as const;
/** The status of a plan. */
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
		succeed: stay("no task has started yet"),
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
	/** Names of tasks of the same plan that must succeed first. */
	readonly dependsOn: readonly string[];
	/** Whether it was passed to the dispatcher. */
	readonly released: boolean;
}

export const FAILURE_MODES = ["fail_fast", "continue"] as const;
/** After a dead letter: fail the whole plan immediately, or let independent branches finish first. */
export type FailureMode = (typeof FAILURE_MODES)[number];

export interface PlanDecision {
	/** Tasks whose dependencies have all succeeded, to be passed to the dispatcher. */
	readonly release: readonly string[];
	/** Tasks that can no longer run. */
	readonly cancel: readonly string[];
	/** The final status that the plan has reached, if any. */
	readonly end: "succeed" | "fail" | "cancel" | null;
	readonly reason: string;
}

/** Decides a submitted plan's next steps. */
export function decidePlan(
	tasks: Readonly<Record<string, PlanTask>>,
	mode: FailureMode,
): PlanDecision {
	const all = Object.entries(tasks);
	const named = (status: TaskStatus) =>
		all.filter(([, task]) => task.status === status).map(([name]) => name);
	const open = all.filter(([, task]) => !isEnded(task.status)).map(([name]) => name);
	const dead = named("dead_lettered");
	const failed = { end: "fail", reason: `${list(dead)} dead-lettered` } as const;
	if (dead.length > 0 && mode === "fail_fast") return { release: [], cancel: open, ...failed };

	const blocked = findBlocked(tasks);
	const going = open.filter((name) => !blocked.has(name));
	const cancel = open.filter((name) => blocked.has(name));
	const release = going.filter((name) => isReady(tasks, name));
	if (going.length > 0) {
		const moving = release.length > 0 || going.some((name) => tasks[name]?.released);
		// Cycles are rejected on submission; a cycle that got here must not keep its plan open forever.
		if (!moving)
			return {
				release,
				cancel: open,
				end: "fail",
				reason: `${list(going)} depend on each other in a cycle`,
			};
		return { release, cancel, end: null, reason: `${going.length} of ${all.length} tasks left` };
	}
	if (dead.length > 0) return { release, cancel, ...failed };
	const cancelled = [...named("cancelled"), ...cancel];
	if (cancelled.length > 0) {
		return { release, cancel, end: "cancel", reason: `${list(cancelled)} cancelled` };
	}
	return {
		release,
		cancel,
		end: "succeed",
		reason: all.length === 1 ? "its task succeeded" : `all ${all.length} tasks succeeded`,
	};
}

/** Tasks that depend, directly or indirectly, on a task that did not succeed or does not exist. */
function findBlocked(tasks: Readonly<Record<string, PlanTask>>): ReadonlySet<string> {
	const graph = new Map(Object.entries(tasks).map(([name, task]) => [name, task.dependsOn]));
	const blocked = new Set<string>();
	for (const name of orderByDependencies(graph)) {
		const hopeless = graph.get(name)?.some((needed) => {
			const status = tasks[needed]?.status ?? "cancelled";
			return blocked.has(needed) || status === "dead_lettered" || status === "cancelled";
		});
		if (hopeless) blocked.add(name);
	}
	return blocked;
}

function isReady(tasks: Readonly<Record<string, PlanTask>>, name: string): boolean {
	const task = tasks[name] as PlanTask;
	return !task.released && task.dependsOn.every((needed) => tasks[needed]?.status === "succeeded");
}

function list(names: readonly string[]): string {
	return names.length === 1 ? `task ${names[0]}` : `tasks ${names.join(", ")}`;
}

/**
 * Advances a plan after one of its tasks has changed: passes on tasks whose dependencies are met, with
 * the results they use, cancels those that can no longer run, and finishes the plan.
 *
 * Keeps T11: a plan with a dead-lettered task is failed.
 */

import { decidePlan, type PlanTask } from "../../core/plan.js";
import { fillPayload } from "../../core/template.js";
import type { StoredTask } from "../../ports/task-store.js";
import { type Book, type Change, type OpenPlan, replaceIn } from "./book.js";
import { stepTask, untriedError } from "./task-state.js";

export interface PlanWorld {
	readonly book: Book;
	/** The task may run now. Called when that is durable. */
	readonly enqueue: (task: StoredTask) => void;
	/** A running attempt must be killed; the task is cancelled after that. */
	readonly abort: (taskId: string) => void;
}

/** Advances the plan as far as possible. */
export function advancePlan(world: PlanWorld, change: Change, open: OpenPlan): void {
	for (;;) {
		const decision = decidePlan(planTasks(open), open.plan.onFailure);
		let failed = false;
		for (const name of decision.release) {
			failed = !releaseTask(world, change, open, taskNamed(open, name)) || failed;
		}
		// A payload that could not be filled has failed its task, so there is more to decide.
		if (failed) continue;
		for (const name of decision.cancel) {
			const task = taskNamed(open, name);
			cancelTask(world, change, task, blockedTaskReason(open, task) ?? decision.reason);
		}
		if (decision.end !== null) world.book.stepPlan(change, open, decision.end, decision.reason);
		return;
	}
}

/** The dependency that did not succeed; null if there is none. */
function blockedTaskReason({ tasks }: OpenPlan, { dependsOn }: StoredTask): string | null {
	const failed = dependsOn.find((name) => {
		const status = tasks.get(name)?.status;
		return status === "dead_lettered" || status === "cancelled";
	});
	return failed === undefined
		? null
		: `it depends on ${failed}, which is ${tasks.get(failed)?.status}`;
}

/** Cancels a task, or aborts its running attempt. */
export function cancelTask(
	{ book, abort }: PlanWorld,
	change: Change,
	task: StoredTask,
	reason: string,
): void {
	if (task.status === "in_progress" || task.status === "dispatched") {
		change.after(() => abort(task.taskId));
		return;
	}
	const step = stepTask(task, { type: "cancel" }, change.atMs, { reason });
	if (step.changed) book.putTask(change, step);
}

function planTasks(open: OpenPlan): Readonly<Record<string, PlanTask>> {
	const tasks = [...open.tasks].map(([name, { status, dependsOn, released }]) => [
		name,
		{ status, dependsOn, released },
	]);
	return Object.fromEntries(tasks);
}

function taskNamed(open: OpenPlan, name: string): StoredTask {
	return open.tasks.get(name) as StoredTask;
}

/** Whether it could be passed on; if not, it has failed. */
function releaseTask(
	{ book, enqueue }: PlanWorld,
	change: Change,
	open: OpenPlan,
	task: StoredTask,
): boolean {
	const input = open.inputs.get(task.name) ?? { payload: null, context: null };
	replaceIn(change, open.inputs, task.name, undefined);
	const filled = fillPayload(input.payload, (name) => open.results.get(name));
	if (!filled.ok) {
		const error = untriedError("planning_failed", filled.reason);
		const letter = { type: "dead_letter", attempt: null } as const;
		book.putTask(
			change,
			stepTask(task, letter, change.atMs, { reason: filled.reason, with: { error } }),
		);
		return false;
	}
	const released = { ...task, released: true };
	change.transaction.putTaskInput(task.taskId, { ...input, payload: filled.payload });
	book.putTask(change, { task: released, events: [] });
	change.after(() => enqueue(released));
	return true;
}

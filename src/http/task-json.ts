/** Converts tasks and plans of the engine to the format of the contract. */

import { ATTEMPT_ERROR_TRAITS } from "../core/outcome.js";
import type { PlanDetail, TaskDetail } from "../engine/tasks/tasks.js";
import type { StoredAttempt, StoredPlan, StoredTask } from "../ports/task-store.js";
import type { PlanDetailJson, PlanJson } from "./contract/plans.js";
import type { TaskDetailJson, TaskJson } from "./contract/tasks.js";

export function renderTask(
	task: StoredTask,
	attempts: readonly StoredAttempt[],
	result?: unknown,
): TaskJson {
	const { letter, next } = task;
	const response = attempts.at(-1)?.response;
	return {
		task_id: task.taskId,
		plan_id: task.planId,
		name: task.name,
		agent: task.agentId,
		action: task.action,
		status: task.status,
		attempts: attempts.map((attempt) => renderAttempt(attempt, false)),
		max_attempts: task.retry.maxAttempts,
		priority: task.priority,
		idempotent: task.idempotent,
		timeout_ms: task.timeoutMs,
		depends_on: task.dependsOn,
		...(result !== undefined && { result }),
		...(task.error !== null && { error: task.error }),
		...(response !== undefined && { response }),
		reason: task.reason,
		next_attempt_at: next === null ? null : isoTime(next.dueAtMs),
		created_at: isoTime(task.createdAtMs),
		ended_at: task.endedAtMs === null ? null : isoTime(task.endedAtMs),
		correlation_id: task.correlationId,
		host: task.host ?? null,
		replay_of: task.replayOf,
		replayed_as: letter?.type === "replayed" ? letter.taskId : null,
		discarded: letter?.type === "discarded",
		may_have_run:
			task.status === "dead_lettered" &&
			attempts.some(({ error }) => error !== null && ATTEMPT_ERROR_TRAITS[error.kind].mayHaveRun),
	};
}

/** The reason for a waiting client if the daemon stops before its task or plan is finished. */
export const CONTINUES_LATER =
	"accepted; the daemon is stopping, and the next daemon continues the task";

export function renderTaskDetail({ task, input, result, attempts }: TaskDetail): TaskDetailJson {
	return {
		...renderTask(task, attempts, result),
		attempts: attempts.map((attempt) => renderAttempt(attempt, true)),
		payload: input?.payload ?? null,
		context: input?.context ?? null,
	};
}

export function renderPlan(plan: StoredPlan): PlanJson {
	return {
		plan_id: plan.planId,
		name: plan.name,
		status: plan.status,
		on_failure: plan.onFailure,
		reason: plan.reason,
		created_at: isoTime(plan.createdAtMs),
		ended_at: plan.endedAtMs === null ? null : isoTime(plan.endedAtMs),
		correlation_id: plan.correlationId,
	};
}

export function renderPlanDetail({ plan, tasks }: PlanDetail): PlanDetailJson {
	return {
		...renderPlan(plan),
		tasks: tasks.map(({ task, attempts, result }) => renderTask(task, attempts, result)),
	};
}

function renderAttempt(attempt: StoredAttempt, withLog: boolean): TaskJson["attempts"][number] {
	const { n, startedAtMs, endedAtMs, error, log, response, host } = attempt;
	return {
		n,
		started_at: isoTime(startedAtMs),
		ended_at: isoTime(endedAtMs),
		...(error !== null && { error }),
		...(response !== undefined && { response }),
		...(host !== undefined && { host }),
		...(withLog && { log }),
	};
}

function isoTime(ms: number): string {
	return new Date(ms).toISOString();
}

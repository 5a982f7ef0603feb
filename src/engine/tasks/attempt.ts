/** One attempt at a task: its request, and its outcome without a response. */

import { type ActionRequest, classifyProcessFailure, type Outcome } from "../../core/outcome.js";
import type { AttemptEnd } from "../../ports/executor.js";
import type { StoredAttempt, StoredTask } from "../../ports/task-store.js";
import { stepTask, type TaskStep } from "./task-state.js";
import type { CallableSpec } from "./tasks-world.js";

/** The error of the last attempt, as text, if there was one. */
export function lastErrorOf({ attempts, error }: StoredTask): readonly string[] {
	if (attempts === 0 || error === null) return [];
	return [`attempt ${attempts} failed: ${error.kind ?? error.code}: ${error.message}`];
}

/**
 * The outcome of an attempt that was interrupted with its daemon; `left` is why its processes are not
 * proven gone.
 */
export function interruptedWith(left: string | undefined): AttemptEnd {
	const outcome = classifyProcessFailure(
		left === undefined ? { type: "interrupted" } : { type: "left_alive", detail: left },
	);
	return { outcome, log: "" };
}

/** The record of an attempt that has just finished. */
export function endedAttempt(
	{ taskId, attempts: n, running }: StoredTask,
	{ outcome, log }: AttemptEnd,
	atMs: number,
): StoredAttempt {
	const error =
		outcome === null || outcome.ok ? null : { kind: outcome.error, message: outcome.reason };
	const response = outcome?.ok === false ? outcome.response : undefined;
	const { runId = "", startedAtMs = atMs } = running ?? {};
	return {
		taskId,
		n,
		runId,
		startedAtMs,
		endedAtMs: atMs,
		error,
		log,
		...(response !== undefined && { response }),
	};
}

/** From waiting to running, with the events of both steps. */
export function beginAttempt(task: StoredTask, runId: string, atMs: number): TaskStep {
	const reason = `dispatched to ${task.agentId}`;
	const dispatched = stepTask(task, { type: "dispatch" }, atMs, { reason });
	const started = stepTask(dispatched.task, { type: "start" }, atMs, {
		reason: `attempt ${task.attempts + 1} of ${task.retry.maxAttempts}`,
		with: { running: { runId, startedAtMs: atMs } },
	});
	return { ...started, events: [...dispatched.events, ...started.events] };
}

/**
 * An attempt that hit the account's usage limit does not count: the task waits until it lifts and is
 * tried again.
 */
export function withoutLimits(task: StoredTask, outcome: Outcome): StoredTask {
	if (outcome.ok || outcome.error !== "usage_limit") return task;
	const { retry } = task;
	return { ...task, retry: { ...retry, maxAttempts: retry.maxAttempts + 1 } };
}

const API_VERSION = "v1";

/**
 * The request id is unique per attempt, so that a response to an earlier attempt is detected as late
 * (T7).
 */
export function requestFor(
	task: StoredTask,
	spec: CallableSpec,
	payload: unknown,
	context: unknown,
): ActionRequest {
	return {
		request_id: `${task.taskId}.${task.attempts}`,
		api_version: API_VERSION,
		tool: spec.name,
		action: task.action,
		context: context ?? {},
		payload,
		plan_id: task.planId,
		task_id: task.taskId,
		correlation_id: task.correlationId,
	};
}

/**
 * The consequences of an attempt's end for its task: the result or the error, the retry or the dead letter. Pure, for
 * the tasks of one host and for tasks of a cluster.
 */

import { decideRetry, type RetryDecision } from "../../core/retry.js";
import type { AttemptEnd } from "../../ports/executor.js";
import type { StoredAttempt, StoredTask } from "../../ports/task-store.js";
import { endedAttempt, withoutLimits } from "./attempt.js";
import { stepTask, type TaskStep, taskErrorOf } from "./task-state.js";

export interface DecidedEnd {
	/** Null if the attempt was cancelled. */
	readonly decision: RetryDecision | null;
	/** Null if no attempt of the task is recorded as running. */
	readonly recorded: {
		readonly attempt: StoredAttempt;
		readonly step: TaskStep;
	} | null;
}

export function decideEnd(
	found: StoredTask,
	end: AttemptEnd,
	atMs: number,
	random: () => number,
): DecidedEnd {
	const { outcome } = end;
	if (outcome === null) {
		return {
			decision: null,
			recorded: recordOf(found, end, atMs, (durationMs) =>
				stepTask(found, { type: "cancel" }, atMs, {
					reason: "cancelled while running",
					durationMs,
				}),
			),
		};
	}
	const task = withoutLimits(found, outcome);
	const { attempts: attempt, idempotent } = task;
	const decision = decideRetry({ attempt, outcome, idempotent, random: random() }, task.retry);
	const { reason } = decision;
	const recorded = recordOf(task, end, atMs, (durationMs) => {
		if (outcome.ok)
			return stepTask(task, { type: "succeed", attempt }, atMs, { reason, durationMs });
		const error = taskErrorOf(outcome);
		const failed = { reason, durationMs, error: outcome.error };
		if (decision.type !== "retry") {
			const letter = { type: "dead_letter", attempt } as const;
			return stepTask(task, letter, atMs, { ...failed, with: { error } });
		}
		const { afterMs } = decision;
		const next = { dueAtMs: atMs + afterMs, afterMs };
		const retry = { type: "retry", attempt } as const;
		return stepTask(task, retry, atMs, { ...failed, with: { error, next } });
	});
	return { decision, recorded };
}

function recordOf(
	task: StoredTask,
	end: AttemptEnd,
	atMs: number,
	stepAfter: (durationMs: number) => TaskStep,
): DecidedEnd["recorded"] {
	if (task.running === null) return null;
	const durationMs = Math.max(0, atMs - task.running.startedAtMs);
	return { attempt: endedAttempt(task, end, atMs), step: stepAfter(durationMs) };
}

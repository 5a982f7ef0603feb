/**
 * Tasks of a plan from submission to their end: random outcomes, answers that come too late,
 * cancellations, and a daemon that dies between any two steps. Every step is stored and read back.
 */

import {
	ATTEMPT_ERRORS,
	type AttemptError,
	classifyProcessFailure,
	type Outcome,
} from "../../src/core/outcome.js";
import type {
	applyPlanEvent,
	decidePlan,
	FailureMode,
	PlanStatus,
	PlanTask,
} from "../../src/core/plan.js";
import type { decideRetry, RetrySettings } from "../../src/core/retry.js";
import type { applyTaskEvent, TaskEvent, TaskProgress } from "../../src/core/task.js";
import { newTask } from "../../src/core/task.js";
import type { SeededRandom } from "../../src/testing/random.js";
import type { Trace, World } from "./simulate.js";

export interface TaskPolicies {
	readonly applyTaskEvent: typeof applyTaskEvent;
	readonly decideRetry: typeof decideRetry;
	readonly decidePlan: typeof decidePlan;
	readonly applyPlanEvent: typeof applyPlanEvent;
}

const STEPS_MAX = 400;
const ENDS: readonly string[] = ["succeeded", "dead_lettered", "cancelled"];

interface SimulatedTask {
	progress: TaskProgress;
	readonly dependsOn: readonly string[];
	readonly idempotent: boolean;
	released: boolean;
	/** Errors of its attempts so far. */
	readonly errors: AttemptError[];
	/** Ends it has reached: must become exactly one. */
	readonly ends: string[];
}

export const taskWorld: World<TaskPolicies> = (policies, random, trace) => {
	const retry: RetrySettings = {
		maxAttempts: random.int(1, 5),
		initialBackoffMs: random.int(1, 1_000),
		maxBackoffMs: 1_000 + random.int(0, 60_000),
		jitter: random.pick([0, 0.2, 1]),
	};
	const mode: FailureMode = random.pick(["fail_fast", "continue"]);
	const tasks = randomGraph(random, retry.maxAttempts);
	let status = policies.applyPlanEvent("draft", "submit").status;
	status = policies.applyPlanEvent(status, "start").status;
	trace.note(() => `${mode}, ${JSON.stringify(retry)}, ${JSON.stringify(tasks)}`);

	let steps = 0;
	while (status === "running" && steps < STEPS_MAX) {
		steps++;
		const decision = policies.decidePlan(planTasks(tasks), mode);
		for (const name of decision.release) release(tasks, name, trace);
		for (const name of decision.cancel) applyStep(policies, tasks, name, { type: "cancel" }, trace);
		if (decision.end !== null) {
			status = policies.applyPlanEvent(status, decision.end).status;
			break;
		}
		const open = [...tasks].filter(([, task]) => task.released && !hasEnded(task));
		trace.check(open.length > 0, "T1 a plan can always continue", () => decision.reason);
		const [name, task] = random.pick(
			open as [[string, SimulatedTask], ...[string, SimulatedTask][]],
		);
		stepTask(policies, tasks, name, task, retry, random, trace);
	}
	checkEnd(tasks, status, trace);
	return steps;
};

/** One thing happens to one task. */
function stepTask(
	policies: TaskPolicies,
	tasks: ReadonlyMap<string, SimulatedTask>,
	name: string,
	task: SimulatedTask,
	retry: RetrySettings,
	random: SeededRandom,
	trace: Trace,
): void {
	const say = (event: TaskEvent) => applyStep(policies, tasks, name, event, trace);
	const { status, attempts: attempt } = task.progress;
	if (random.chance(0.02)) {
		say({ type: "cancel" });
	} else if (random.chance(0.1)) {
		lateAnswer(task, random, say, trace);
	} else if (status === "queued" || status === "retried") {
		say({ type: "dispatch" });
	} else if (status === "dispatched") {
		say({ type: random.chance(0.1) ? "requeue" : "start" });
	} else {
		const outcome = randomOutcome(random);
		const facts = { attempt, outcome, idempotent: task.idempotent, random: random.next() };
		const decision = policies.decideRetry(facts, retry);
		if (!outcome.ok) task.errors.push(outcome.error);
		if (decision.type === "retry") checkRetry(task, decision.afterMs, retry, trace);
		say({ type: decision.type, attempt });
	}
}

/** T7: an answer to an attempt that is over. */
function lateAnswer(
	task: SimulatedTask,
	random: SeededRandom,
	say: (event: TaskEvent) => void,
	trace: Trace,
): void {
	if (task.progress.attempts === 0) return;
	const before = task.progress;
	const attempt = random.int(0, before.attempts - 1);
	say({ type: random.pick(["succeed", "retry", "dead_letter"] as const), attempt });
	trace.check(
		task.progress.status === before.status && task.progress.attempts === before.attempts,
		"T7 a late answer changes nothing",
		() => `attempt ${attempt} turned ${before.status} into ${task.progress.status}`,
	);
}

function checkRetry(
	task: SimulatedTask,
	afterMs: number,
	retry: RetrySettings,
	trace: Trace,
): void {
	const error = task.errors.at(-1) as AttemptError;
	trace.check(
		!["invalid_request", "action_not_supported", "spawn_error", "left_alive"].includes(error),
		"T9 non-retryable is never retried",
		() => error,
	);
	trace.check(
		task.idempotent || error === "host_exhausted",
		"T9 what must not run twice is never retried blindly",
		() => error,
	);
	trace.check(
		afterMs >= Math.min(retry.initialBackoffMs, retry.maxBackoffMs) &&
			afterMs <= retry.maxBackoffMs,
		"S5 base ≤ delay ≤ cap",
		() => `${afterMs} ms`,
	);
}

function applyStep(
	policies: TaskPolicies,
	tasks: ReadonlyMap<string, SimulatedTask>,
	name: string,
	event: TaskEvent,
	trace: Trace,
): void {
	const task = tasks.get(name) as SimulatedTask;
	const change = policies.applyTaskEvent(task.progress, event);
	const before = task.progress;
	trace.note(
		() => `${name}: ${before.status} + ${event.type} -> ${change.task.status} (${change.reason})`,
	);
	trace.check(
		!hasEnded(task) || change.task.status === before.status,
		"T2 terminal is final",
		() => `${before.status} became ${change.task.status}`,
	);
	trace.check(
		change.task.attempts <= change.task.maxAttempts,
		"T3 attempts ≤ max",
		() => `${change.task.attempts} of ${change.task.maxAttempts}`,
	);
	task.progress = JSON.parse(JSON.stringify(change.task)) as TaskProgress;
	if (change.changed && hasEnded(task)) task.ends.push(task.progress.status);
}

function checkEnd(
	tasks: ReadonlyMap<string, SimulatedTask>,
	status: PlanStatus,
	trace: Trace,
): void {
	for (const [name, task] of tasks) {
		trace.check(
			task.ends.length === 1,
			"T1 accepted ⇒ exactly one terminal state",
			() => `${name} is ${task.progress.status}, ends ${JSON.stringify(task.ends)}; plan ${status}`,
		);
	}
	const ends = [...tasks.values()].flatMap((task) => task.ends);
	const expected = ends.includes("dead_lettered")
		? "failed"
		: ends.includes("cancelled")
			? "cancelled"
			: "succeeded";
	trace.check(
		status === expected,
		"T11 a plan with a dead-lettered task is failed",
		() => `plan ${status}, tasks ${ends.join(", ")}`,
	);
}

function release(tasks: ReadonlyMap<string, SimulatedTask>, name: string, trace: Trace): void {
	const task = tasks.get(name) as SimulatedTask;
	const waiting = task.dependsOn.filter(
		(needed) => tasks.get(needed)?.progress.status !== "succeeded",
	);
	trace.check(
		waiting.length === 0 && !task.released,
		"S7 a task is released once, after all that it depends on",
		() => `${name} still waits for ${waiting.join(", ")}`,
	);
	task.released = true;
}

function hasEnded(task: SimulatedTask): boolean {
	return ENDS.includes(task.progress.status);
}

function planTasks(tasks: ReadonlyMap<string, SimulatedTask>): Record<string, PlanTask> {
	return Object.fromEntries(
		[...tasks].map(([name, { progress, dependsOn, released }]) => [
			name,
			{ status: progress.status, dependsOn, released },
		]),
	);
}

function randomGraph(random: SeededRandom, maxAttempts: number): Map<string, SimulatedTask> {
	const tasks = new Map<string, SimulatedTask>();
	const size = random.int(1, 8);
	for (let n = 0; n < size; n++) {
		// Only earlier tasks are depended on, so there is no cycle.
		const dependsOn = [...tasks.keys()].filter(() => random.chance(0.3));
		tasks.set(`t${n}`, {
			progress: newTask(maxAttempts),
			dependsOn,
			idempotent: random.chance(0.8),
			released: false,
			errors: [],
			ends: [],
		});
	}
	return tasks;
}

function randomOutcome(random: SeededRandom): Outcome {
	if (random.chance(0.6)) return { ok: true, result: null };
	if (random.chance(0.2)) return classifyProcessFailure({ type: "interrupted" });
	const error = random.pick(ATTEMPT_ERRORS);
	return { ok: false, error, reason: "simulated", retryAfterMs: null };
}

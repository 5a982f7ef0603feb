/**
 * From what a caller asks for to the records of its tasks and plan. Everything that can be refused is
 * refused here, before anything is taken on.
 */

import { createHash } from "node:crypto";
import { ReeveError } from "../../core/errors.js";
import { findCycles } from "../../core/graph.js";
import { isTooDeep, JSON_DEPTH_MAX } from "../../core/json-depth.js";
import type { FailureMode } from "../../core/plan.js";
import { findReferences } from "../../core/template.js";
import type { StoreRequest } from "../../ports/store.js";
import type { StoredPlan, StoredTask, TaskInput } from "../../ports/task-store.js";
import type { CallableSpec } from "./calls-world.js";

/** One request to a call or worker agent. */
export interface TaskSubmission {
	/** `project:name`. */
	readonly agent: string;
	readonly action: string;
	readonly payload?: unknown;
	readonly context?: unknown;
	/** Higher ones go first; 0 unless given. */
	readonly priority?: number | undefined;
	readonly timeoutMs?: number | undefined;
	readonly maxAttempts?: number | undefined;
	readonly idempotent?: boolean | undefined;
}

export interface SubmitOptions {
	/** The same key again is the same task or plan (T5). */
	readonly idempotencyKey?: string | undefined;
	/** Carried by everything that comes of it; made up when not given. */
	readonly correlationId?: string | undefined;
	/** Who asks, for the record. */
	readonly by?: string | undefined;
	/** The request from outside that this is, for the store. */
	readonly request?: StoreRequest | undefined;
}

export interface PlannedTask extends TaskSubmission {
	readonly dependsOn?: readonly string[] | undefined;
}

export interface PlanSubmission {
	readonly name?: string | undefined;
	readonly onFailure?: FailureMode | undefined;
	readonly tasks: Readonly<Record<string, PlannedTask>>;
}

export interface NewTask {
	readonly task: StoredTask;
	readonly input: TaskInput;
}

export interface RecordContext {
	readonly newId: () => string;
	readonly nowMs: number;
	readonly specOf: (agentId: string) => CallableSpec;
	readonly options: SubmitOptions;
	readonly fingerprint: string | null;
}

/** What was asked for, in short; null when nobody will compare it. */
export function fingerprintOf(asked: unknown, { idempotencyKey }: SubmitOptions): string | null {
	if (idempotencyKey === undefined) return null;
	// Before anything else looks at it: what is too deep cannot be compared.
	if (isTooDeep(asked)) {
		const message = `the request is nested deeper than ${JSON_DEPTH_MAX} levels`;
		throw new ReeveError("validation_failed", message, "Flatten it, or send it as a string.");
	}
	return createHash("sha256").update(JSON.stringify(asked)).digest("hex");
}

/** A task that is a plan by itself. */
export function recordTask(submission: TaskSubmission, context: RecordContext): NewTask {
	const { newId, options, fingerprint } = context;
	const ids = { planId: newId(), correlationId: options.correlationId ?? newId() };
	const task = taskOf(submission, "root", context, ids);
	return {
		task: {
			...task,
			...{ alone: true, released: true, fingerprint },
			idempotencyKey: options.idempotencyKey ?? null,
		},
		input: inputOf(submission),
	};
}

/** A plan with all of its tasks, none of them handed on yet. */
export function recordPlan(
	submission: PlanSubmission,
	context: RecordContext,
): { readonly plan: StoredPlan; readonly tasks: readonly NewTask[] } {
	checkPlan(submission);
	const { newId, nowMs, options, fingerprint } = context;
	const ids = { planId: newId(), correlationId: options.correlationId ?? newId() };
	return {
		plan: {
			...ids,
			name: submission.name ?? "plan",
			status: "pending",
			onFailure: submission.onFailure ?? "fail_fast",
			reason: "accepted",
			idempotencyKey: options.idempotencyKey ?? null,
			fingerprint,
			createdAtMs: nowMs,
			endedAtMs: null,
		},
		tasks: Object.entries(submission.tasks).map(([name, task]) => ({
			task: { ...taskOf(task, name, context, ids), dependsOn: task.dependsOn ?? [] },
			input: inputOf(task),
		})),
	};
}

/** Nothing is an empty object to an agent, which would otherwise have to expect two kinds of nothing. */
function inputOf({ payload = {}, context = {} }: TaskSubmission): TaskInput {
	for (const [key, value] of Object.entries({ payload, context })) {
		if (!isTooDeep(value)) continue;
		const message = `the ${key} is nested deeper than ${JSON_DEPTH_MAX} levels`;
		throw new ReeveError("validation_failed", message, "Flatten it, or send it as a string.");
	}
	return { payload, context };
}

function taskOf(
	submission: TaskSubmission,
	name: string,
	{ newId, nowMs, specOf }: RecordContext,
	ids: { readonly planId: string; readonly correlationId: string },
): StoredTask {
	const { agent, action, priority = 0, timeoutMs, maxAttempts, idempotent } = submission;
	const spec = specOf(agent);
	const isSafe = spec.idempotent && !spec.unsafeActions.includes(action);
	return {
		taskId: newId(),
		...ids,
		...{ name, agentId: agent, action, priority, alone: false, released: false, dependsOn: [] },
		...{ status: "queued", attempts: 0, running: null, next: null, error: null },
		retry: { ...spec.retry, maxAttempts: maxAttempts ?? spec.retry.maxAttempts },
		timeoutMs: timeoutMs ?? spec.timeoutMs,
		idempotent: idempotent ?? isSafe,
		reason: "accepted",
		...{ idempotencyKey: null, fingerprint: null, replayOf: null, letter: null },
		...{ createdAtMs: nowMs, endedAtMs: null },
	};
}

/** A plan may be large, but somebody has to look at it (A6). */
const PLAN_TASKS_MAX = 1_000;

/** As in the fleet file. Names such as `__proto__` have a meaning of their own in JavaScript. */
const TASK_NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;

function checkPlan({ tasks }: PlanSubmission): void {
	const names = Object.keys(tasks);
	if (names.length === 0) refuse("a plan needs at least one task");
	if (names.length > PLAN_TASKS_MAX) refuse(`a plan can have at most ${PLAN_TASKS_MAX} tasks`);
	for (const [name, { dependsOn = [], payload }] of Object.entries(tasks)) {
		if (!TASK_NAME.test(name)) {
			refuse(
				`${JSON.stringify(name)} is not a valid task name: use up to 63 lower-case letters, digits, - and _`,
			);
		}
		const missing = dependsOn.find((needed) => !Object.hasOwn(tasks, needed));
		if (missing !== undefined)
			refuse(`task ${name} depends on ${missing}, which is not in the plan`);
		for (const { text, task } of findReferences(payload)) {
			if (task === null) {
				refuse(`task ${name}: \${${text}} is not a reference to a task's result`);
			} else if (!dependsOn.includes(task)) {
				refuse(`task ${name} uses the result of ${task}, but does not depend on it`);
			}
		}
	}
	const graph = new Map(names.map((name) => [name, tasks[name]?.dependsOn ?? []]));
	const [cycle] = findCycles(graph);
	if (cycle !== undefined) refuse(`circular dependency: ${cycle.join(" → ")}`);
}

function refuse(message: string): never {
	throw new ReeveError("planning_failed", message);
}

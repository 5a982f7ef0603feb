/**
 * What the store remembers of calls: tasks, their attempts, plans, and the agents' circuits. What a
 * task was given and what it answered are kept apart from its state, which changes often while they
 * do not.
 */

import type { BreakerState } from "../core/breaker.js";
import type { AgentResponse, AttemptError, CallerCode } from "../core/outcome.js";
import type { FailureMode, PlanStatus } from "../core/plan.js";
import type { RetrySettings } from "../core/retry.js";
import type { TaskStatus } from "../core/task.js";

/** Why a task did not succeed. */
export interface TaskError {
	/** What callers are told. */
	readonly code: CallerCode;
	/** How its last attempt failed; null when there was none. */
	readonly kind: AttemptError | null;
	readonly message: string;
}

export interface StoredTask {
	readonly taskId: string;
	readonly planId: string;
	/** Its name in the plan; `root` where it is the only one. */
	readonly name: string;
	/** Whether its plan is this task alone, and so has no record of its own. */
	readonly alone: boolean;
	readonly agentId: string;
	readonly action: string;
	readonly status: TaskStatus;
	readonly attempts: number;
	readonly retry: RetrySettings;
	readonly timeoutMs: number;
	readonly idempotent: boolean;
	/** Higher ones go first. */
	readonly priority: number;
	/** Names of tasks of the same plan. */
	readonly dependsOn: readonly string[];
	/** Whether it has been handed to the dispatcher. */
	readonly released: boolean;
	/** The attempt under way: the mark of its processes, and when it began (wall time). */
	readonly running: { readonly runId: string; readonly startedAtMs: number } | null;
	/** When the next attempt is due (wall time), and how far off that was when it was decided. */
	readonly next: { readonly dueAtMs: number; readonly afterMs: number } | null;
	readonly error: TaskError | null;
	readonly reason: string;
	readonly correlationId: string;
	readonly idempotencyKey: string | null;
	/** What was asked for under that key, to tell a repetition from something else. */
	readonly fingerprint: string | null;
	/** The dead letter that it replays. */
	readonly replayOf: string | null;
	/** What became of it as a dead letter; null while it waits for somebody, and for all others. */
	readonly letter: DeadLetterEnd | null;
	readonly createdAtMs: number;
	readonly endedAtMs: number | null;
}

export type DeadLetterEnd =
	| { readonly type: "replayed"; readonly taskId: string; readonly atMs: number }
	| { readonly type: "discarded"; readonly atMs: number };

/** What a task is given. */
export interface TaskInput {
	readonly payload: unknown;
	readonly context: unknown;
}

/** One try at a task, recorded when it has ended. */
export interface StoredAttempt {
	readonly taskId: string;
	/** From 1. */
	readonly n: number;
	readonly runId: string;
	readonly startedAtMs: number;
	readonly endedAtMs: number;
	readonly error: { readonly kind: AttemptError; readonly message: string } | null;
	/** What the agent answered, if it answered with a failure. */
	readonly response?: AgentResponse;
	/** The end of what it wrote to stderr. */
	readonly log: string;
}

export interface StoredPlan {
	readonly planId: string;
	readonly name: string;
	readonly status: PlanStatus;
	readonly onFailure: FailureMode;
	readonly reason: string;
	readonly correlationId: string;
	readonly idempotencyKey: string | null;
	readonly fingerprint: string | null;
	readonly createdAtMs: number;
	readonly endedAtMs: number | null;
}

export interface StoredBreaker {
	readonly agentId: string;
	readonly state: BreakerState;
}

/** The part of a change that is about calls. */
export interface TaskWrites {
	putTask(task: StoredTask): void;
	putTaskInput(taskId: string, input: TaskInput): void;
	putTaskResult(taskId: string, result: unknown): void;
	putAttempt(attempt: StoredAttempt): void;
	putPlan(plan: StoredPlan): void;
	putBreaker(breaker: StoredBreaker): void;
}

export interface TaskQuery {
	/** Newest first, from before this one on. */
	readonly before?: string;
	readonly limit: number;
	/** The beginning or the end of the id. */
	readonly part?: string;
	readonly agent?: string;
	/** Of this agent, or of the agents of this project. */
	readonly within?: string;
	readonly status?: TaskStatus;
	readonly plan?: string;
	/** Created at or after (wall time). */
	readonly sinceMs?: number;
	/** Dead letters of which nothing has become yet. */
	readonly openLetters?: boolean;
}

export type TaskCountQuery = Pick<TaskQuery, "agent" | "within" | "plan" | "sinceMs">;

export interface PlanQuery {
	readonly before?: string;
	readonly limit: number;
	/** The beginning or the end of the id. */
	readonly part?: string;
	readonly status?: PlanStatus;
	readonly sinceMs?: number;
}

export interface TaskReads {
	/** Those that have not ended, oldest first. */
	readOpenTasks(): readonly StoredTask[];
	readTask(taskId: string): StoredTask | null;
	readTasks(query: TaskQuery): readonly StoredTask[];
	/** How many tasks there are by status; statuses without tasks are left out. */
	countTasks(query: TaskCountQuery): Readonly<Partial<Record<TaskStatus, number>>>;
	/** Null when it was never stored. */
	readTaskInput(taskId: string): TaskInput | null;
	/** Undefined while there is none. */
	readTaskResult(taskId: string): unknown;
	/** In order. */
	readAttempts(taskId: string): readonly StoredAttempt[];
	findTask(idempotencyKey: string): StoredTask | null;
	readPlan(planId: string): StoredPlan | null;
	readOpenPlans(): readonly StoredPlan[];
	readPlans(query: PlanQuery): readonly StoredPlan[];
	findPlan(idempotencyKey: string): StoredPlan | null;
	readBreakers(): readonly StoredBreaker[];
}

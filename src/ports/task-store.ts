/**
 * The stored data of calls: tasks, their attempts, plans, and the agents' circuits. Input and result of
 * a task are stored separately from its state, which changes more often.
 */

import type { BreakerState } from "../core/breaker.js";
import type { AgentResponse, AttemptError, CallerCode } from "../core/outcome.js";
import type { FailureMode, PlanStatus } from "../core/plan.js";
import type { RetrySettings } from "../core/retry.js";
import type { TaskStatus } from "../core/task.js";

/** Why a task did not succeed. */
export interface TaskError {
	/** The code for callers. */
	readonly code: CallerCode;
	/** How its last attempt failed; null if there was none. */
	readonly kind: AttemptError | null;
	readonly message: string;
}

export interface StoredTask {
	readonly taskId: string;
	readonly planId: string;
	/** Its name in the plan; `root` for a single task. */
	readonly name: string;
	/** Whether its plan consists of this task alone and has no record of its own. */
	readonly alone: boolean;
	readonly agentId: string;
	readonly action: string;
	readonly status: TaskStatus;
	readonly attempts: number;
	readonly retry: RetrySettings;
	readonly timeoutMs: number;
	readonly idempotent: boolean;
	/** Tasks with a higher priority run first. */
	readonly priority: number;
	/** Names of tasks of the same plan. */
	readonly dependsOn: readonly string[];
	/** Whether it was passed to the dispatcher. */
	readonly released: boolean;
	/** The current attempt: the mark of its processes, and its start (wall time). */
	readonly running: { readonly runId: string; readonly startedAtMs: number } | null;
	/** When the next attempt is due (wall time), and the delay at the time of the decision. */
	readonly next: { readonly dueAtMs: number; readonly afterMs: number } | null;
	readonly error: TaskError | null;
	readonly reason: string;
	readonly correlationId: string;
	readonly idempotencyKey: string | null;
	/** A hash of the request with that key, to distinguish a repetition from a different request. */
	readonly fingerprint: string | null;
	/** The dead letter that it replays. */
	readonly replayOf: string | null;
	/** The result of its handling as a dead letter; null while it is open, and for all other tasks. */
	readonly letter: DeadLetterEnd | null;
	readonly createdAtMs: number;
	readonly endedAtMs: number | null;
	/** Of a task that the hosts of a cluster share: the host that runs it, or ran it last. */
	readonly host?: string;
}

export type DeadLetterEnd =
	| { readonly type: "replayed"; readonly taskId: string; readonly atMs: number }
	| { readonly type: "discarded"; readonly atMs: number };

/** The input of a task. */
export interface TaskInput {
	readonly payload: unknown;
	readonly context: unknown;
}

/** One attempt at a task, recorded when it has finished. */
export interface StoredAttempt {
	readonly taskId: string;
	/** From 1. */
	readonly n: number;
	readonly runId: string;
	readonly startedAtMs: number;
	readonly endedAtMs: number;
	readonly error: { readonly kind: AttemptError; readonly message: string } | null;
	/** The agent's response, if it reported a failure. */
	readonly response?: AgentResponse;
	/** The end of its stderr output. */
	readonly log: string;
	/** Of a task that the hosts of a cluster share: its host. */
	readonly host?: string;
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

/** The writes that concern calls. */
export interface TaskWrites {
	putTask(task: StoredTask): void;
	putTaskInput(taskId: string, input: TaskInput): void;
	putTaskResult(taskId: string, result: unknown): void;
	putAttempt(attempt: StoredAttempt): void;
	putPlan(plan: StoredPlan): void;
	putBreaker(breaker: StoredBreaker): void;
}

export interface TaskQuery {
	/** Newest first, starting before this id. */
	readonly before?: string;
	readonly limit: number;
	/** A prefix or suffix of the id. */
	readonly part?: string;
	readonly agent?: string;
	/** Of this agent, or of the agents of this project. */
	readonly within?: string;
	readonly status?: TaskStatus;
	readonly plan?: string;
	/** Created at or after (wall time). */
	readonly sinceMs?: number;
	/** Only dead letters that are neither replayed nor discarded. */
	readonly openLetters?: boolean;
}

export type TaskCountQuery = Pick<TaskQuery, "agent" | "within" | "plan" | "sinceMs">;

export interface LetterCount {
	readonly agentId: string;
	readonly count: number;
	readonly sinceMs: number;
}

export interface PlanQuery {
	readonly before?: string;
	readonly limit: number;
	/** A prefix or suffix of the id. */
	readonly part?: string;
	readonly status?: PlanStatus;
	readonly sinceMs?: number;
}

export interface TaskReads {
	/** Unfinished tasks, oldest first. */
	readOpenTasks(): readonly StoredTask[];
	readTask(taskId: string): StoredTask | null;
	readTasks(query: TaskQuery): readonly StoredTask[];
	/** The number of tasks by status; statuses without tasks are omitted. */
	countTasks(query: TaskCountQuery): Readonly<Partial<Record<TaskStatus, number>>>;
	/** The open dead letters of each agent that has any, and when its first one failed (wall time). */
	countLetters(): readonly LetterCount[];
	/** Null if it was never stored. */
	readTaskInput(taskId: string): TaskInput | null;
	/** Undefined if there is none. */
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

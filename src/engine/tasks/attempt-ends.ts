/**
 * Records how an attempt ended, with all consequences in one commit: the result or the error of its task, the retry or
 * the dead letter, the circuit of its agent, and the next steps of its plan.
 */

import type { Permit } from "../../core/breaker.js";
import type { Outcome } from "../../core/outcome.js";
import { decideRetry, type RetryDecision } from "../../core/retry.js";
import type { AttemptEnd } from "../../ports/executor.js";
import type { StoredTask } from "../../ports/task-store.js";
import { endedAttempt, withoutLimits } from "./attempt.js";
import { type Book, type Change, replaceIn } from "./book.js";
import type { Breakers } from "./breakers.js";
import type { CircuitGate } from "./circuit-gate.js";
import { advancePlan, type PlanWorld } from "./plan-steps.js";
import { stepTask, type TaskStep, taskErrorOf } from "./task-state.js";
import type { TasksWorld } from "./tasks-world.js";

export class AttemptEnds {
	readonly #world: Pick<TasksWorld, "random" | "log">;
	readonly #breakers: Breakers;
	readonly #gate: CircuitGate;
	readonly #plans: PlanWorld;

	constructor(
		world: Pick<TasksWorld, "random" | "log">,
		breakers: Breakers,
		gate: CircuitGate,
		plans: PlanWorld,
	) {
		this.#world = world;
		this.#breakers = breakers;
		this.#gate = gate;
		this.#plans = plans;
	}

	get #book(): Book {
		return this.#plans.book;
	}

	/** Records the outcome of an attempt, with all consequences. */
	async record(taskId: string, permit: Permit | null, end: AttemptEnd): Promise<void> {
		await this.#book.commit((change) => {
			const found = this.#book.task(taskId);
			if (found === undefined) return;
			const { outcome } = end;
			const task = outcome === null ? found : withoutLimits(found, outcome);
			const decision = outcome === null ? null : this.#decideRetry(change, task, outcome);
			if (permit !== null) {
				const ended = outcome === null || decision === null ? null : { outcome, decision };
				this.#breakers.settleIn(change, task.agentId, permit, ended);
			}
			if (task.running === null) return;
			const durationMs = Math.max(0, change.atMs - task.running.startedAtMs);
			change.transaction.putAttempt(endedAttempt(task, end, change.atMs));
			if (outcome === null || decision === null) {
				const cancelled = { reason: "cancelled while running", durationMs };
				this.finish(change, task, stepTask(task, { type: "cancel" }, change.atMs, cancelled));
			} else if (outcome.ok) {
				this.#succeed(change, task, outcome.result, { reason: decision.reason, durationMs });
			} else {
				// Before the retry is enqueued, which needs it.
				if (decision.type === "retry") change.after(() => this.#gate.keep(taskId, permit));
				this.#fail(change, task, { outcome, decision, durationMs }, end.over);
			}
		});
	}

	#decideRetry(change: Change, task: StoredTask, outcome: Outcome): RetryDecision {
		const { attempts: attempt, idempotent, agentId, taskId, correlationId } = task;
		const facts = { attempt, outcome, idempotent, random: this.#world.random() };
		const decision = decideRetry(facts, task.retry);
		const ids = { agent: agentId, task: taskId, correlation_id: correlationId };
		// A line for each success would crowd out everything else in the log; the task's record contains
		// them.
		if (!outcome.ok) change.after(() => this.#world.log.attemptFailed(decision.reason, ids));
		return decision;
	}

	#succeed(
		change: Change,
		task: StoredTask,
		result: unknown,
		details: { readonly reason: string; readonly durationMs: number },
	): void {
		const { taskId, attempts: attempt } = task;
		change.transaction.putTaskResult(taskId, result);
		const plan = this.#book.plan(task.planId);
		if (plan !== undefined) replaceIn(change, plan.results, task.name, result ?? null);
		const step = stepTask(task, { type: "succeed", attempt }, change.atMs, details);
		this.finish(change, task, step);
	}

	#fail(
		change: Change,
		task: StoredTask,
		{
			outcome,
			decision,
			durationMs,
		}: {
			readonly outcome: Extract<Outcome, { ok: false }>;
			readonly decision: RetryDecision;
			readonly durationMs: number;
		},
		/** When all processes of the attempt are gone, if that is later (T6). */
		over: Promise<void> | undefined,
	): void {
		const { atMs } = change;
		const { attempts: attempt } = task;
		const failed = { reason: decision.reason, durationMs, error: outcome.error };
		const error = taskErrorOf(outcome);
		if (decision.type !== "retry") {
			const letter = { type: "dead_letter", attempt } as const;
			this.finish(change, task, stepTask(task, letter, atMs, { ...failed, with: { error } }));
			return;
		}
		const { afterMs } = decision;
		const next = { dueAtMs: atMs + afterMs, afterMs };
		const step = stepTask(task, { type: "retry", attempt }, atMs, {
			...failed,
			with: { error, next },
		});
		this.#book.putTask(change, step);
		change.after(() => {
			if (over === undefined) this.#plans.enqueue(step.task);
			else void over.then(() => this.#plans.enqueue(step.task));
		});
	}

	/** Writes a task's final state and advances its plan. */
	finish(change: Change, task: StoredTask, step: TaskStep): void {
		if (!step.changed) return;
		this.#book.putTask(change, step);
		const plan = this.#book.plan(task.planId);
		if (plan !== undefined) advancePlan(this.#plans, change, plan);
	}
}

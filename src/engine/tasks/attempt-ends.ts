/**
 * Records how an attempt ended, with all consequences in one commit: the result or the error of its task, the retry or
 * the dead letter, the circuit of its agent, and the next steps of its plan.
 */

import type { Permit } from "../../core/breaker.js";
import type { RetryDecision } from "../../core/retry.js";
import type { AttemptEnd } from "../../ports/executor.js";
import type { StoredTask } from "../../ports/task-store.js";
import { type Book, type Change, replaceIn } from "./book.js";
import type { Breakers } from "./breakers.js";
import type { CircuitGate } from "./circuit-gate.js";
import { decideEnd } from "./decide-end.js";
import { advancePlan, type PlanWorld } from "./plan-steps.js";
import type { TaskStep } from "./task-state.js";
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
			const task = this.#book.task(taskId);
			if (task === undefined) return;
			const { outcome } = end;
			const { decision, recorded } = decideEnd(task, end, change.atMs, this.#world.random);
			if (outcome?.ok === false && decision !== null) this.#log(change, task, decision);
			if (permit !== null) {
				const ended = outcome === null || decision === null ? null : { outcome, decision };
				this.#breakers.settleIn(change, task.agentId, permit, ended);
			}
			if (recorded === null) return;
			change.transaction.putAttempt(recorded.attempt);
			if (outcome?.ok === true) this.#putResult(change, task, outcome.result);
			if (decision?.type !== "retry") {
				this.finish(change, task, recorded.step);
				return;
			}
			// Before the retry is enqueued, which needs it.
			change.after(() => this.#gate.keep(taskId, permit));
			this.#retry(change, recorded.step, end.over);
		});
	}

	/** A line for each success would crowd out everything else in the log; the task's record contains them. */
	#log(change: Change, { agentId, taskId, correlationId }: StoredTask, decision: RetryDecision) {
		const ids = { agent: agentId, task: taskId, correlation_id: correlationId };
		change.after(() => this.#world.log.attemptFailed(decision.reason, ids));
	}

	#putResult(change: Change, { taskId, planId, name }: StoredTask, result: unknown): void {
		change.transaction.putTaskResult(taskId, result);
		const plan = this.#book.plan(planId);
		if (plan !== undefined) replaceIn(change, plan.results, name, result ?? null);
	}

	/** `over`: when all processes of the attempt are gone, if that is later (T6). */
	#retry(change: Change, step: TaskStep, over: Promise<void> | undefined): void {
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

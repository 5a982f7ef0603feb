/**
 * Takes tasks and plans on. What is answered here is durable (T4), and the same idempotency key is one
 * task or plan however often it is sent (T5).
 */

import { ReeveError } from "../../core/errors.js";
import type { StoredTask } from "../../ports/task-store.js";
import type { Book } from "./book.js";
import { type CallableSpec, type CallsWorld, callable } from "./calls-world.js";
import type { Dispatcher } from "./dispatcher.js";
import { advancePlan } from "./plan-steps.js";
import {
	fingerprintOf,
	type PlanSubmission,
	type RecordContext,
	recordPlan,
	recordTask,
	type SubmitOptions,
	type TaskSubmission,
} from "./submission.js";
import { aboutTask } from "./task-state.js";

/** More open tasks than this are not taken on (A6). */
const OPEN_TASKS_MAX = 100_000;

export class Intake {
	readonly #world: CallsWorld;
	readonly #book: Book;
	readonly #dispatcher: Dispatcher;
	/** Submissions under way, by their idempotency key. */
	readonly #submitting = new Map<string, Promise<string>>();

	constructor(world: CallsWorld, book: Book, dispatcher: Dispatcher) {
		this.#world = world;
		this.#book = book;
		this.#dispatcher = dispatcher;
	}

	submit(submission: TaskSubmission, options: SubmitOptions): Promise<string> {
		const fingerprint = fingerprintOf(submission, options);
		return this.#once("task", options, fingerprint, () =>
			this.#takeOn(submission, this.#context(options, fingerprint), null),
		);
	}

	submitPlan(submission: PlanSubmission, options: SubmitOptions): Promise<string> {
		const fingerprint = fingerprintOf(submission, options);
		return this.#once("plan", options, fingerprint, () =>
			this.#takeOnPlan(submission, this.#context(options, fingerprint)),
		);
	}

	/** A new task in place of a dead letter, whose end is written in the same moment. */
	replay(submission: TaskSubmission, letter: () => StoredTask): Promise<string> {
		const { correlationId } = letter();
		return this.#takeOn(submission, this.#context({ correlationId }, null), letter);
	}

	/** One task or plan per key, also when the same is asked for twice at the same moment (T5). */
	async #once(
		kind: "task" | "plan",
		{ idempotencyKey: key }: SubmitOptions,
		fingerprint: string | null,
		create: () => Promise<string>,
	): Promise<string> {
		if (key === undefined) return create();
		const slot = `${kind} ${key}`;
		await this.#submitting.get(slot)?.catch(() => {});
		const { store } = this.#world;
		const task = kind === "task" ? store.findTask(key) : null;
		const known = task ?? (kind === "plan" ? store.findPlan(key) : null);
		if (known !== null) {
			if (known.fingerprint !== fingerprint) {
				throw new ReeveError("idempotency_conflict", `the key ${key} was used for another ${kind}`);
			}
			return task?.taskId ?? known.planId;
		}
		const pending = this.#submitting.get(slot) ?? create();
		this.#submitting.set(slot, pending);
		return pending.finally(() => this.#submitting.delete(slot));
	}

	async #takeOn(
		submission: TaskSubmission,
		context: RecordContext,
		letter: (() => StoredTask) | null,
	): Promise<string> {
		this.#refuseIfFull(1);
		const { task: recorded, input } = recordTask(submission, context);
		const task = { ...recorded, replayOf: letter?.().taskId ?? null };
		const { by = null } = context.options;
		const data = { action: task.action, name: task.name, replay_of: task.replayOf, by };
		await this.#book.commit((change) => {
			const { transaction, atMs, after } = change;
			if (letter !== null) {
				// Looked at again: somebody else may have been faster.
				const replayed = letter();
				const end = { type: "replayed", taskId: task.taskId, atMs } as const;
				transaction.putTask({ ...replayed, letter: end });
				const event = { ...aboutTask(replayed), type: "dead_letter.replayed" } as const;
				transaction.appendEvent({ ...event, data: { as: task.taskId } }, atMs);
			}
			transaction.putTaskInput(task.taskId, input);
			const accepted = { ...aboutTask(task), type: "task.accepted", data } as const;
			this.#book.putTask(change, { task, events: [accepted] });
			after(() => this.#dispatcher.enqueue(task));
		});
		return task.taskId;
	}

	async #takeOnPlan(submission: PlanSubmission, context: RecordContext): Promise<string> {
		const { plan, tasks } = recordPlan(submission, context);
		this.#refuseIfFull(tasks.length);
		const { by = null } = context.options;
		await this.#book.commit((change) => {
			const about = { plan: plan.planId, correlation_id: plan.correlationId };
			const data = { name: plan.name, tasks: tasks.length, by };
			const inputs = new Map(tasks.map(({ task, input }) => [task.name, input]));
			const accepted = { ...about, type: "plan.accepted", data } as const;
			const open = this.#book.putNewPlan(change, plan, inputs, accepted);
			for (const { task, input } of tasks) {
				change.transaction.putTaskInput(task.taskId, input);
				const event = { action: task.action, name: task.name, replay_of: null, by };
				const events = [{ ...aboutTask(task), type: "task.accepted", data: event } as const];
				this.#book.putTask(change, { task, events });
			}
			advancePlan(this.#dispatcher.plans, change, open);
		});
		return plan.planId;
	}

	#context(options: SubmitOptions, fingerprint: string | null): RecordContext {
		const { newId, clock } = this.#world;
		const nowMs = clock.now().wallMs;
		return { newId, nowMs, options, fingerprint, specOf: (agentId) => this.#callable(agentId) };
	}

	#callable(agentId: string): CallableSpec {
		const known = this.#world.specOf(agentId);
		if (known === null) throw new ReeveError("agent_not_found", `there is no agent ${agentId}`);
		const spec = callable(known);
		if (spec === null) throw new ReeveError("not_callable", `${agentId} takes no requests`);
		const spent = this.#world.overBudget(agentId);
		if (spent !== null) throw new ReeveError("over_budget", `${agentId} is not called: ${spent}`);
		return spec;
	}

	#refuseIfFull(more: number): void {
		const health = this.#world.store.health();
		if (!health.ok) {
			throw new ReeveError("write_failed", `no task is taken on: ${health.reason}`);
		}
		if (this.#book.size + more > OPEN_TASKS_MAX) {
			throw new ReeveError("queue_full", `${this.#book.size} tasks wait already`);
		}
	}
}

/**
 * Accepts tasks and plans. A submission is acknowledged when it is durable (T4), and the same
 * idempotency key is one task or plan however often it is sent (T5). While the circuit of an agent is
 * open, requests to it are refused before anything is recorded: no task, no event, and the idempotency
 * key stays unused (B2).
 */

import { ReeveError } from "../../core/errors.js";
import { renderElapsed } from "../../core/units.js";
import type { StoredTask } from "../../ports/task-store.js";
import type { Book } from "./book.js";
import type { Breakers } from "./breakers.js";
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
import { taskEventFields } from "./task-state.js";
import { type CallableSpec, callable, type TasksWorld } from "./tasks-world.js";

/** The maximum number of open tasks (A6). */
const OPEN_TASKS_MAX = 100_000;

export class Intake {
	readonly #world: TasksWorld;
	readonly #book: Book;
	readonly #dispatcher: Dispatcher;
	readonly #breakers: Breakers;
	/** Submissions in progress, by their idempotency key. */
	readonly #submitting = new Map<string, Promise<string>>();

	constructor(world: TasksWorld, book: Book, dispatcher: Dispatcher, breakers: Breakers) {
		this.#world = world;
		this.#book = book;
		this.#dispatcher = dispatcher;
		this.#breakers = breakers;
	}

	submit(submission: TaskSubmission, options: SubmitOptions): Promise<string> {
		const fingerprint = fingerprintOf(submission, options);
		return this.#once("task", options, fingerprint, () =>
			this.#accept(submission, this.#context(options, fingerprint), null),
		);
	}

	submitPlan(submission: PlanSubmission, options: SubmitOptions): Promise<string> {
		const fingerprint = fingerprintOf(submission, options);
		return this.#once("plan", options, fingerprint, () =>
			this.#acceptPlan(submission, this.#context(options, fingerprint)),
		);
	}

	/** A new task that replays a dead letter, which is closed in the same commit. */
	replay(submission: TaskSubmission, letter: () => StoredTask): Promise<string> {
		const { correlationId } = letter();
		return this.#accept(submission, this.#context({ correlationId }, null), letter);
	}

	/** One task or plan per key, also for simultaneous requests (T5). */
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
				throw new ReeveError(
					"idempotency_conflict",
					`the idempotency key ${key} was already used for a different ${kind}`,
				);
			}
			return task?.taskId ?? known.planId;
		}
		const pending = this.#submitting.get(slot) ?? create();
		this.#submitting.set(slot, pending);
		return pending.finally(() => this.#submitting.delete(slot));
	}

	async #accept(
		submission: TaskSubmission,
		context: RecordContext,
		letter: (() => StoredTask) | null,
	): Promise<string> {
		this.#refuseIfFull(1);
		const { task: recorded, input } = recordTask(submission, context);
		this.#refuseOpenCircuits([recorded.agentId]);
		const task = { ...recorded, replayOf: letter?.().taskId ?? null };
		const { by = null } = context.options;
		const data = { action: task.action, name: task.name, replay_of: task.replayOf, by };
		await this.#book.commit((change) => {
			const { transaction, atMs, after } = change;
			if (letter !== null) {
				// Checked again: another request may have been faster.
				const replayed = letter();
				const end = { type: "replayed", taskId: task.taskId, atMs } as const;
				transaction.putTask({ ...replayed, letter: end });
				const event = { ...taskEventFields(replayed), type: "dead_letter.replayed" } as const;
				transaction.appendEvent({ ...event, data: { as: task.taskId } }, atMs);
			}
			transaction.putTaskInput(task.taskId, input);
			const accepted = { ...taskEventFields(task), type: "task.accepted", data } as const;
			const begun = this.#dispatcher.beginIn(change, task, input);
			const events = [accepted, ...(begun?.events ?? [])];
			this.#book.putTask(change, { task: begun?.task ?? task, events });
			if (begun === null) after(() => this.#dispatcher.enqueue(task));
			context.options.alongside?.(change, task.taskId);
		}, context.options.request);
		return task.taskId;
	}

	async #acceptPlan(submission: PlanSubmission, context: RecordContext): Promise<string> {
		const { plan, tasks } = recordPlan(submission, context);
		this.#refuseIfFull(tasks.length);
		this.#refuseOpenCircuits(tasks.map(({ task }) => task.agentId));
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
				const events = [{ ...taskEventFields(task), type: "task.accepted", data: event } as const];
				this.#book.putTask(change, { task, events });
			}
			advancePlan(this.#dispatcher.plans, change, open);
			context.options.alongside?.(change, plan.planId);
		});
		return plan.planId;
	}

	#context(options: SubmitOptions, fingerprint: string | null): RecordContext {
		const { newId, clock } = this.#world;
		const nowMs = clock.now().wallMs;
		return { newId, nowMs, options, fingerprint, specOf: (agentId) => this.#callable(agentId) };
	}

	#callable(agentId: string): CallableSpec {
		const known = this.#world.agents.specOf(agentId);
		if (known === null) throw new ReeveError("agent_not_found", `unknown agent ${agentId}`);
		const spec = callable(known);
		if (spec === null) throw new ReeveError("not_callable", `${agentId} accepts no requests`);
		const spent = this.#world.agents.overBudget(agentId);
		if (spent !== null)
			throw new ReeveError("over_budget", `${agentId} cannot be called: ${spent}`);
		return spec;
	}

	/** All circuits are checked before anything is recorded, so no process starts for a part of a plan. */
	#refuseOpenCircuits(agentIds: readonly string[]): void {
		const open = [...new Set(agentIds)]
			.map((agent) => ({ agent, leftMs: this.#breakers.refusesForMs(agent) }))
			.filter(({ leftMs }) => leftMs > 0);
		if (open.length === 0) return;
		const longestMs = Math.max(...open.map(({ leftMs }) => leftMs));
		const names = open.map(({ agent }) => agent);
		const circuits = open.map(({ agent, leftMs }) => {
			const { consecutiveFailures: count } = this.#breakers.state(agent);
			const why = count === 1 ? "1 request" : `${count} consecutive requests`;
			return `the circuit of ${agent} is open for another ${renderElapsed(leftMs)}, because ${why} failed`;
		});
		const close = names.map((name) => `\`reeve resume ${name}\``).join(", ");
		throw new ReeveError(
			"agent_unavailable",
			`not accepted: ${circuits.join("; ")}`,
			`Try again in ${renderElapsed(longestMs)}, or fix the cause and close the circuit: ${close}.`,
			{ agents: names, retry_after_s: Math.max(1, Math.ceil(longestMs / 1_000)) },
		);
	}

	#refuseIfFull(more: number): void {
		if (this.#dispatcher.isClosed) {
			throw new ReeveError("daemon_stopping", "not accepted: the daemon is stopping");
		}
		const health = this.#world.store.health();
		if (!health.ok) {
			throw new ReeveError("write_failed", `no task can be accepted: ${health.reason}`);
		}
		if (this.#book.size + more > OPEN_TASKS_MAX) {
			throw new ReeveError(
				"queue_full",
				`the limit of queued tasks is reached: ${this.#book.size}`,
			);
		}
	}
}

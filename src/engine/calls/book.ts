/**
 * The tasks and plans that have not ended, as the store has them. All changes are made inside a commit,
 * one after another: whoever decides there sees everything that was decided before, also what is not
 * durable yet. What is to happen outside because of a change happens after it is durable (T4).
 *
 * Keeps T1 and T2 together with the table in core: a task leaves the book only by its one end.
 */

import { applyPlanEvent, type PlanEventType } from "../../core/plan.js";
import { isEnded } from "../../core/task.js";
import type { Clock } from "../../ports/clock.js";
import type { NewEvent, Store, StoreTransaction } from "../../ports/store.js";
import type { StoredPlan, StoredTask, TaskInput } from "../../ports/task-store.js";
import type { TaskStep } from "./task-state.js";

/** A plan that has not ended, with all of its tasks, those that have ended too. */
export interface OpenPlan {
	plan: StoredPlan;
	readonly tasks: Map<string, StoredTask>;
	/** What the tasks that have not been handed on were given, by name. */
	readonly inputs: Map<string, TaskInput>;
	/** Results that later tasks may use, by the task's name. */
	readonly results: Map<string, unknown>;
}

/** A change under way. */
export interface Change {
	readonly transaction: StoreTransaction;
	/** Wall time of everything in it. */
	readonly atMs: number;
	/** Runs when the change is durable. */
	readonly after: (action: () => void) => void;
}

export class Book {
	readonly #store: Store;
	readonly #clock: Clock;
	readonly #tasks = new Map<string, StoredTask>();
	readonly #plans = new Map<string, OpenPlan>();
	readonly #waiters = new Map<string, Set<() => void>>();

	constructor(store: Store, clock: Clock) {
		this.#store = store;
		this.#clock = clock;
	}

	/** Takes up what is stored. */
	load(): void {
		for (const task of this.#store.readOpenTasks()) this.#tasks.set(task.taskId, task);
		for (const plan of this.#store.readOpenPlans()) {
			const tasks = this.#store.readTasks({ plan: plan.planId, limit: Number.MAX_SAFE_INTEGER });
			const open: OpenPlan = {
				...{ plan, inputs: new Map(), results: new Map() },
				tasks: new Map(tasks.toReversed().map((task) => [task.name, task])),
			};
			for (const { name, taskId, status, released } of tasks) {
				const input = released ? null : this.#store.readTaskInput(taskId);
				if (input !== null) open.inputs.set(name, input);
				if (status === "succeeded") open.results.set(name, this.#store.readTaskResult(taskId));
			}
			this.#plans.set(plan.planId, open);
		}
	}

	get size(): number {
		return this.#tasks.size;
	}

	/** An open task. */
	task(taskId: string): StoredTask | undefined {
		return this.#tasks.get(taskId);
	}

	openTasks(): Iterable<StoredTask> {
		return this.#tasks.values();
	}

	/** An open plan. */
	plan(planId: string): OpenPlan | undefined {
		return this.#plans.get(planId);
	}

	openPlans(): Iterable<OpenPlan> {
		return this.#plans.values();
	}

	async commit<T>(change: (change: Change) => T): Promise<T> {
		const actions: (() => void)[] = [];
		const result = await this.#store.commit((transaction) =>
			change({
				transaction,
				atMs: this.#clock.now().wallMs,
				after: (action) => void actions.push(action),
			}),
		);
		for (const action of actions) action();
		return result;
	}

	/** Writes a task that is new, or the step that it made. */
	putTask({ transaction, atMs, after }: Change, { task, events }: Omit<TaskStep, "changed">): void {
		transaction.putTask(task);
		for (const event of events) transaction.appendEvent(event, atMs);
		this.#plans.get(task.planId)?.tasks.set(task.name, task);
		if (!isEnded(task.status)) {
			this.#tasks.set(task.taskId, task);
			return;
		}
		this.#tasks.delete(task.taskId);
		after(() => this.#wake(task.taskId));
	}

	putNewPlan(
		{ transaction, atMs }: Change,
		plan: StoredPlan,
		inputs: ReadonlyMap<string, TaskInput>,
		event: NewEvent,
	): OpenPlan {
		transaction.putPlan(plan);
		transaction.appendEvent(event, atMs);
		const open = { plan, tasks: new Map(), inputs: new Map(inputs), results: new Map() };
		this.#plans.set(plan.planId, open);
		return open;
	}

	/** Moves a plan, if what happened moves it. */
	stepPlan(change: Change, open: OpenPlan, event: PlanEventType, reason: string): void {
		const { status, changed } = applyPlanEvent(open.plan.status, event);
		if (!changed) return;
		const { transaction, atMs, after } = change;
		const { planId, correlationId, status: from } = open.plan;
		const ended = status === "succeeded" || status === "failed" || status === "cancelled";
		open.plan = { ...open.plan, status, reason, endedAtMs: ended ? atMs : null };
		transaction.putPlan(open.plan);
		const data = { from, to: status, reason };
		const about = { plan: planId, correlation_id: correlationId };
		transaction.appendEvent({ ...about, type: "plan.changed", data }, atMs);
		if (!ended) return;
		this.#plans.delete(planId);
		after(() => this.#wake(planId));
	}

	/** Resolves when the task or plan has ended, or after a while. */
	async waitForEnd(id: string, withinMs: number): Promise<void> {
		if (withinMs <= 0 || (!this.#tasks.has(id) && !this.#plans.has(id))) return;
		await new Promise<void>((resolve) => {
			const waiters = this.#waiters.get(id) ?? new Set();
			this.#waiters.set(id, waiters);
			const done = () => {
				cancel();
				waiters.delete(done);
				if (waiters.size === 0) this.#waiters.delete(id);
				resolve();
			};
			const cancel = this.#clock.schedule(withinMs, done);
			waiters.add(done);
		});
	}

	#wake(id: string): void {
		for (const done of [...(this.#waiters.get(id) ?? [])]) done();
	}
}

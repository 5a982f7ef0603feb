/**
 * Unfinished tasks and plans, as stored. All changes are made inside a commit, one after another: a
 * change sees all earlier decisions, including those that are not durable yet. If the commit is rolled
 * back, so is the book. Effects outside of the book happen after it is durable (T4).
 *
 * Keeps T1 and T2 together with the table in core: a task leaves the book only by its one end.
 */

import { applyPlanEvent, type PlanEventType } from "../../core/plan.js";
import { isEnded } from "../../core/task.js";
import type { Clock } from "../../ports/clock.js";
import type { NewEvent, Store, StoreRequest, StoreTransaction } from "../../ports/store.js";
import type { StoredPlan, StoredTask, TaskInput } from "../../ports/task-store.js";
import type { TaskStep } from "./task-state.js";

/** An unfinished plan with all of its tasks, including finished ones. */
export interface OpenPlan {
	plan: StoredPlan;
	readonly tasks: Map<string, StoredTask>;
	/** The inputs of tasks that were not passed on yet, by name. */
	readonly inputs: Map<string, TaskInput>;
	/** Results that later tasks may use, by the task's name. */
	readonly results: Map<string, unknown>;
}

/** A change in progress. */
export interface Change {
	readonly transaction: StoreTransaction;
	/** Wall time of the whole change. */
	readonly atMs: number;
	/** Runs when the change is durable. */
	readonly after: (action: () => void) => void;
	/** Restores memory if the change is rolled back. The change runs again later. */
	readonly onRollback: (undo: () => void) => void;
}

/** A task or plan that has ended. */
export type EndedWork =
	| { readonly type: "task"; readonly task: StoredTask }
	| { readonly type: "plan"; readonly plan: StoredPlan };

export class Book {
	readonly #store: Store;
	readonly #clock: Clock;
	readonly #tasks = new Map<string, StoredTask>();
	readonly #plans = new Map<string, OpenPlan>();
	readonly #waiters = new Map<string, Set<() => void>>();
	/** Set while the daemon stops: whether waiting for this task or plan still makes sense. */
	#mayEnd: ((id: string) => boolean) | null = null;
	#onEnd: (change: Change, ended: EndedWork) => void = () => {};

	constructor(store: Store, clock: Clock) {
		this.#store = store;
		this.#clock = clock;
	}

	/** Writes in the commit that ends a task or plan. There is one listener. */
	listen(onEnd: (change: Change, ended: EndedWork) => void): void {
		this.#onEnd = onEnd;
	}

	/** Restores the stored tasks and plans. */
	load(): void {
		for (const task of this.#store.readOpenTasks()) this.#tasks.set(task.taskId, task);
		for (const plan of this.#store.readOpenPlans()) {
			const tasks = this.#store.readTasks({ plan: plan.planId, limit: Number.MAX_SAFE_INTEGER });
			const open: OpenPlan = {
				plan,
				inputs: new Map(),
				results: new Map(),
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

	async commit<T>(change: (change: Change) => T, request?: StoreRequest): Promise<T> {
		let actions: (() => void)[] = [];
		let atMs: number | null = null;
		const result = await this.#store.commit((transaction) => {
			// It may run more than once: the time is that of the first run, the actions are those of the
			// last.
			actions = [];
			atMs ??= this.#clock.now().wallMs;
			return change({
				transaction,
				atMs,
				after: (action) => void actions.push(action),
				onRollback: (undo) => transaction.onRollback(undo),
			});
		}, request);
		for (const action of actions) action();
		return result;
	}

	/** Writes a new task, or a step of a task. */
	putTask(change: Change, { task, events }: Omit<TaskStep, "changed">): void {
		const { transaction, atMs, after } = change;
		transaction.putTask(task);
		for (const event of events) transaction.appendEvent(event, atMs);
		const plan = this.#plans.get(task.planId);
		if (plan !== undefined) replaceIn(change, plan.tasks, task.name, task);
		const isOpen = !isEnded(task.status);
		replaceIn(change, this.#tasks, task.taskId, isOpen ? task : undefined);
		if (isOpen) return;
		after(() => this.#wake(task.taskId));
		this.#onEnd(change, { type: "task", task });
	}

	putNewPlan(
		change: Change,
		plan: StoredPlan,
		inputs: ReadonlyMap<string, TaskInput>,
		event: NewEvent,
	): OpenPlan {
		const { transaction, atMs } = change;
		transaction.putPlan(plan);
		transaction.appendEvent(event, atMs);
		const open = { plan, tasks: new Map(), inputs: new Map(inputs), results: new Map() };
		replaceIn<OpenPlan>(change, this.#plans, plan.planId, open);
		return open;
	}

	/** Changes the state of a plan, if the event applies. */
	stepPlan(change: Change, open: OpenPlan, event: PlanEventType, reason: string): void {
		const { status, changed } = applyPlanEvent(open.plan.status, event);
		if (!changed) return;
		const { transaction, atMs, after, onRollback } = change;
		const { plan: before } = open;
		const { planId, correlationId, status: from } = before;
		onRollback(() => {
			open.plan = before;
		});
		const ended = status === "succeeded" || status === "failed" || status === "cancelled";
		open.plan = { ...open.plan, status, reason, endedAtMs: ended ? atMs : null };
		transaction.putPlan(open.plan);
		const data = { from, to: status, reason };
		const about = { plan: planId, correlation_id: correlationId };
		transaction.appendEvent({ ...about, type: "plan.changed", data }, atMs);
		if (!ended) return;
		replaceIn(change, this.#plans, planId, undefined);
		after(() => this.#wake(planId));
		this.#onEnd(change, { type: "plan", plan: open.plan });
	}

	/**
	 * The daemon stops: clients that wait for a task or plan that can no longer finish get a response
	 * now. The others may wait for the rest of the time, even if they asked for less.
	 */
	answerWaiters(mayEnd: (id: string) => boolean): void {
		this.#mayEnd = mayEnd;
		for (const id of [...this.#waiters.keys()]) if (!mayEnd(id)) this.#wake(id);
	}

	/** Resolves when the task or plan has finished, or after a timeout. */
	async waitForEnd(id: string, withinMs: number, signal?: AbortSignal): Promise<void> {
		if (withinMs <= 0 || signal?.aborted || (!this.#tasks.has(id) && !this.#plans.has(id))) return;
		if (this.#mayEnd?.(id) === false) return;
		await new Promise<void>((resolve) => {
			const waiters = this.#waiters.get(id) ?? new Set();
			this.#waiters.set(id, waiters);
			const done = () => {
				cancel();
				signal?.removeEventListener("abort", done);
				waiters.delete(done);
				if (waiters.size === 0) this.#waiters.delete(id);
				resolve();
			};
			const cancel = this.#clock.schedule(withinMs, () => {
				if (this.#mayEnd === null) done();
			});
			signal?.addEventListener("abort", done);
			waiters.add(done);
		});
	}

	#wake(id: string): void {
		for (const done of [...(this.#waiters.get(id) ?? [])]) done();
	}
}

/** Sets or, with undefined, removes an entry of a map, as part of a change. */
export function replaceIn<T>(
	{ onRollback }: Pick<Change, "onRollback">,
	map: Map<string, T>,
	key: string,
	value: T | undefined,
): void {
	const had = map.has(key);
	const before = map.get(key);
	onRollback(() => {
		if (had) map.set(key, before as T);
		else map.delete(key);
	});
	if (value === undefined) map.delete(key);
	else map.set(key, value);
}

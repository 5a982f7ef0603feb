/**
 * The operations for calls: submit a task or a plan, wait for it, cancel it, and handle dead letters.
 * Nothing is acknowledged before it is durable (T4).
 */

import { healthOf } from "../../core/breaker.js";
import { ReeveError } from "../../core/errors.js";
import type { PlanStatus } from "../../core/plan.js";
import type { CircuitState, Health } from "../../core/states.js";
import type { TaskEvent, TaskStatus } from "../../core/task.js";
import type { AttemptEnd } from "../../ports/executor.js";
import type {
	PlanQuery,
	StoredAttempt,
	StoredPlan,
	StoredTask,
	TaskCountQuery,
	TaskInput,
	TaskQuery,
} from "../../ports/task-store.js";
import { endedAttempt, interruptedWith } from "./attempt.js";
import { Book, type Change, type EndedWork, type OpenPlan } from "./book.js";
import { Breakers } from "./breakers.js";
import { DeadLetters } from "./dead-letters.js";
import { Dispatcher } from "./dispatcher.js";
import { Intake } from "./intake.js";
import { advancePlan, cancelTask } from "./plan-steps.js";
import type { PlanSubmission, SubmitOptions, TaskSubmission } from "./submission.js";
import { stepTask } from "./task-state.js";
import { callable, type TasksWorld } from "./tasks-world.js";

/** A task with all of its data. */
export interface TaskDetail {
	readonly task: StoredTask;
	readonly input: TaskInput | null;
	/** Undefined if there is none. */
	readonly result: unknown;
	readonly attempts: readonly StoredAttempt[];
}

export interface PlanDetail {
	readonly plan: StoredPlan;
	/** In the order of the plan. */
	readonly tasks: readonly TaskDetail[];
}

export interface Circuit {
	readonly circuit: CircuitState;
	readonly health: Health;
	readonly consecutiveFailures: number;
	readonly lastFailureAtMs: number | null;
	readonly lastSuccessAtMs: number | null;
	readonly openUntilMs: number | null;
}

/** The calls to an agent: its circuit, running attempts and dead letters. */
export interface CallsView extends Circuit {
	readonly running: number;
	/** Open dead letters, and when the first one was submitted. */
	readonly deadLetters: { readonly count: number; readonly sinceMs: number | null };
}

const NO_LETTERS = { count: 0, sinceMs: null };

export class Tasks {
	readonly #world: TasksWorld;
	readonly #book: Book;
	readonly #breakers: Breakers;
	readonly #dispatcher: Dispatcher;
	readonly #intake: Intake;
	readonly deadLetters: DeadLetters;

	constructor(world: TasksWorld) {
		this.#world = world;
		this.#book = new Book(world.store, world.clock);
		this.#breakers = new Breakers(world.clock, (agentId) => {
			const spec = callable(world.agents.specOf(agentId));
			return spec?.circuitBreaker ?? { failureThreshold: 1, cooldownMs: 0 };
		});
		this.#dispatcher = new Dispatcher(world, this.#book, this.#breakers);
		this.#intake = new Intake(world, this.#book, this.#dispatcher, this.#breakers);
		this.deadLetters = new DeadLetters(this.#book, this.#intake, world.store);
	}

	/** Continues the work of an earlier daemon: kills its running attempts, and resumes the rest. */
	async recover(): Promise<void> {
		this.#breakers.recover(this.#world.store.readBreakers());
		this.#book.load();
		const open = [...this.#book.openTasks()];
		const left = open.flatMap(({ running }) => (running === null ? [] : [running.runId]));
		const { executor, log } = this.#world;
		const alive = left.length > 0 ? await executor.endLeft(left) : [];
		for (const each of alive) log.attemptLeft(each);
		const whyAlive = new Map(alive.map(({ runId, reason }) => [runId, reason]));
		await Promise.all(open.map((task) => this.#resumeTask(task, whyAlive)));
		for (const plan of [...this.#book.openPlans()]) {
			await this.#book.commit((change) => advancePlan(this.#dispatcher.plans, change, plan));
		}
	}

	/** Accepts a task, or finds the one that was accepted with the same key. */
	async submit(submission: TaskSubmission, options: SubmitOptions = {}): Promise<StoredTask> {
		return this.#stored(await this.#intake.submit(submission, options));
	}

	/** Accepts a plan, or finds the one that was accepted with the same key. */
	async submitPlan(submission: PlanSubmission, options: SubmitOptions = {}): Promise<PlanDetail> {
		return this.plan(await this.#intake.submitPlan(submission, options));
	}

	/**
	 * Resolves with the task when it has finished, or with its current state after a timeout or when the
	 * signal aborts.
	 */
	async waitForTask(taskId: string, withinMs: number, signal?: AbortSignal): Promise<TaskDetail> {
		await this.#book.waitForEnd(taskId, withinMs, signal);
		return this.task(taskId);
	}

	async waitForPlan(planId: string, withinMs: number, signal?: AbortSignal): Promise<PlanDetail> {
		const { plan, tasks } = this.plan(planId);
		const alone = tasks.find(({ task }) => task.alone);
		await this.#book.waitForEnd(alone?.task.taskId ?? plan.planId, withinMs, signal);
		return this.plan(planId);
	}

	has(taskId: string): boolean {
		return this.#book.task(taskId) !== undefined || this.#world.store.readTask(taskId) !== null;
	}

	task(taskId: string): TaskDetail {
		return this.#detail(this.#stored(taskId));
	}

	tasks(query: TaskQuery): readonly StoredTask[] {
		return this.#world.store.readTasks(query);
	}

	/** The number of tasks by status. */
	countTasks(query: TaskCountQuery): Readonly<Partial<Record<TaskStatus, number>>> {
		return this.#world.store.countTasks(query);
	}

	plan(planId: string): PlanDetail {
		const { store } = this.#world;
		const tasks = store
			.readTasks({ plan: planId, limit: Number.MAX_SAFE_INTEGER })
			.toReversed()
			.map((task) => this.#detail(this.#book.task(task.taskId) ?? task));
		const plan = this.#book.plan(planId)?.plan ?? store.readPlan(planId);
		if (plan !== null) return { plan, tasks };
		const [alone] = tasks;
		if (alone !== undefined) return { plan: planOfOne(alone.task), tasks };
		throw new ReeveError("plan_not_found", `unknown plan ${planId}`);
	}

	plans(query: PlanQuery): readonly StoredPlan[] {
		return this.#world.store.readPlans(query);
	}

	/** Cancels a task; its running attempt is killed first. */
	async cancelTask(taskId: string, withinMs: number): Promise<TaskDetail> {
		const { task } = this.task(taskId);
		if (this.#book.task(taskId) === undefined) throw alreadyEnded(`task ${taskId}`, task.status);
		await this.#book.commit((change) => {
			const current = this.#book.task(taskId);
			if (current === undefined) return;
			cancelTask(this.#dispatcher.plans, change, current, "cancelled by the operator");
			const plan = this.#book.plan(current.planId);
			if (plan !== undefined) advancePlan(this.#dispatcher.plans, change, plan);
			// It may have been the probe that others wait for.
			change.after(() => this.#dispatcher.pump());
		});
		return this.waitForTask(taskId, withinMs);
	}

	async cancelPlan(planId: string, withinMs: number): Promise<PlanDetail> {
		const { plan, tasks } = this.plan(planId);
		const [first] = tasks;
		if (first?.task.alone === true) {
			await this.cancelTask(first.task.taskId, withinMs);
			return this.plan(planId);
		}
		if (this.#book.plan(planId) === undefined) throw alreadyEnded(`plan ${planId}`, plan.status);
		const running = await this.#book.commit((change) => {
			const open = this.#book.plan(planId);
			return open === undefined
				? []
				: this.#cancelOpenPlan(change, open, "cancelled by the operator");
		});
		// The plan is cancelled; its processes are gone only when its tasks have finished.
		await Promise.all(running.map((taskId) => this.#book.waitForEnd(taskId, withinMs)));
		return this.plan(planId);
	}

	circuit(agentId: string): Circuit {
		const state = this.#breakers.state(agentId);
		return {
			circuit: state.circuit,
			health: healthOf(state),
			consecutiveFailures: state.consecutiveFailures,
			lastFailureAtMs: state.lastFailureAtWallMs,
			lastSuccessAtMs: state.lastSuccessAtWallMs,
			openUntilMs: state.openUntil?.wallMs ?? null,
		};
	}

	/** The view of any agent at this moment; the store is read once for all of them. */
	views(): (agentId: string) => CallsView {
		const letters = new Map(
			this.#world.store.countLetters().map(({ agentId, ...each }) => [agentId, each]),
		);
		return (agentId) => ({
			...this.circuit(agentId),
			running: this.#dispatcher.runningOf(agentId),
			deadLetters: letters.get(agentId) ?? NO_LETTERS,
		});
	}

	/** Cancels a task or plan as part of another change; nothing if it has ended. */
	cancelIn(
		change: Change,
		{ type, id }: { readonly type: "task" | "plan"; readonly id: string },
		reason: string,
	): void {
		const task = type === "task" ? this.#book.task(id) : undefined;
		if (task !== undefined) cancelTask(this.#dispatcher.plans, change, task, reason);
		const plan = type === "plan" ? this.#book.plan(id) : undefined;
		if (plan !== undefined) this.#cancelOpenPlan(change, plan, reason);
		change.after(() => this.#dispatcher.pump());
	}

	/** Writes in the commit that ends a task or plan. */
	listen(onEnd: (change: Change, ended: EndedWork) => void): void {
		this.#book.listen(onEnd);
	}

	/** The operator closes an agent's circuit; returns its previous state. */
	async closeCircuit(agentId: string): Promise<CircuitState> {
		const { circuit } = this.#breakers.state(agentId);
		await this.#book.commit((change) => this.#breakers.closeIn(change, agentId));
		this.#dispatcher.pump();
		return circuit;
	}

	/** An agent's settings changed, or a slot became free. */
	pump(): void {
		this.#dispatcher.pump();
	}

	/** Whether the daemon stops: nothing is accepted, and unfinished tasks are left to the next one. */
	get isClosed(): boolean {
		return this.#dispatcher.isClosed;
	}

	/** Accepts nothing more; lets attempts finish for a while. */
	close(graceMs: number): Promise<void> {
		return this.#dispatcher.close(graceMs);
	}

	async #resumeTask(task: StoredTask, whyAlive: ReadonlyMap<string, string>): Promise<void> {
		const isOrphan = !task.alone && this.#book.plan(task.planId) === undefined;
		const interrupted = interruptedWith(whyAlive.get(task.running?.runId ?? ""));
		if (isOrphan) {
			// Its plan finished while it ran, so its result is not needed.
			await this.#step(task, { type: "cancel" }, "its plan is finished", interrupted);
		} else if (task.status === "in_progress") {
			await this.#dispatcher.ends.record(task.taskId, null, interrupted);
		} else if (task.status === "dispatched") {
			await this.#step(task, { type: "requeue" }, "the daemon stopped before it started");
			this.#dispatcher.enqueue(task);
		} else if (task.released) {
			this.#dispatcher.enqueue(task);
		}
	}

	/** `end` is the outcome of the current attempt, if there is one. */
	#step(task: StoredTask, event: TaskEvent, reason: string, end?: AttemptEnd): Promise<void> {
		return this.#book.commit((change) => {
			const { transaction, atMs } = change;
			if (end && task.running !== null) transaction.putAttempt(endedAttempt(task, end, atMs));
			this.#book.putTask(change, stepTask(task, event, atMs, { reason }));
		});
	}

	#cancelOpenPlan(change: Change, open: OpenPlan, reason: string): readonly string[] {
		const running = [...open.tasks.values()].filter(
			({ status }) => status === "in_progress" || status === "dispatched",
		);
		for (const task of open.tasks.values()) {
			cancelTask(this.#dispatcher.plans, change, task, reason);
		}
		this.#book.stepPlan(change, open, "cancel", reason);
		return running.map(({ taskId }) => taskId);
	}

	#stored(taskId: string): StoredTask {
		const task = this.#book.task(taskId) ?? this.#world.store.readTask(taskId);
		if (task !== null) return task;
		throw new ReeveError("task_not_found", `unknown task ${taskId}`);
	}

	#detail(task: StoredTask): TaskDetail {
		const { store } = this.#world;
		const { taskId } = task;
		return {
			task,
			input: store.readTaskInput(taskId),
			result: store.readTaskResult(taskId),
			attempts: store.readAttempts(taskId),
		};
	}
}

function alreadyEnded(what: string, status: string): ReeveError {
	return new ReeveError("already_ended", `${what} is already finished: ${status}`);
}

const PLAN_OF_TASK: Readonly<Record<TaskStatus, PlanStatus>> = {
	queued: "pending",
	dispatched: "running",
	in_progress: "running",
	retried: "running",
	succeeded: "succeeded",
	dead_lettered: "failed",
	cancelled: "cancelled",
};

/** The plan of a single task. */
function planOfOne(task: StoredTask): StoredPlan {
	const { planId, correlationId, createdAtMs, endedAtMs, reason } = task;
	return {
		planId,
		correlationId,
		createdAtMs,
		endedAtMs,
		reason,
		name: task.action,
		status: PLAN_OF_TASK[task.status],
		onFailure: "fail_fast",
		idempotencyKey: null,
		fingerprint: null,
	};
}

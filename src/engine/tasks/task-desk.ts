/**
 * Requests about tasks: of this host alone, or shared by the hosts of a cluster. Tasks of this host never need the
 * cluster.
 */

import { ReeveError } from "../../core/errors.js";
import type { CircuitState } from "../../core/states.js";
import type { TaskStatus } from "../../core/task.js";
import type { Store } from "../../ports/store.js";
import type {
	StoredAttempt,
	StoredTask,
	TaskCountQuery,
	TaskQuery,
} from "../../ports/task-store.js";
import type { SharedTasks } from "../shared-tasks/shared-tasks.js";
import type { LetterQuery } from "./dead-letters.js";
import type { SubmitOptions, TaskSubmission } from "./submission.js";
import type { CallsView, Circuit, TaskDetail, Tasks } from "./tasks.js";

export interface ListedTask {
	readonly task: StoredTask;
	readonly attempts: readonly StoredAttempt[];
}

export interface TaskList {
	/** Newest first. */
	readonly tasks: readonly ListedTask[];
	/** Why shared tasks are missing; null if they are not. */
	readonly incomplete: string | null;
}

type Counts = Readonly<Partial<Record<TaskStatus, number>>>;

export class TaskDesk {
	readonly #own: Tasks;
	readonly #shared: SharedTasks;
	readonly #store: Pick<Store, "readAttempts">;

	constructor(own: Tasks, shared: SharedTasks, store: Pick<Store, "readAttempts">) {
		this.#own = own;
		this.#shared = shared;
		this.#store = store;
	}

	/** Whether the hosts of a cluster share the tasks of this agent. */
	shares(agentId: string): boolean {
		return this.#shared.has(agentId);
	}

	/** Accepts a task, or finds the one that was accepted with the same key. */
	submit(submission: TaskSubmission, options: SubmitOptions): Promise<StoredTask> {
		const tasks = this.shares(submission.agent) ? this.#shared : this.#own;
		return tasks.submit(submission, options);
	}

	/** Resolves with the task when it has ended, or with its state after a timeout or when the signal aborts. */
	async wait(taskId: string, withinMs: number, signal?: AbortSignal): Promise<TaskDetail> {
		if (this.#isOwn(taskId)) return this.#own.waitForTask(taskId, withinMs, signal);
		return (await this.#shared.wait(taskId, withinMs, signal)) ?? this.#own.task(taskId);
	}

	async task(taskId: string): Promise<TaskDetail> {
		if (this.#isOwn(taskId)) return this.#own.task(taskId);
		return (await this.#shared.task(taskId)) ?? this.#own.task(taskId);
	}

	async list(query: TaskQuery): Promise<TaskList> {
		const own = this.#own.tasks(query).map((task) => this.#listed(task));
		const { found, problem } = await this.#askShared(() => this.#shared.tasks(query));
		const tasks = [...own, ...(found ?? [])].toSorted((a, b) =>
			a.task.taskId < b.task.taskId ? 1 : -1,
		);
		return { tasks: tasks.slice(0, query.limit), incomplete: problem };
	}

	async letters(query: LetterQuery): Promise<TaskList> {
		return this.list({ ...query, openLetters: true });
	}

	async count(query: TaskCountQuery): Promise<Counts> {
		const own = this.#own.countTasks(query);
		const { found } = await this.#askShared(() => this.#shared.countTasks(query));
		if (found === null) return own;
		const statuses = new Set([...Object.keys(own), ...Object.keys(found)] as TaskStatus[]);
		return Object.fromEntries(
			[...statuses].map((status) => [status, (own[status] ?? 0) + (found[status] ?? 0)]),
		);
	}

	/** Cancels a task; its running attempt is killed first. */
	cancel(taskId: string, withinMs: number): Promise<TaskDetail> {
		if (this.#isShared(taskId)) return this.#shared.cancel(taskId, withinMs);
		return this.#own.cancelTask(taskId, withinMs);
	}

	/** Replays a dead letter as a new task that refers to it. */
	async replay(taskId: string): Promise<TaskDetail> {
		if (!this.#isShared(taskId)) return this.#own.task(await this.#own.deadLetters.replay(taskId));
		const { taskId: replay } = await this.#shared.replay(taskId);
		return this.task(replay);
	}

	/** Discards a dead letter. It stays visible. */
	async discard(taskId: string): Promise<TaskDetail> {
		if (this.#isShared(taskId)) await this.#shared.discard(taskId);
		else await this.#own.deadLetters.discard(taskId);
		return this.task(taskId);
	}

	/** The operator closes the circuit of an agent; returns its earlier state. */
	closeCircuit(agentId: string): Promise<CircuitState> {
		const tasks = this.shares(agentId) ? this.#shared : this.#own;
		return tasks.closeCircuit(agentId);
	}

	/** The circuit of an agent; of shared tasks, as it was a moment ago. */
	circuit(agentId: string): Circuit {
		return this.shares(agentId) ? this.#shared.circuit(agentId) : this.#own.circuit(agentId);
	}

	/** The view of any agent at this moment; the store is read once for all of them. */
	views(): (agentId: string) => CallsView {
		const own = this.#own.views();
		return (agentId) => {
			const view = own(agentId);
			if (!this.shares(agentId)) return view;
			const { count, sinceMs } = view.deadLetters;
			const letters = this.#shared.letters(agentId);
			const since = [sinceMs, letters?.sinceMs ?? null].filter((ms) => ms !== null);
			return {
				...view,
				...this.circuit(agentId),
				deadLetters: {
					count: count + (letters?.count ?? 0),
					sinceMs: since.length === 0 ? null : Math.min(...since),
				},
			};
		};
	}

	#listed(task: StoredTask): ListedTask {
		return { task, attempts: this.#store.readAttempts(task.taskId) };
	}

	/** A host without shared agents has nothing to ask. */
	#isShared(taskId: string): boolean {
		return !this.#isOwn(taskId) && this.#shared.agents().length > 0;
	}

	#isOwn(taskId: string): boolean {
		return this.#own.has(taskId) || this.#shared.agents().length === 0;
	}

	/** Without the cluster, a list shows the tasks of this host, and why the others are missing. */
	async #askShared<T>(
		ask: () => Promise<T>,
	): Promise<{ readonly found: T | null; readonly problem: string | null }> {
		if (this.#shared.agents().length === 0) return { found: null, problem: null };
		try {
			return { found: await ask(), problem: null };
		} catch (error) {
			if (!(error instanceof ReeveError)) throw error;
			return { found: null, problem: error.message };
		}
	}
}

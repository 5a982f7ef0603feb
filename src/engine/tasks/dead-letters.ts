/**
 * Permanently failed tasks that wait for the operator: replayed as a new task, or discarded. Their
 * input and every attempt's error are kept in both cases (T8).
 */

import { ReeveError } from "../../core/errors.js";
import type { Store } from "../../ports/store.js";
import type { StoredTask, TaskQuery } from "../../ports/task-store.js";
import type { Book } from "./book.js";
import type { Intake } from "./intake.js";
import { resubmissionOf } from "./submission.js";
import { taskEventFields } from "./task-state.js";

export type LetterQuery = Omit<TaskQuery, "openLetters" | "status">;

export class DeadLetters {
	readonly #book: Book;
	readonly #intake: Intake;
	readonly #store: Store;

	constructor(book: Book, intake: Intake, store: Store) {
		this.#book = book;
		this.#intake = intake;
		this.#store = store;
	}

	/** Open dead letters, newest first. */
	list(query: LetterQuery): readonly StoredTask[] {
		return this.#store.readTasks({ ...query, openLetters: true });
	}

	/** Replays one as a new task that refers to it; returns the new task's id. */
	async replay(taskId: string): Promise<string> {
		const task = this.#open(taskId);
		if (!task.released) {
			const hint = "Fix the plan and run it again.";
			throw new ReeveError("planning_failed", `${taskId} was never ready to run`, hint);
		}
		const submission = resubmissionOf(task, this.#store.readTaskInput(taskId));
		return this.#intake.replay(submission, () => this.#open(taskId));
	}

	/** Discards one. It stays visible. */
	async discard(taskId: string): Promise<void> {
		this.#open(taskId);
		await this.#book.commit(({ transaction, atMs }) => {
			const task = this.#open(taskId);
			transaction.putTask({ ...task, letter: { type: "discarded", atMs } });
			const event = { ...taskEventFields(task), type: "dead_letter.discarded", data: {} } as const;
			transaction.appendEvent(event, atMs);
		});
	}

	#open(taskId: string): StoredTask {
		const task = this.#book.task(taskId) ?? this.#store.readTask(taskId);
		if (task === null) throw new ReeveError("task_not_found", `unknown task ${taskId}`);
		const { status, letter } = task;
		if (status === "dead_lettered" && letter === null) return task;
		const what = letter === null ? status : letter.type;
		throw new ReeveError("not_a_dead_letter", `task ${taskId} is ${what}`);
	}
}

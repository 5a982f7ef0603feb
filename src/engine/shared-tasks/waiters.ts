/** Clients that wait for the end of shared tasks, which may be on any host: one query for all of them. */

import { setTimeout as sleep } from "node:timers/promises";

const POLL_MS = 100;

export class Waiters {
	readonly #ended: (taskIds: readonly string[]) => Promise<readonly string[]>;
	readonly #waiting = new Map<string, Set<() => void>>();
	#isPolling = false;

	constructor(ended: (taskIds: readonly string[]) => Promise<readonly string[]>) {
		this.#ended = ended;
	}

	/** Resolves when the task has ended, after a timeout, or when the signal aborts. */
	async wait(taskId: string, withinMs: number, signal?: AbortSignal): Promise<void> {
		if (signal?.aborted) return;
		await new Promise<void>((resolve) => {
			const waiters = this.#waiting.get(taskId) ?? new Set();
			this.#waiting.set(taskId, waiters);
			const done = () => {
				clearTimeout(timer);
				signal?.removeEventListener("abort", done);
				waiters.delete(done);
				if (waiters.size === 0 && this.#waiting.get(taskId) === waiters) {
					this.#waiting.delete(taskId);
				}
				resolve();
			};
			const timer = setTimeout(done, withinMs);
			signal?.addEventListener("abort", done);
			waiters.add(done);
			void this.#poll();
		});
	}

	wake(taskId: string): void {
		for (const done of [...(this.#waiting.get(taskId) ?? [])]) done();
	}

	async #poll(): Promise<void> {
		if (this.#isPolling) return;
		this.#isPolling = true;
		while (this.#waiting.size > 0) {
			await sleep(POLL_MS);
			// While the database is away, they wait on.
			const ended = await this.#askEnded();
			for (const taskId of ended) this.wake(taskId);
		}
		this.#isPolling = false;
	}

	async #askEnded(): Promise<readonly string[]> {
		try {
			return await this.#ended([...this.#waiting.keys()]);
		} catch {
			return [];
		}
	}
}

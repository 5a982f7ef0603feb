/** Running attempts: how many there are of each agent and of each kind, and how to cancel them. */

import type { CallSpec, WorkerSpec } from "../../config/spec.js";

type CallableSpec = CallSpec | WorkerSpec;

interface Running {
	readonly agentId: string;
	readonly kind: CallableSpec["kind"];
	readonly abort: AbortController;
}

export class RunningAttempts {
	readonly #running = new Map<string, Running>();
	readonly #perAgent = new Map<string, number>();
	readonly #perKind = { call: 0, worker: 0 };

	get size(): number {
		return this.#running.size;
	}

	has(taskId: string): boolean {
		return this.#running.has(taskId);
	}

	ofAgent(agentId: string): number {
		return this.#perAgent.get(agentId) ?? 0;
	}

	ofKind(kind: CallableSpec["kind"]): number {
		return this.#perKind[kind];
	}

	/** An attempt of this task is running from now on. */
	add(taskId: string, { id: agentId, kind }: CallableSpec): void {
		this.#running.set(taskId, { agentId, kind, abort: new AbortController() });
		this.#perAgent.set(agentId, this.ofAgent(agentId) + 1);
		this.#perKind[kind] += 1;
	}

	remove(taskId: string): void {
		const running = this.#running.get(taskId);
		if (running === undefined) return;
		const { agentId, kind } = running;
		this.#running.delete(taskId);
		this.#perAgent.set(agentId, this.ofAgent(agentId) - 1);
		this.#perKind[kind] -= 1;
	}

	/** Aborts when the attempt is cancelled; already aborted if there is none. */
	signalOf(taskId: string): AbortSignal {
		return this.#running.get(taskId)?.abort.signal ?? AbortSignal.abort();
	}

	abort(taskId: string): void {
		this.#running.get(taskId)?.abort.abort();
	}

	abortAll(): void {
		for (const { abort } of this.#running.values()) abort.abort();
	}
}

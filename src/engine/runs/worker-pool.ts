/**
 * Selects the process for the next request of a worker agent. Uses the least busy one, requests another
 * while all are busy, and stops those beyond the minimum when idle.
 */

import type { WorkerSpec } from "../../config/spec.js";
import {
	type ActionRequest,
	classifyProcessFailure,
	type ProcessFailure,
} from "../../core/outcome.js";
import type { Clock } from "../../ports/clock.js";
import type { AttemptEnd, Worker } from "../../ports/executor.js";
import { createSignal, scheduleLong } from "../waiting.js";
import { newRun, type Run } from "./run.js";

/** One process of the pool. */
export interface WorkerRun extends Run {
	/** Null until it has started. */
	worker: Worker | null;
	/** Cancels the stop for which it is idle; it got a request. */
	cancelIdle: () => void;
	/** Stops watching it; it has ended. */
	unwatch: () => void;
}

export function newWorkerRun(
	runId: string,
	revision: Run["revision"],
	intendedAtMs: number,
): WorkerRun {
	const nothing = () => {};
	const run = newRun(runId, revision, intendedAtMs);
	return { ...run, worker: null, cancelIdle: nothing, unwatch: nothing };
}

export interface PoolWorld {
	readonly clock: Clock;
	readonly spec: () => WorkerSpec;
	/** Why no process may be started, as text; null if one may. */
	readonly refused: () => string | null;
	/** There is room for another process, and work for it. */
	readonly wantMore: () => void;
}

export class WorkerPool {
	/** In the order of their starts. */
	readonly runs = new Map<string, WorkerRun>();
	readonly #world: PoolWorld;
	/** The wanted number of processes. */
	#target = 0;
	/** Resolves when a process started, exited, or can no longer start. */
	#changed = createSignal<void>();

	constructor(world: PoolWorld) {
		this.#world = world;
	}

	/** Whether there are fewer processes than wanted. */
	get isShort(): boolean {
		return this.runs.size < this.#target;
	}

	/** Starts processes up to the minimum. */
	fill(): void {
		this.#target = Math.max(this.#target, this.#world.spec().workers.min);
	}

	/** Exited processes are not replaced from here on. */
	empty(): void {
		this.#target = 0;
	}

	/** Requests that wait for a process check again. */
	notify(): void {
		const changed = this.#changed;
		this.#changed = createSignal();
		changed.resolve();
	}

	/**
	 * Sends a request to one of the processes, starting one if there is none or all are busy. A request
	 * that a process did not receive before it exited goes to another one.
	 */
	async ask(request: ActionRequest, timeoutMs: number, signal: AbortSignal): Promise<AttemptEnd> {
		const { clock, refused } = this.#world;
		const untilMs = clock.now().steadyMs + timeoutMs;
		// From the whole timeout: the rest of it after a wait must not count as a shorter timeout of the caller.
		const lateMs = Math.max(0, this.#world.spec().timeoutMs - timeoutMs);
		for (;;) {
			const idlest = this.#leastBusy();
			if (idlest === null || idlest.pending > 0) this.#grow();
			const leftMs = untilMs - clock.now().steadyMs;
			if (idlest !== null) {
				const end = await this.#askWorker(idlest, request, { leftMs, lateMs }, signal);
				if (end.notGiven !== true || signal.aborted) return end;
				continue;
			}
			const detail = refused();
			if (detail !== null) return failed({ type: "spawn_error", detail });
			if (leftMs <= 0) {
				return failed({ type: "timeout", afterMs: timeoutMs, detail: "no worker was running" });
			}
			if (signal.aborted) return { outcome: null, log: "" };
			await this.#nextChange(leftMs, signal);
		}
	}

	#leastBusy(): Worker | null {
		let idlest: Worker | null = null;
		for (const { worker } of this.runs.values()) {
			if (worker?.isOpen !== true) continue;
			if (idlest === null || worker.pending < idlest.pending) idlest = worker;
		}
		return idlest;
	}

	#grow(): void {
		const { max, min } = this.#world.spec().workers;
		const starting = [...this.runs.values()].some(({ worker }) => worker === null);
		if (starting || this.runs.size >= max || this.#world.refused() !== null) return;
		this.#target = Math.max(min, this.runs.size + 1);
		this.#world.wantMore();
	}

	async #askWorker(
		worker: Worker,
		request: ActionRequest,
		{ leftMs, lateMs }: { readonly leftMs: number; readonly lateMs: number },
		signal: AbortSignal,
	): Promise<AttemptEnd> {
		const run = this.runs.get(worker.runId);
		run?.cancelIdle();
		const end = await worker.ask(request, Math.max(1, leftMs), signal, lateMs);
		const lookIfIdle = () => {
			if (run !== undefined && worker.pending === 0) this.#becameIdle(run);
		};
		if (end.over === undefined) lookIfIdle();
		else void end.over.then(lookIfIdle);
		return end;
	}

	#becameIdle(run: WorkerRun): void {
		const { workers, drain } = this.#world.spec();
		const staying = () => [...this.runs.values()].filter(({ askedBy }) => askedBy === null).length;
		if (staying() <= workers.min) return;
		run.cancelIdle();
		run.cancelIdle = scheduleLong(this.#world.clock, workers.idleMs, () => {
			if (run.worker?.pending !== 0 || staying() <= workers.min) return;
			run.askedBy = "reeve";
			this.#target = Math.max(workers.min, staying());
			void run.worker.stop(drain.timeoutMs);
		});
	}

	#nextChange(withinMs: number, signal: AbortSignal): Promise<void> {
		return new Promise((resolve) => {
			const done = () => {
				cancel();
				signal.removeEventListener("abort", done);
				resolve();
			};
			const cancel = scheduleLong(this.#world.clock, withinMs, done);
			signal.addEventListener("abort", done);
			void this.#changed.promise.then(done);
		});
	}
}

function failed(failure: ProcessFailure): AttemptEnd {
	return { outcome: classifyProcessFailure(failure), log: "" };
}

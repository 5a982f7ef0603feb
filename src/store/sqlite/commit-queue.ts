/**
 * Group commit: the changes that wait at the same moment share one transaction, and so one wait for
 * the disk. While nothing can be written they wait here, in order, and are retried; `health` reports
 * it, and beyond a bound the queue takes no more. Requests from outside are answered in time, and their
 * changes are withdrawn unless a part of them is durable already (see `requests.ts`).
 *
 * Keeps T4: a change is answered only when it is durable. Keeps A6: the queue has a cap.
 */

import { backoffDelayMs } from "../../core/backoff.js";
import { ReeveError } from "../../core/errors.js";
import type { ReeveEvent } from "../../core/events.js";
import type { StoreHealth, StoreRequest } from "../../ports/store.js";
import { messageOf } from "./failure.js";
import type { SqliteTransaction } from "./operations.js";
import { type OpenRequest, Requests } from "./requests.js";
import type { BatchWriter, PendingChange } from "./writer.js";

export interface QueueLimits {
	/** How many changes may wait. */
	readonly waitingMax: number;
	/** How many share one transaction at most, since the process stands still meanwhile. */
	readonly batchMax: number;
	/** How long `close` goes on trying. */
	readonly closeWithinMs: number;
	/** How long a request waits for an obstacle to pass before it is answered. */
	readonly patienceMs: number;
}

export const DEFAULT_LIMITS: QueueLimits = Object.freeze({
	waitingMax: 10_000,
	batchMax: 1_000,
	closeWithinMs: 3_000,
	// Shorter obstacles are worth waiting for: another program may be reading the database.
	patienceMs: 3_000,
});

const RETRY = Object.freeze({ initialMs: 25, capMs: 1_000, jitter: 0 });

type Waiting = PendingChange & {
	readonly request: OpenRequest | null;
	readonly resolve: (result: unknown) => void;
	readonly reject: (error: unknown) => void;
};

export class CommitQueue {
	readonly #writer: BatchWriter;
	readonly #limits: QueueLimits;
	readonly #publish: (events: readonly ReeveEvent[]) => void;
	#waiting: Waiting[] = [];
	#turn: NodeJS.Immediate | null = null;
	#retry: NodeJS.Timeout | null = null;
	#failures = 0;
	#obstacle: string | null = null;
	readonly #requests: Requests;
	/** Called when nothing waits any more, once the queue is closing. */
	#onDrained: (() => void) | null = null;

	constructor(
		writer: BatchWriter,
		publish: (events: readonly ReeveEvent[]) => void,
		limits: QueueLimits,
	) {
		this.#writer = writer;
		this.#publish = publish;
		this.#limits = limits;
		this.#requests = new Requests(limits.patienceMs, (request, error) => {
			const withdrawn = this.#waiting.filter((each) => each.request === request);
			this.#waiting = this.#waiting.filter((each) => each.request !== request);
			for (const { reject } of withdrawn) reject(error);
		});
	}

	get health(): StoreHealth {
		if (this.#obstacle !== null) return { ok: false, reason: this.#obstacle };
		return this.#onDrained === null ? { ok: true } : { ok: false, reason: "the store is closed" };
	}

	commit<T>(change: (transaction: SqliteTransaction) => T, passed?: StoreRequest): Promise<T> {
		const { waitingMax } = this.#limits;
		if (this.#onDrained !== null) return refuse("the store is closed");
		if (this.#waiting.length >= waitingMax) {
			const why = this.#obstacle ?? "the disk is too slow";
			return refuse(`the limit of ${waitingMax} queued changes is reached: ${why}`);
		}
		const request = this.#requests.find(passed);
		if (request?.refusal) return Promise.reject(request.refusal);
		return new Promise((resolve, reject) => {
			const settle = resolve as (result: unknown) => void;
			this.#waiting.push({ change, outcome: null, resolve: settle, reject, request });
			this.#schedule();
		});
	}

	accept<T>(act: () => T | Promise<T>): Promise<T> {
		return this.#requests.accept(act);
	}

	acceptPassing<T>(act: (request: StoreRequest) => T | Promise<T>): Promise<T> {
		return this.#requests.acceptPassing(act);
	}

	detach<T>(act: () => T): T {
		return this.#requests.detach(act);
	}

	/** Writes what waits, for a while; what cannot be written by then is rejected. */
	async drain(): Promise<void> {
		await new Promise<void>((drained) => {
			const deadline = setTimeout(drained, this.#limits.closeWithinMs);
			this.#onDrained = () => {
				clearTimeout(deadline);
				drained();
			};
			this.#cancel();
			this.#failures = 0;
			this.#schedule();
		});
		this.#cancel();
		const lost = this.#waiting;
		this.#waiting = [];
		const why = this.#obstacle ?? "there was no time left";
		for (const { reject } of lost) reject(unwritten(`the store was closed first: ${why}`));
	}

	#schedule(): void {
		if (this.#turn !== null || this.#retry !== null) return;
		this.#turn = setImmediate(() => {
			this.#turn = null;
			this.#flush();
		});
	}

	#cancel(): void {
		if (this.#turn !== null) clearImmediate(this.#turn);
		if (this.#retry !== null) clearTimeout(this.#retry);
		this.#turn = null;
		this.#retry = null;
	}

	#flush(): void {
		// What is added from here on, by a change or a listener, waits for the next turn.
		const batch = this.#waiting.slice(0, this.#limits.batchMax);
		// With an obstacle even an empty batch is tried, to see whether it is still there.
		const idle = batch.length === 0 && this.#obstacle === null;
		const result = idle ? null : this.#writer.write(batch);
		if (result?.ok === false) this.#holdBack(batch, result.reason);
		else if (result !== null) this.#finish(batch, result.events);
		if (this.#waiting.length > 0) this.#schedule();
		else this.#onDrained?.();
	}

	#finish(batch: readonly Waiting[], events: readonly ReeveEvent[]): void {
		this.#waiting.splice(0, batch.length);
		this.#obstacle = null;
		this.#requests.obstacle(null);
		this.#failures = 0;
		if (events.length > 0) this.#publish(events);
		for (const { outcome, request, resolve, reject } of batch) {
			if (!outcome?.ok) {
				reject(outcome?.error);
				continue;
			}
			if (request !== null) request.hasBegun = true;
			resolve(outcome.result);
		}
	}

	/** Nothing of the batch was written. What failed by itself is answered, the rest waits in its place. */
	#holdBack(batch: readonly Waiting[], reason: string): void {
		const hasFailed = ({ outcome }: PendingChange) => outcome?.ok === false;
		this.#waiting = this.#waiting.filter((pending) => !hasFailed(pending));
		for (const { outcome, reject } of batch) if (outcome?.ok === false) reject(outcome.error);
		this.#obstacle = reason;
		this.#requests.obstacle(reason);
		this.#failures += 1;
		this.#cancel();
		const delayMs = backoffDelayMs(RETRY, this.#failures, 0);
		this.#retry = setTimeout(() => {
			this.#retry = null;
			this.#flush();
		}, delayMs);
	}
}

function unwritten(message: string): ReeveError {
	return new ReeveError("store_unavailable", `The change was not stored: ${message}.`);
}

function refuse(message: string): Promise<never> {
	return Promise.reject(unwritten(message));
}

/** Hands events to every listener; one that throws does not keep them from the others. */
export function createPublisher(onListenerError: (error: unknown) => void) {
	const listeners = new Set<{ call: (events: readonly ReeveEvent[]) => void }>();
	return {
		add(call: (events: readonly ReeveEvent[]) => void): () => void {
			const listener = { call };
			listeners.add(listener);
			return () => {
				listeners.delete(listener);
			};
		},
		publish(events: readonly ReeveEvent[]): void {
			for (const { call } of [...listeners]) {
				try {
					call(events);
				} catch (error) {
					onListenerError(error);
				}
			}
		},
	};
}

export function warnOfListener(error: unknown): void {
	process.emitWarning(`a listener of the store failed: ${messageOf(error)}`);
}

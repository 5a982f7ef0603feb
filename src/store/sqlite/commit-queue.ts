/**
 * Group commit: changes that are queued at the same moment share one transaction and one disk sync.
 * While nothing can be written they are queued here, in order, and retried; `health` reports it, and
 * beyond a limit the queue rejects new changes. External requests get a response in time, and their
 * changes are withdrawn unless a part of them is already durable (see `requests.ts`).
 *
 * Keeps T4: a change is acknowledged only when it is durable. Keeps A6: the queue is bounded.
 */

import { backoffDelayMs } from "../../core/backoff.js";
import { ReeveError } from "../../core/errors.js";
import type { ReeveEvent } from "../../core/events.js";
import { messageOf } from "../../core/message-of.js";
import type { StoreHealth, StoreRequest } from "../../ports/store.js";

import type { SqliteTransaction } from "./operations.js";
import { type OpenRequest, Requests } from "./requests.js";
import type { BatchWriter, PendingChange } from "./writer.js";

export interface QueueLimits {
	/** The maximum number of queued changes. */
	readonly waitingMax: number;
	/** The maximum number per transaction, since the process is blocked meanwhile. */
	readonly batchMax: number;
	/** How long `close` keeps trying. */
	readonly closeWithinMs: number;
	/** How long a request waits for an obstacle before it is rejected. */
	readonly patienceMs: number;
}

export const DEFAULT_LIMITS: QueueLimits = Object.freeze({
	waitingMax: 10_000,
	batchMax: 1_000,
	closeWithinMs: 3_000,
	// Short obstacles are normal: another program may be reading the database.
	patienceMs: 3_000,
});

const COLLECT_MS_MIN = 0.5;
const COLLECT_MS_MAX = 10;
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
	#turn: NodeJS.Immediate | NodeJS.Timeout | null = null;
	/** Until then, changes are collected for a larger batch. */
	#collectUntilMs = 0;
	#retry: NodeJS.Timeout | null = null;
	#failures = 0;
	#obstacle: string | null = null;
	readonly #requests: Requests;
	/** Called when the queue is empty while closing. */
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

	acceptWithRequest<T>(act: (request: StoreRequest) => T | Promise<T>): Promise<T> {
		return this.#requests.acceptWithRequest(act);
	}

	detach<T>(act: () => T): T {
		return this.#requests.detach(act);
	}

	/** Writes queued changes for a while, then rejects the rest. */
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
		const flush = () => {
			this.#turn = null;
			this.#flush();
		};
		const waitMs = this.#collectUntilMs - performance.now();
		this.#turn = waitMs > COLLECT_MS_MIN ? setTimeout(flush, waitMs) : setImmediate(flush);
	}

	#cancel(): void {
		// Of the two, each ignores what the other has made.
		clearImmediate(this.#turn as NodeJS.Immediate);
		clearTimeout(this.#turn as NodeJS.Timeout);
		if (this.#retry !== null) clearTimeout(this.#retry);
		this.#turn = null;
		this.#retry = null;
	}

	#flush(): void {
		// Changes that are added from here on wait for the next batch.
		const batch = this.#waiting.slice(0, this.#limits.batchMax);
		// After an obstacle even an empty batch is tried, to detect whether it is gone.
		const idle = batch.length === 0 && this.#obstacle === null;
		const fromMs = performance.now();
		const result = idle ? null : this.#writer.write(batch);
		this.#collect(batch.length, fromMs);
		if (result?.ok === false) this.#retryLater(batch, result.reason);
		else if (result !== null) this.#finish(batch, result.events);
		if (this.#waiting.length > 0) this.#schedule();
		else this.#onDrained?.();
	}

	/**
	 * Under load, the next batch waits as long as this one took, since most of that is the same for one change and for a
	 * hundred. A change that comes alone never waits.
	 */
	#collect(changes: number, fromMs: number): void {
		const nowMs = performance.now();
		const tookMs = Math.min(nowMs - fromMs, COLLECT_MS_MAX);
		this.#collectUntilMs = changes > 1 ? nowMs + tookMs : 0;
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

	/** Nothing of the batch was written. Changes that failed by themselves are rejected, the rest stays in the queue. */
	#retryLater(batch: readonly Waiting[], reason: string): void {
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

/** Passes events to every listener; a listener that throws does not affect the others. */
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

/**
 * External requests while nothing can be written. Each gets a response within a bounded time. A request without durable
 * changes is rejected, and none of it is done later (T4). A request with some durable changes may have had effects that
 * cannot be undone: the response reports that, and the rest continues when possible. The changes of a request are
 * recognized by their asynchronous context, so that the engine need not pass the request through every call; only
 * high-volume requests are passed explicitly. The context is tracked only while such a request is open, because it
 * slows down every promise of the process.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { ReeveError } from "../../core/errors.js";
import type { StoreRequest } from "../../ports/store.js";

export interface OpenRequest extends StoreRequest {
	/** Whether one of its changes is durable. */
	hasBegun: boolean;
	/** Set when it is rejected: from then on it cannot change anything. */
	refusal: ReeveError | null;
	/** It has a response; further work in its context is not part of it, unless it was rejected. */
	isOver: boolean;
	/** Its own work has finished. Timers that it created belong to the engine, even if it was rejected. */
	isDone: boolean;
}

export class Requests {
	readonly #patienceMs: number;
	/** Rejects all waiting changes of a request. */
	readonly #withdraw: (request: OpenRequest, error: ReeveError) => void;
	readonly #context = new AsyncLocalStorage<OpenRequest>();
	readonly #open = new Map<OpenRequest, (error: ReeveError) => void>();
	/** The number of requests tracked by context. */
	#followed = 0;
	#obstacle: string | null = null;
	#timer: NodeJS.Timeout | null = null;

	constructor(patienceMs: number, withdraw: (request: OpenRequest, error: ReeveError) => void) {
		this.#patienceMs = patienceMs;
		this.#withdraw = withdraw;
	}

	/** The request that was passed, or the one of the current context; null if there is none. */
	find(passed: StoreRequest | undefined): OpenRequest | null {
		const request = (passed as OpenRequest | undefined) ?? this.#context.getStore();
		if (request === undefined || request.isDone) return null;
		return request.isOver && request.refusal === null ? null : request;
	}

	accept<T>(act: () => T | Promise<T>): Promise<T> {
		this.#followed += 1;
		return this.#answerInTime((request) =>
			this.#context.run(request, async () => {
				try {
					return await act();
				} finally {
					request.isDone = true;
					this.#followed -= 1;
					if (this.#followed === 0) this.#context.disable();
				}
			}),
		);
	}

	acceptWithRequest<T>(act: (request: StoreRequest) => T | Promise<T>): Promise<T> {
		return this.#answerInTime(async (request) => {
			try {
				return await act(request);
			} finally {
				request.isDone = true;
			}
		});
	}

	async #answerInTime<T>(work: (request: OpenRequest) => Promise<T>): Promise<T> {
		const request: OpenRequest = { hasBegun: false, refusal: null, isOver: false, isDone: false };
		const overdue = new Promise<never>((_, reject) => {
			this.#open.set(request, reject);
		});
		this.#watch();
		try {
			return await Promise.race([work(request), overdue]);
		} finally {
			request.isOver = true;
			this.#open.delete(request);
		}
	}

	detach<T>(act: () => T): T {
		return this.#context.exit(act);
	}

	/** Why nothing can be written now; null if it can. */
	obstacle(reason: string | null): void {
		this.#obstacle = reason;
		if (reason !== null) {
			this.#watch();
			return;
		}
		if (this.#timer !== null) clearTimeout(this.#timer);
		this.#timer = null;
	}

	/** While there is an obstacle, open requests get a response after a while. */
	#watch(): void {
		if (this.#timer !== null || this.#obstacle === null || this.#open.size === 0) return;
		this.#timer = setTimeout(() => {
			this.#timer = null;
			for (const [request, answer] of [...this.#open]) answer(this.#settle(request));
		}, this.#patienceMs);
	}

	#settle(request: OpenRequest): ReeveError {
		const reason = this.#obstacle ?? "the store is slow";
		if (request.hasBegun) {
			const message = `started but not finished: part of the request is stored and done, then writes to the database failed: ${reason}. The rest follows when the database recovers, and is lost if the daemon stops first`;
			return new ReeveError("outcome_pending", message);
		}
		const message = `cannot write to the database: ${reason}. Nothing was done`;
		request.refusal = new ReeveError("store_unavailable", message);
		this.#withdraw(request, request.refusal);
		return request.refusal;
	}
}

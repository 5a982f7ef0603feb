/**
 * The requests of a worker: queued, or written and without a response. If a worker does not read,
 * requests are queued here, each with its deadline running (A6).
 */

import type { Writable } from "node:stream";
import type { ActionRequest, Outcome } from "../core/outcome.js";
import type { AttemptEnd } from "../ports/executor.js";

export interface HeldRequest {
	readonly request: ActionRequest;
	/** Whether the worker may have started it. */
	isSent: boolean;
	/** Set when a response no longer counts (T7); null if it was cancelled. */
	verdict?: Outcome | null;
	/** Set when its caller has gone and the worker serves others: called when the worker has finished it. */
	abandoned?: () => void;
	/** The position in the worker's log at its start. */
	readonly logPosition: number;
	readonly end: (end: AttemptEnd) => void;
}

export interface HeldRequests {
	readonly size: number;
	/** The number of requests with a waiting caller. */
	readonly live: number;
	add(held: HeldRequest): void;
	/** The request with this id whose caller has gone. */
	abandoned(requestId: string): HeldRequest | null;
	/** The request with this id, if a response to it would count. */
	answerable(requestId: string): HeldRequest | null;
	has(requestId: string): boolean;
	remove(held: HeldRequest): void;
	all(): readonly HeldRequest[];
	/** Writes as many requests as fit. */
	send(): void;
	/** Resolves when there are no requests, now or later. */
	whenEmpty(): Promise<void>;
}

export function createHeldRequests(stdin: Writable, unreadBytesMax: number): HeldRequests {
	const byId = new Map<string, HeldRequest>();
	/** In order of arrival. */
	const unsent = new Set<HeldRequest>();
	let isCorked = false;
	const waiting: (() => void)[] = [];

	/** Combines all writes of one event loop iteration into one system call. */
	function cork(): void {
		if (isCorked) return;
		isCorked = true;
		stdin.cork();
		process.nextTick(() => {
			isCorked = false;
			stdin.uncork();
		});
	}

	function send(): void {
		for (const held of unsent) {
			if (!stdin.writable || stdin.writableLength >= unreadBytesMax) return;
			cork();
			unsent.delete(held);
			held.isSent = true;
			stdin.write(`${JSON.stringify(held.request)}\n`);
		}
	}
	stdin.on("drain", send);

	return {
		get size() {
			return byId.size;
		},
		get live() {
			return [...byId.values()].filter(({ verdict }) => verdict === undefined).length;
		},
		abandoned(requestId) {
			const held = byId.get(requestId);
			return held?.abandoned === undefined ? null : held;
		},
		add(held) {
			byId.set(held.request.request_id, held);
			unsent.add(held);
			send();
		},
		answerable(requestId) {
			const held = byId.get(requestId);
			return held?.isSent === true && held.verdict === undefined ? held : null;
		},
		has: (requestId) => byId.has(requestId),
		remove(held) {
			byId.delete(held.request.request_id);
			unsent.delete(held);
			if (byId.size > 0) return;
			for (const resolve of waiting.splice(0)) resolve();
		},
		all: () => [...byId.values()],
		send,
		whenEmpty: () =>
			new Promise((resolve) => {
				if (byId.size === 0) resolve();
				else waiting.push(resolve);
			}),
	};
}

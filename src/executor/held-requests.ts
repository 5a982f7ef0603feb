/**
 * The requests that a worker holds: waiting to be written, or written and not answered yet. A worker
 * that does not read makes requests wait here, each with its deadline running (A6).
 */

import type { Writable } from "node:stream";
import type { ActionRequest, Outcome } from "../core/outcome.js";
import type { AttemptEnd } from "../ports/executor.js";

export interface HeldRequest {
	readonly request: ActionRequest;
	/** Whether the worker may have begun with it. */
	isSent: boolean;
	/** Set when no answer of the worker counts any more (T7); null was called off. */
	verdict?: Outcome | null;
	/** Set when its caller has gone and the worker serves others: called when the worker is done with it. */
	abandoned?: () => void;
	/** Where the worker's log was when this began. */
	readonly logPosition: number;
	readonly end: (end: AttemptEnd) => void;
}

export interface HeldRequests {
	readonly size: number;
	/** How many somebody still waits for. */
	readonly live: number;
	add(held: HeldRequest): void;
	/** The one with this id whose caller has gone. */
	abandoned(requestId: string): HeldRequest | null;
	/** The one with this id, if an answer to it would count. */
	answerable(requestId: string): HeldRequest | null;
	has(requestId: string): boolean;
	remove(held: HeldRequest): void;
	all(): readonly HeldRequest[];
	/** Writes what there is room for. */
	send(): void;
	/** Resolves when nothing is held, now or later. */
	whenEmpty(): Promise<void>;
}

export function createHeldRequests(stdin: Writable, unreadBytesMax: number): HeldRequests {
	const byId = new Map<string, HeldRequest>();
	/** In the order in which they came. */
	const unsent = new Set<HeldRequest>();
	let isCorked = false;
	const waiting: (() => void)[] = [];

	/** All that is written in one go of the event loop becomes one write to the system. */
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

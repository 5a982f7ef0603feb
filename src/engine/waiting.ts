/** Waiting on a clock that tests can control. */

import type { Clock } from "../ports/clock.js";

/** The maximum of the host's timers; longer waits are split. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Runs `task` after this time, however long. The returned function cancels it. */
export function scheduleLong(clock: Clock, afterMs: number, task: () => void): () => void {
	const dueMs = clock.now().steadyMs + afterMs;
	let cancel = () => {};
	const step = () => {
		const leftMs = dueMs - clock.now().steadyMs;
		if (leftMs <= 0) task();
		else cancel = clock.schedule(Math.min(leftMs, TIMER_MS_MAX), step);
	};
	cancel = clock.schedule(Math.min(Math.max(0, afterMs), TIMER_MS_MAX), step);
	return () => cancel();
}

/** Resolves when the time has passed. */
export function pass(clock: Clock, ms: number): Promise<void> {
	return new Promise((resolve) => {
		clock.schedule(ms, resolve);
	});
}

/** Resolves with `"done"` when the promise does, or with `"late"` when the time is up first. */
export function withDeadline(
	clock: Clock,
	promise: Promise<unknown>,
	withinMs: number,
): Promise<"done" | "late"> {
	return new Promise((resolve, reject) => {
		const cancel = scheduleLong(clock, withinMs, () => resolve("late"));
		promise.then(
			() => {
				cancel();
				resolve("done");
			},
			(error: unknown) => {
				cancel();
				reject(error);
			},
		);
	});
}

export interface Signal<T> {
	readonly promise: Promise<T>;
	resolve(value: T): void;
}

export function createSignal<T>(): Signal<T> {
	let resolve: (value: T) => void = () => {};
	const promise = new Promise<T>((done) => {
		resolve = done;
	});
	return { promise, resolve };
}

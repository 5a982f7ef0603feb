/** Timers that may be longer than Node's, which fire at once beyond 2^31-1 ms. */

const TIMER_MS_MAX = 2 ** 31 - 1;

/** Calls back after this time; the returned function takes that back. */
export function startDeadline(delayMs: number, onExpiry: () => void): () => void {
	const dueMs = performance.now() + delayMs;
	let timer: NodeJS.Timeout;
	const arm = () => {
		const leftMs = dueMs - performance.now();
		if (leftMs <= TIMER_MS_MAX) timer = setTimeout(onExpiry, Math.max(0, Math.ceil(leftMs)));
		else timer = setTimeout(arm, TIMER_MS_MAX);
	};
	arm();
	return () => clearTimeout(timer);
}

/** Resolves to true when the promise has resolved in time. */
export function isInTime(promise: Promise<unknown>, delayMs: number): Promise<boolean> {
	return new Promise((resolve) => {
		const cancel = startDeadline(delayMs, () => resolve(false));
		void promise.then(() => {
			cancel();
			resolve(true);
		});
	});
}

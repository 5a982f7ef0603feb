/** Timers that support more than Node's 2^31-1 ms, beyond which Node fires immediately. */

const TIMER_MS_MAX = 2 ** 31 - 1;

/** Calls back after this time; the returned function cancels it. */
export function startDeadline(delayMs: number, onExpiry: () => void): () => void {
	const dueMs = performance.now() + delayMs;
	let timer: NodeJS.Timeout;
	/** Checks the clock again: a timer counts from the start of the event loop iteration, so it may fire early. */
	const check = () => {
		if (performance.now() < dueMs) arm();
		else onExpiry();
	};
	const arm = () => {
		const leftMs = Math.max(0, Math.ceil(dueMs - performance.now()));
		timer = setTimeout(check, Math.min(leftMs, TIMER_MS_MAX));
	};
	arm();
	return () => clearTimeout(timer);
}

/** Resolves to true if the promise resolves in time. */
export function isInTime(promise: Promise<unknown>, delayMs: number): Promise<boolean> {
	return new Promise((resolve) => {
		const cancel = startDeadline(delayMs, () => resolve(false));
		void promise.then(() => {
			cancel();
			resolve(true);
		});
	});
}

/**
 * Counts failed logins by address. After too many failures, a client is asked to wait, without the reason of the
 * failure. A valid token is still accepted: on one host all users have the same address, and a lock-out would let any
 * local user lock out the owner. With 256 random bits, that reveals nothing.
 */

const FAILURES_MAX = 20;
const WITHIN_MS = 60_000;
/** Remembered addresses; beyond that, the oldest is dropped (A6). */
const ADDRESSES_MAX = 1_000;

export interface Failed {
	/** The number of recent failures from this address. */
	readonly failures: number;
	/** How long to wait if there were too many. */
	readonly waitMs: number | null;
	/** The first recent failure, and the first one over the limit. Only these are reported, to avoid a flood. */
	readonly isNew: boolean;
}

export interface FailureLimit {
	/** Records a failure. */
	failed(address: string): Failed;
}

export function createFailureLimit(steadyMs: () => number): FailureLimit {
	const windows = new Map<string, { readonly sinceMs: number; failures: number }>();
	return {
		failed(address) {
			const nowMs = steadyMs();
			const known = windows.get(address);
			const fresh = known === undefined || nowMs - known.sinceMs >= WITHIN_MS;
			const window = fresh ? { sinceMs: nowMs, failures: 0 } : known;
			window.failures += 1;
			windows.delete(address);
			windows.set(address, window);
			const [oldest] = windows.keys();
			if (windows.size > ADDRESSES_MAX && oldest !== undefined) windows.delete(oldest);
			const { failures } = window;
			return {
				failures,
				waitMs: failures > FAILURES_MAX ? window.sinceMs + WITHIN_MS - nowMs : null,
				isNew: failures === 1 || failures === FAILURES_MAX + 1,
			};
		},
	};
}

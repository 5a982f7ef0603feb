/**
 * Counts failed logins by address. Whoever has failed too often is told to wait, and not why. A right
 * token is let in all the same: on one host everybody has the same address, and a lock-out would be a
 * way for any local user to lock out the owner. With 256 bits to guess, that gives nothing away.
 */

const FAILURES_MAX = 20;
const WITHIN_MS = 60_000;
/** Addresses that are remembered; beyond, the oldest is forgotten (A6). */
const ADDRESSES_MAX = 1_000;

export interface Failed {
	/** How many there were from this address of late. */
	readonly failures: number;
	/** How long to wait when there were too many. */
	readonly waitMs: number | null;
	/** The first of late, and the first of too many: worth telling, and never a flood. */
	readonly isNews: boolean;
}

export interface FailureLimit {
	/** Notes a failure. */
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
				isNews: failures === 1 || failures === FAILURES_MAX + 1,
			};
		},
	};
}

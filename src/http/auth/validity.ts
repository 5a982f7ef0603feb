/** Signals that abort when a token stops being valid, so that its open connections are closed (A8). */

import { setMaxListeners } from "node:events";
import type { Clock } from "../../ports/clock.js";

/** Expiry uses wall time, which can be set, so tokens in use are checked at this interval. */
const CHECK_MS = 1_000;

export interface Validity {
	/** Aborts when the token becomes invalid; already aborted if it is invalid. */
	until(id: string): AbortSignal;
	/** Aborts the signals of all tokens that are no longer valid. */
	check(): void;
}

export function createValidity(clock: Clock, isValid: (id: string) => boolean): Validity {
	/** One per used token, so never more than there are tokens (A6). */
	const inUse = new Map<string, AbortController>();
	let isScheduled = false;

	function check(): void {
		for (const [id, ending] of inUse) {
			if (isValid(id)) continue;
			inUse.delete(id);
			ending.abort();
		}
	}

	function checkAgain(): void {
		if (isScheduled || inUse.size === 0) return;
		isScheduled = true;
		clock.schedule(CHECK_MS, () => {
			isScheduled = false;
			check();
			checkAgain();
		});
	}

	return {
		check,
		until(id) {
			if (!isValid(id)) return AbortSignal.abort();
			const ending = inUse.get(id) ?? new AbortController();
			// Each open request adds a listener, and removes it.
			setMaxListeners(0, ending.signal);
			inUse.set(id, ending);
			checkAgain();
			return ending.signal;
		},
	};
}

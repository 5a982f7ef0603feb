/** Signals that abort when a token stops being valid, so that its open connections are closed (A8). */

import { setMaxListeners } from "node:events";
import type { Clock } from "../../ports/clock.js";

/** Expiry is wall time, and the wall clock can be set: tokens in use are checked this often. */
const CHECK_MS = 1_000;

export interface Validity {
	/** Aborts when the token stops being valid; already aborted for one that is not. */
	until(id: string): AbortSignal;
	/** Aborts the signals of all tokens that are no longer valid. */
	check(): void;
}

export function createValidity(clock: Clock, isValid: (id: string) => boolean): Validity {
	/** One per token that has been used, so there are never more than there are tokens (A6). */
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
			// Each open request has one, and takes it back.
			setMaxListeners(0, ending.signal);
			inUse.set(id, ending);
			checkAgain();
			return ending.signal;
		},
	};
}

/** The host's clock: steady time for decisions, wall time for people. */

import type { Clock } from "../ports/clock.js";

export const realClock: Clock = {
	now: () => ({ steadyMs: Math.round(performance.now()), wallMs: Date.now() }),
	schedule(afterMs, task) {
		const timer = setTimeout(task, afterMs);
		return () => clearTimeout(timer);
	},
};

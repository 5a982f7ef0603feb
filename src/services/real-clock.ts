/** The host's clock: steady time for decisions, wall time for display. */

import type { Clock } from "../ports/clock.js";

/** The maximum of the host's timers; longer waits are split. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export const realClock: Clock = {
	now: () => ({ steadyMs: Math.round(performance.now()), wallMs: Date.now() }),
	schedule(afterMs, task) {
		let leftMs = afterMs;
		let timer: NodeJS.Timeout;
		const step = () => {
			const stepMs = Math.min(leftMs, TIMER_MS_MAX);
			leftMs -= stepMs;
			timer = setTimeout(leftMs > 0 ? step : task, stepMs);
		};
		step();
		return () => clearTimeout(timer);
	},
};

/** The host's clock: steady time for decisions, wall time for people. */

import type { Clock } from "../ports/clock.js";

/** Timers of the host cannot count further than this; longer waits are taken in steps. */
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

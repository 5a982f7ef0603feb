/**
 * A clock for tests that only moves on request. Steady time and wall time move independently, as on a
 * real machine whose clock is set.
 */

import type { Instant } from "../core/time.js";
import type { Clock } from "../ports/clock.js";

/** A clock that only moves when a test advances it. */
export interface ManualClock extends Clock {
	/** Advances both clocks and runs due tasks in order, each at its own time. */
	advance(ms: number): void;
	/** Moves the wall clock forwards or backwards. No time passes. */
	stepWall(ms: number): void;
	/** The number of scheduled tasks that have not run yet. */
	readonly pending: number;
}

interface Scheduled {
	readonly dueMs: number;
	readonly order: number;
	readonly task: () => void;
}

/** Creates a clock that only moves when a test advances it. */
export function createManualClock(start: Instant = { steadyMs: 0, wallMs: 0 }): ManualClock {
	let { steadyMs, wallMs } = start;
	let scheduledSoFar = 0;
	const waiting = new Set<Scheduled>();

	function moveTo(targetMs: number): void {
		wallMs += targetMs - steadyMs;
		steadyMs = targetMs;
	}

	function nextDue(untilMs: number): Scheduled | undefined {
		return [...waiting]
			.filter((scheduled) => scheduled.dueMs <= untilMs)
			.sort((a, b) => a.dueMs - b.dueMs || a.order - b.order)[0];
	}

	return {
		now: () => ({ steadyMs, wallMs }),
		schedule(afterMs, task) {
			const scheduled = { dueMs: steadyMs + Math.max(0, afterMs), order: scheduledSoFar++, task };
			waiting.add(scheduled);
			return () => waiting.delete(scheduled);
		},
		advance(ms) {
			if (ms < 0) throw new RangeError("steady time does not move backwards; use stepWall");
			const untilMs = steadyMs + ms;
			for (let next = nextDue(untilMs); next !== undefined; next = nextDue(untilMs)) {
				waiting.delete(next);
				moveTo(next.dueMs);
				next.task();
			}
			moveTo(untilMs);
		},
		stepWall(ms) {
			wallMs += ms;
		},
		get pending() {
			return waiting.size;
		},
	};
}

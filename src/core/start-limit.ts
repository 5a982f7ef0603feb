/**
 * How fast agents may be started on this host, whoever asks: at most `burst` starts within any span
 * of `withinMs` (S4), so that a hundred agents that died together do not come back together.
 */

export interface StartLimitSettings {
	readonly burst: number;
	readonly withinMs: number;
}

export const DEFAULT_START_LIMIT: StartLimitSettings = Object.freeze({
	burst: 125,
	withinMs: 100,
});

/** Steady times of the newest starts, oldest first, at most `burst` of them. */
export type StartLog = readonly number[];

export type StartDecision =
	| { readonly type: "start"; readonly log: StartLog }
	| { readonly type: "wait"; readonly forMs: number };

/** Whether one more start is allowed now, or how long to wait until it is. */
export function decideStart(
	log: StartLog,
	nowMs: number,
	settings: StartLimitSettings,
): StartDecision {
	const oldestMs = log.length < settings.burst ? undefined : log[log.length - settings.burst];
	const freeAtMs = oldestMs === undefined ? nowMs : oldestMs + settings.withinMs;
	if (freeAtMs > nowMs) return { type: "wait", forMs: freeAtMs - nowMs };
	return { type: "start", log: [...log, nowMs].slice(-settings.burst) };
}

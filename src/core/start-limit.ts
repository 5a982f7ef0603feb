/**
 * The rate limit of agent starts on this host: at most `burst` starts within any span of `withinMs`
 * (S4), so that a hundred agents that died together do not restart together.
 */

export interface StartLimitSettings {
	readonly burst: number;
	readonly withinMs: number;
}

/** No more a second than before starts became cheap, but a whole fleet may start without a pause. */
export const DEFAULT_START_LIMIT: StartLimitSettings = Object.freeze({
	burst: 500,
	withinMs: 400,
});

/** Steady times of the newest starts, oldest first, at most `burst`. */
export type StartLog = readonly number[];

export type StartDecision =
	| { readonly type: "start"; readonly log: StartLog }
	| { readonly type: "wait"; readonly forMs: number };

/** Whether another start is allowed now, or how long to wait. */
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

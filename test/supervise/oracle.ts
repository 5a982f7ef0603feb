/**
 * The expected behaviour of scripted services, computed from the rules in the guide. It uses no
 * promises, timers or code of the supervisor.
 */

import type { Life, Observed, Script } from "./world.js";

const NEVER = Number.POSITIVE_INFINITY;
const DEFAULTS = {
	retries: 5,
	initialBackoffMs: 500,
	maxBackoffMs: 30_000,
	resetAfterMs: 300_000,
	startTimeoutMs: 30_000,
};

interface Run {
	readonly startMs: number;
	/** When it stops, unless everything is stopped before. */
	readonly goneMs: number;
	/** When the supervisor has done with it, which may be sooner. */
	readonly overMs: number;
	readonly life: Life;
}

interface Timeline {
	readonly runs: readonly Run[];
	readonly fatalMs: number;
}

export function expectedOf(scripts: readonly Script[], stopAtMs: number): Observed {
	const timelines = scripts.map((script) => timelineOf(script, stopAtMs));
	const fatalMs = Math.min(...timelines.map((timeline) => timeline.fatalMs));
	const isFatal = fatalMs < stopAtMs;
	const stopMs = Math.min(fatalMs, stopAtMs);
	const limitMs = stopMs + (isFatal ? 3_000 : 10_000);
	const ends = timelines.map(({ runs }) => endOf(runs, stopMs));
	return {
		exitCode: isFatal ? 1 : 0,
		endedAtMs: Math.min(limitMs, Math.max(stopMs, ...ends.map(({ goneMs }) => goneMs))),
		starts: timelines.map(({ runs }) =>
			runs.map(({ startMs }) => startMs).filter((startMs) => startMs < stopMs),
		),
		failedToStop: ends.flatMap(({ goneMs, threw }, number) =>
			goneMs > limitMs || threw ? [`s${number}`] : [],
		),
		runsAtOnceMax: 1,
	};
}

/** The life of one service as if it were never stopped, up to `untilMs`. */
function timelineOf({ policy, settings, lives }: Script, untilMs: number): Timeline {
	const rules = { ...DEFAULTS, ...settings };
	const runs: Run[] = [];
	let used = 0;
	let startMs = 0;
	while (startMs < untilMs) {
		const run = runOf(lives[Math.min(runs.length, lives.length - 1)] as Life, startMs, rules);
		runs.push(run);
		if (run.overMs === NEVER) break;
		if (policy === "critical") return { runs, fatalMs: run.overMs };
		if (policy === "tolerated") break;
		if (run.stable) used = 0;
		let failedMs = run.overMs;
		for (;;) {
			if (used === rules.retries) return { runs, fatalMs: failedMs };
			used++;
			const backMs =
				failedMs + Math.min(rules.initialBackoffMs * 2 ** (used - 1), rules.maxBackoffMs);
			startMs = Math.max(backMs, run.goneMs);
			if (startMs <= backMs + rules.startTimeoutMs) break;
			failedMs = backMs + rules.startTimeoutMs;
			if (failedMs > untilMs) return { runs, fatalMs: NEVER };
		}
	}
	return { runs, fatalMs: NEVER };
}

function runOf(life: Life, startMs: number, rules: typeof DEFAULTS): Run & { stable: boolean } {
	const readyMs = life.startMs === null ? NEVER : startMs + life.startMs;
	const endMs = life.runMs === null ? NEVER : readyMs + life.runMs;
	const timeoutMs = startMs + rules.startTimeoutMs;
	if (readyMs <= timeoutMs) {
		const stable = life.runMs !== null && life.runMs >= rules.resetAfterMs;
		return { startMs, goneMs: endMs, overMs: endMs, life, stable };
	}
	const obeyedMs = life.obeyMs === null ? NEVER : timeoutMs + life.obeyMs;
	const goneMs = Math.min(endMs, obeyedMs);
	return { startMs, goneMs, overMs: timeoutMs, life, stable: false };
}

/** When the current run at the stop ends, and whether it threw although it was asked to stop. */
function endOf(runs: readonly Run[], stopMs: number): { goneMs: number; threw: boolean } {
	const run = runs.findLast(({ startMs, goneMs }) => startMs < stopMs && goneMs > stopMs);
	if (run === undefined) return { goneMs: stopMs, threw: false };
	if (run.overMs <= stopMs) return { goneMs: run.goneMs, threw: false };
	const { obeyMs, throws, throwsWhenNotified, startMs, runMs } = run.life;
	const obeyedMs = obeyMs === null ? NEVER : stopMs + obeyMs;
	// A service whose start would have been cut short also continues with it when it is asked to stop.
	const endMs = startMs === null || runMs === null ? NEVER : run.startMs + startMs + runMs;
	if (obeyedMs < endMs) return { goneMs: obeyedMs, threw: throwsWhenNotified };
	return { goneMs: endMs, threw: endMs !== NEVER && throws };
}

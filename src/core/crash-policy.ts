/**
 * Decides what happens after a run of an agent has ended. Pure: the same recorded facts always give the
 * same state, action and reason (S3), whichever daemon asks and however often.
 *
 * Time here is the agent's own running time, summed over its runs. Delays that Reeve imposed are not
 * part of it, so a crash loop is detected whatever the back-off (S16): a process that dies immediately
 * is halted at its 7th exit although its starts are 30 s apart.
 *
 * Keeps S3, S5, S6, S14, S15 and S16.
 */

import type {
	CrashContext,
	CrashDecision,
	CrashPolicySettings,
	CrashState,
	ExitClass,
	RecordedExit,
} from "./crash-state.js";
import { isBudgetUsed, lastOf, NEW_AGENT, NO_WAITS } from "./crash-state.js";
import { classifyExit, type ExitKind, type ExitReport, renderExit } from "./exit.js";
import {
	decideIncurable,
	decideOutOfMemory,
	decideTrouble,
	decideUsageLimit,
} from "./own-cause.js";
import { failureDelayMs, longestDelayMs, restartAfter } from "./restart-delay.js";
import { renderDuration, renderElapsed } from "./units.js";

type Verdict = Omit<CrashDecision, "kind" | "class"> & { readonly class?: ExitClass };
type Decide = (state: CrashState, report: ExitReport, context: CrashContext) => Verdict;

const DECIDE_BY_KIND: Readonly<Record<ExitKind, Decide>> = {
	planned: decidePlanned,
	clean: decideClean,
	failed: (state, report, context) => decideCounted(state, report, context, "transient"),
	permanent: decideIncurable("a retry cannot succeed"),
	auth: decideIncurable("not logged in, or the login has expired"),
	config: decideIncurable("the agent rejects its configuration"),
	usage_limit: decideUsageLimit,
	overloaded: decideTrouble("the service behind the agent is overloaded"),
	spawn_error: decideTrouble("the host could not start the process"),
	out_of_memory: decideOutOfMemory,
};

/** Decides what happens after an exit. */
export function decideAfterExit(
	before: CrashState,
	report: ExitReport,
	context: CrashContext,
): CrashDecision {
	const kind = classifyExit(report, context.settings.permanentExitCodes);
	// S15: halted absorbs every exit.
	if (before.policy === "halted") {
		const reason = `halted: ${renderExit(report)} is ignored until the agent is resumed`;
		return { state: before, action: { type: "none" }, reason, kind, class: null };
	}
	const sound = { ...report, uptimeMs: countedUptimeMs(report) };
	const settled = settle(before, sound.uptimeMs, context.settings);
	const state = { ...settled, runningMs: settled.runningMs + sound.uptimeMs };
	const verdict = DECIDE_BY_KIND[kind](state, sound, context);
	const stays = kind !== "clean" && context.settings.onFailure === "stop";
	return { class: null, ...(stays ? withoutRestart(verdict, sound) : verdict), kind };
}

/** Under `on_failure: stop`, a failure that would be restarted halts the agent instead. */
function withoutRestart(verdict: Verdict, report: ExitReport): Verdict {
	if (verdict.action.type !== "restart") return verdict;
	const reason = `${what(report)}: not restarted, because \`on_failure\` is \`stop\`${hint(report)}`;
	const state: CrashState = { ...verdict.state, policy: "halted" };
	return { ...verdict, state, action: { type: "halt" }, reason };
}

/**
 * Applies a run of this length to the state (S6): a whole window makes the agent
 * healthy again, a whole budget span proves that the cause of its waits is over. Call it while
 * an agent runs; the decision after its exit applies it too, so a missed call does no harm.
 */
export function settle(
	state: CrashState,
	uptimeMs: number,
	settings: CrashPolicySettings,
): CrashState {
	if (state.policy === "halted" || uptimeMs < settings.windowMs) return state;
	const waits = uptimeMs < settings.budget.withinMs ? state.waits : NO_WAITS;
	return { ...state, policy: "healthy", flaps: 0, failures: 0, waits };
}

/**
 * Resumes an agent on behalf of the operator and clears its history. The history is kept if
 * a healthy agent only waited for something else, which `endsHold` ends: its exits were not the cause.
 */
export function decideResume(
	before: CrashState,
	endsHold = false,
): Omit<CrashDecision, "kind" | "class"> {
	const keeps = endsHold && before.policy === "healthy";
	return {
		state: keeps ? before : { ...NEW_AGENT, runningMs: before.runningMs },
		action: { type: "restart", afterMs: 0, withContinue: true },
		reason: keeps
			? "resumed by the operator: the wait is over"
			: `resumed by the operator (was ${before.policy}): history cleared`,
	};
}

/**
 * The agent's own running time in this run. A run of unknown length counts as zero: one bad number must
 * not disable the policy. A start that never finished is not running time either: however long the
 * timeout, a loop of such starts is halted like one of quick crashes (S16).
 */
function countedUptimeMs({ uptimeMs, cause }: ExitReport): number {
	return Number.isFinite(uptimeMs) && cause !== "start_timeout" ? Math.max(0, uptimeMs) : 0;
}

function decidePlanned(state: CrashState, report: ExitReport): Verdict {
	const asker = report.askedBy ?? "reeve";
	const reason = `${renderExit(report)}, requested by ${asker === "operator" ? "the operator" : asker}: not counted`;
	const why = report.detail === null ? "" : ` (${report.detail})`;
	return { state, action: { type: "none" }, reason: reason + why };
}

const AFTER_CLEAN_EXIT = {
	prompt: ["ask_operator", "waiting for the operator"],
	stop: ["stop", "finished, stays down"],
	complete: ["complete", "completed"],
} as const;

function decideClean(state: CrashState, report: ExitReport, context: CrashContext): Verdict {
	// A clean exit that is restarted counts like a failed one: an agent that exits immediately does not run.
	if (context.onCleanExit === "restart") return decideCounted(state, report, context, "clean");
	const [action, next] = AFTER_CLEAN_EXIT[context.onCleanExit];
	const exit: RecordedExit = { class: "clean", atRunningMs: state.runningMs, counted: false };
	return {
		state: {
			...recovered(state),
			exits: lastOf([...state.exits, exit], context.settings.history),
		},
		action: { type: action },
		reason: `${what(report)}: ${next}`,
		class: "clean",
	};
}

/** After a clean exit, earlier failures no longer count as an ongoing loop. */
function recovered(state: CrashState): CrashState {
	return { ...state, policy: "healthy", flaps: 0, failures: 0 };
}

/** An exit that counts in the window: flapping if there are too many, otherwise `otherwise`. */
function decideCounted(
	earlier: CrashState,
	report: ExitReport,
	{ settings, random }: CrashContext,
	otherwise: "clean" | "transient",
): Verdict {
	const inWindow = 1 + countRecent(earlier, report.uptimeMs, settings);
	const flapping = inWindow >= settings.flapThreshold;
	const exitClass = flapping ? "flapping" : otherwise;
	// A clean exit as fast as a crash loop is part of that loop, so it resets nothing (S16).
	const before = exitClass === "clean" ? recovered(earlier) : earlier;
	const exit: RecordedExit = { class: exitClass, atRunningMs: before.runningMs, counted: true };
	// A clean exit counts against the slow-burn budget only if it came as fast as a crash loop.
	const budgetSpentAt =
		exitClass === "clean"
			? before.budgetSpentAt
			: lastOf([...before.budgetSpentAt, before.runningMs], settings.budget.exits);
	const failures = (before.failures ?? 0) + (exitClass === "clean" ? 0 : 1);
	const state: CrashState = {
		...before,
		policy: flapping ? "degraded" : before.policy,
		exits: lastOf([...before.exits, exit], settings.history),
		flaps: before.flaps + (flapping ? 1 : 0),
		failures,
		budgetSpentAt,
	};

	const seen = `${inWindow} within ${renderDuration(settings.windowMs)} of running time`;
	const verdict = { class: exitClass } as const;
	const halt = { state: { ...state, policy: "halted" }, action: { type: "halt" } } as const;
	// With `halt: never`, a loop that would halt continues at the longest delay and stays degraded.
	const loops =
		settings.halt === "never"
			? {
					state: { ...state, policy: "degraded" as const },
					action: restartAfter(longestDelayMs(settings), settings.jitter, random),
				}
			: halt;
	const never = settings.halt === "never" ? "; retried, because `halt` is `never`" : "";
	if (flapping && state.flaps >= settings.haltThreshold) {
		const reason = `${what(report)}: flapping ${flapCount(state.flaps, settings)} without a stable run (${seen})${never}${hint(report)}`;
		return { ...verdict, ...loops, reason };
	}
	if (exitClass !== "clean" && isBudgetUsed(budgetSpentAt, settings.budget)) {
		const { exits, withinMs } = settings.budget;
		const reason = `${what(report)}: slow-burn budget used up (${exits} failed exits within ${renderDuration(withinMs)} of running time)${never}${hint(report)}`;
		return { ...verdict, ...loops, reason };
	}
	const delayMs = failureDelayMs(settings, failures, flapping);
	const judged = flapping
		? `flapping ${flapCount(state.flaps, settings)} (${seen})`
		: `${otherwise} (${seen}, flapping from ${settings.flapThreshold})`;
	return {
		...verdict,
		state,
		action: restartAfter(delayMs, settings.jitter, random),
		reason: `${what(report)}: ${judged}${hint(report)}`,
	};
}

/** `2 of 5`; a loop that never halts has no limit to name. */
function flapCount(flaps: number, { halt, haltThreshold }: CrashPolicySettings): string {
	if (halt !== "never") return `${flaps} of ${haltThreshold}`;
	return flaps === 1 ? "once" : `${flaps} times`;
}

/** A hint from the output for the operator; it does not affect the decision. */
function hint({ detail }: ExitReport): string {
	return detail === null ? "" : `; ${detail}`;
}

/** Earlier counted exits that are still in the window. */
function countRecent(state: CrashState, uptimeMs: number, settings: CrashPolicySettings): number {
	// A run that lasted a whole window ends the history before it, including exits exactly on the window's edge.
	if (uptimeMs >= settings.windowMs) return 0;
	const sinceMs = state.runningMs - settings.windowMs;
	// The current exit needs a slot in the ring too.
	return lastOf(state.exits, settings.history - 1).filter(
		(exit) => exit.counted && exit.atRunningMs >= sinceMs,
	).length;
}

function what(report: ExitReport): string {
	if (report.cause === "start_timeout") return "the start timed out";
	if (report.cause === "unhealthy") return `unhealthy after ${renderElapsed(report.uptimeMs)}`;
	return `${renderExit(report)} after ${renderElapsed(report.uptimeMs)}`;
}

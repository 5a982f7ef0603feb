/**
 * What to do after an agent's run has ended. Pure: the same recorded facts always give the same
 * state, action and reason (S3), whichever daemon asks and however often.
 *
 * Time here is the agent's own running time, summed over its runs. Delays that Reeve itself
 * imposed are not part of it, so a crash loop is seen whatever the back-off (S16): a child that
 * dies at once halts at its 7th exit although 30 s lie between its starts.
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
import { NEW_AGENT, NO_WAITS } from "./crash-state.js";
import { classifyExit, type ExitKind, type ExitReport, renderExit } from "./exit.js";
import {
	decideIncurable,
	decideOutOfMemory,
	decideTrouble,
	decideUsageLimit,
} from "./own-cause.js";
import { isSpent, lastOf, restartAfter } from "./restart-budget.js";
import { renderDuration, renderElapsed } from "./units.js";

type Verdict = Omit<CrashDecision, "kind" | "class"> & { readonly class?: ExitClass };
type Decide = (state: CrashState, report: ExitReport, context: CrashContext) => Verdict;

const DECIDE_BY_KIND: Readonly<Record<ExitKind, Decide>> = {
	planned: decidePlanned,
	clean: decideClean,
	failed: (state, report, context) => decideCounted(state, report, context, "transient"),
	permanent: decideIncurable("trying again cannot help"),
	auth: decideIncurable("not logged in, or the login has expired"),
	config: decideIncurable("the agent refuses its configuration"),
	usage_limit: decideUsageLimit,
	overloaded: decideTrouble("the service behind the agent is overloaded"),
	spawn_error: decideTrouble("the host could not start the process"),
	out_of_memory: decideOutOfMemory,
};

/** Decides what follows an exit. */
export function decideAfterExit(
	before: CrashState,
	report: ExitReport,
	context: CrashContext,
): CrashDecision {
	const kind = classifyExit(report, context.settings.permanentExitCodes);
	// S15: halted absorbs every exit, whatever it was.
	if (before.policy === "halted") {
		const reason = `halted: ${renderExit(report)} changes nothing; only resume leaves this state`;
		return { state: before, action: { type: "none" }, reason, kind, class: null };
	}
	const sound = { ...report, uptimeMs: soundUptimeMs(report.uptimeMs) };
	const settled = settle(before, sound.uptimeMs, context.settings);
	const state = { ...settled, runningMs: settled.runningMs + sound.uptimeMs };
	return { class: null, ...DECIDE_BY_KIND[kind](state, sound, context), kind };
}

/**
 * What a run that has lasted this long does to the state (S6): a whole window makes the agent
 * healthy again, a whole budget span shows that what it had to wait for is over. To be called while
 * an agent runs; its exit applies it too, so it does not matter whether anybody saw the moment.
 */
export function settle(
	state: CrashState,
	uptimeMs: number,
	settings: CrashPolicySettings,
): CrashState {
	if (state.policy === "halted" || uptimeMs < settings.windowMs) return state;
	const waits = uptimeMs < settings.budget.withinMs ? state.waits : NO_WAITS;
	return { ...state, policy: "healthy", flaps: 0, waits };
}

/**
 * The operator's word that the trouble is over: everything held against the agent is forgotten. Unless
 * a healthy agent was kept by something else, which `endsHold` says has ended: its exits were not it.
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
			? "resumed by the operator, who ended its wait"
			: `resumed by the operator from ${before.policy}: history cleared`,
	};
}

/** A run of unknown length counts as none: one bad number must not switch the policy off. */
function soundUptimeMs(uptimeMs: number): number {
	return Number.isFinite(uptimeMs) ? Math.max(0, uptimeMs) : 0;
}

function decidePlanned(state: CrashState, report: ExitReport): Verdict {
	const asker = report.askedBy ?? "reeve";
	const reason = `${renderExit(report)}, asked for by ${asker === "operator" ? "the operator" : asker}: not counted`;
	return { state, action: { type: "none" }, reason };
}

function decideClean(state: CrashState, report: ExitReport, context: CrashContext): Verdict {
	// A clean exit that is restarted counts like a failed one: an agent that ends at once does not run.
	if (context.onCleanExit === "restart") return decideCounted(state, report, context, "clean");
	const prompt = context.onCleanExit === "prompt";
	const exit: RecordedExit = { class: "clean", atRunningMs: state.runningMs, counted: false };
	return {
		state: { ...state, exits: lastOf([...state.exits, exit], context.settings.history) },
		action: { type: prompt ? "ask_operator" : "stop" },
		reason: `${what(report)}: ${prompt ? "waiting for the operator" : "finished, so it stays down"}`,
		class: "clean",
	};
}

/** An exit that stands in the window: flapping when there are too many there, else `otherwise`. */
function decideCounted(
	before: CrashState,
	report: ExitReport,
	{ settings, random }: CrashContext,
	otherwise: "clean" | "transient",
): Verdict {
	const inWindow = 1 + countRecent(before, report.uptimeMs, settings);
	const flapping = inWindow >= settings.flapThreshold;
	const exitClass = flapping ? "flapping" : otherwise;
	const exit: RecordedExit = { class: exitClass, atRunningMs: before.runningMs, counted: true };
	// A clean exit spends the slow-burn budget only when it came as fast as a crash loop.
	const budgetSpentAt =
		exitClass === "clean"
			? before.budgetSpentAt
			: lastOf([...before.budgetSpentAt, before.runningMs], settings.budget.exits);
	const state: CrashState = {
		...before,
		policy: flapping ? "degraded" : before.policy,
		exits: lastOf([...before.exits, exit], settings.history),
		flaps: before.flaps + (flapping ? 1 : 0),
		budgetSpentAt,
	};

	const seen = `${inWindow} within ${renderDuration(settings.windowMs)} of running time`;
	const verdict = { class: exitClass } as const;
	const halt = { state: { ...state, policy: "halted" }, action: { type: "halt" } } as const;
	if (flapping && state.flaps >= settings.haltThreshold) {
		const reason = `${what(report)}: flapping ${state.flaps} of ${settings.haltThreshold} without a stable run (${seen})`;
		return { ...verdict, ...halt, reason };
	}
	if (exitClass !== "clean" && isSpent(budgetSpentAt, settings.budget)) {
		const { exits, withinMs } = settings.budget;
		const reason = `${what(report)}: slow-burn budget spent (${exits} failed exits within ${renderDuration(withinMs)} of running time)`;
		return { ...verdict, ...halt, reason };
	}
	const delayMs = flapping ? settings.flappingDelayMs : settings.transientDelayMs;
	const judged = flapping
		? `flapping ${state.flaps} of ${settings.haltThreshold} (${seen})`
		: `${otherwise} (${seen}, flapping from ${settings.flapThreshold})`;
	return {
		...verdict,
		state,
		action: restartAfter(delayMs, settings.jitter, random),
		reason: `${what(report)}: ${judged}`,
	};
}

/** Counted exits before this one that still stand in the window. */
function countRecent(state: CrashState, uptimeMs: number, settings: CrashPolicySettings): number {
	// A run that lasted a whole window leaves everything before it behind, also what lies exactly
	// on the window's edge.
	if (uptimeMs >= settings.windowMs) return 0;
	const sinceMs = state.runningMs - settings.windowMs;
	// The exit at hand takes a place in the ring too.
	return lastOf(state.exits, settings.history - 1).filter(
		(exit) => exit.counted && exit.atRunningMs >= sinceMs,
	).length;
}

function what(report: ExitReport): string {
	return `${renderExit(report)} after ${renderElapsed(report.uptimeMs)}`;
}

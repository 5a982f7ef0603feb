/**
 * The crash policy over a random child, with a virtual clock and every delay honoured: one life of
 * one agent, with an operator who now and then stops, restarts or resumes it.
 */

import { isDeepStrictEqual } from "node:util";
import type { decideAfterExit, decideResume, settle } from "../../src/core/crash-policy.js";
import {
	type CrashContext,
	type CrashDecision,
	type CrashPolicySettings,
	type CrashState,
	DEFAULT_CRASH_POLICY,
	type GrowingDelay,
	NEW_AGENT,
} from "../../src/core/crash-state.js";
import { type ExitReport, exitReport } from "../../src/core/exit.js";
import { CLEAN_EXIT_CHOICES } from "../../src/core/states.js";
import type { SeededRandom } from "../../src/testing/random.js";
import { BEHAVIOURS, createChild } from "./children.js";
import { createOracle, type Expected, expectKind } from "./crash-oracle.js";
import type { Trace, World } from "./simulate.js";

export interface CrashPolicy {
	readonly decideAfterExit: typeof decideAfterExit;
	readonly decideResume: typeof decideResume;
	readonly settle: typeof settle;
}

const STEPS_PER_LIFE_MAX = 80;

export const crashWorld: World<CrashPolicy> = (policy, random, trace) => {
	const settings = random.chance(0.7) ? DEFAULT_CRASH_POLICY : randomSettings(random);
	const onCleanExit = random.pick(CLEAN_EXIT_CHOICES);
	const child = createChild(random.pick(BEHAVIOURS), settings);
	trace.note(
		() => `child that ${child.habit}, on_clean_exit ${onCleanExit}, ${JSON.stringify(settings)}`,
	);

	let state: CrashState = NEW_AGENT;
	let oracle = createOracle(settings, onCleanExit);
	let wallMs = 0;
	let steps = 0;
	let operatorSteppedIn = false;

	for (; steps < STEPS_PER_LIFE_MAX; steps++) {
		const asked = random.chance(0.03);
		const report = asked ? askedFor(random, settings) : child.end(random);
		operatorSteppedIn ||= asked;
		wallMs += report.uptimeMs;

		const context = { settings, onCleanExit, random: random.next() };
		const decision = policy.decideAfterExit(state, report, context);
		const endedAtMs = wallMs;
		trace.note(
			() =>
				`${endedAtMs} ms: ran ${report.uptimeMs} ms, code ${report.code} ${report.signal ?? ""} ${report.cause}` +
				` -> ${decision.class ?? decision.kind}, ${decision.state.policy}, ${JSON.stringify(decision.action)}: ${decision.reason}`,
		);
		const kind = expectKind(report, settings.permanentExitCodes);
		trace.check(
			decision.kind === kind,
			"S9 the kind of an exit follows from its facts",
			() => `${decision.kind} instead of ${kind}`,
		);
		checkPure(policy, state, report, context, decision, random, trace);

		if (state.policy === "halted") {
			trace.check(
				isDeepStrictEqual(decision.state, state) && decision.action.type === "none",
				"S15 halted absorbs every exit",
				() => `${JSON.stringify(state)} became ${JSON.stringify(decision.state)}`,
			);
		} else {
			const expected = oracle.expectAfter({ ...report, kind });
			checkAgainstOracle(expected, decision, settings, trace);
			checkUncounted(state, decision, report, settings, trace);
			checkAction(expected, decision, trace);
		}
		// The decision is stored and read back, as by a daemon that died in between.
		state = JSON.parse(JSON.stringify(decision.state)) as CrashState;

		if (child.habit === "dies at once" && !operatorSteppedIn) {
			checkLoopHalts(oracle.seen, state, settings, trace);
		}
		if (decision.action.type === "restart" || decision.action.type === "park") {
			wallMs += decision.action.afterMs;
		}
		if (state.policy === "halted" && random.chance(0.5)) {
			const resumed = policy.decideResume(state);
			state = resumed.state;
			trace.check(
				isDeepStrictEqual(resumed.action, { type: "restart", afterMs: 0, withContinue: true }),
				"S15 resume starts the agent at once",
				() => JSON.stringify(resumed.action),
			);
			oracle = createOracle(settings, onCleanExit);
			trace.note(() => "operator: resume");
			trace.check(
				state.policy === "healthy" && state.flaps === 0 && state.exits.length === 0,
				"S6 resume forgets everything",
				() => JSON.stringify(state),
			);
		}
	}
	return steps;
};

/** S3: asking again changes nothing, and it does not matter whether a stable run was seen live. */
function checkPure(
	policy: CrashPolicy,
	state: CrashState,
	report: ExitReport,
	context: CrashContext,
	decision: CrashDecision,
	random: SeededRandom,
	trace: Trace,
): void {
	if (random.chance(0.5)) return;
	const seenAtMs = random.int(0, report.uptimeMs);
	const settled = policy.settle(state, seenAtMs, context.settings);
	const again = policy.decideAfterExit(settled, report, context);
	trace.check(
		isDeepStrictEqual(again, decision),
		"S3 a decision is a pure function of recorded facts",
		() =>
			`seen live at ${seenAtMs} ms: ${JSON.stringify(again)} instead of ${JSON.stringify(decision)}`,
	);
}

function checkAgainstOracle(
	expected: Expected,
	decision: CrashDecision,
	settings: CrashPolicySettings,
	trace: Trace,
): void {
	trace.check(
		decision.class === expected.class &&
			decision.state.policy === expected.policy &&
			decision.state.flaps === expected.flaps,
		"S6 and S16 the policy agrees with the whole history",
		() =>
			`expected ${JSON.stringify(expected)}, got ${JSON.stringify({
				policy: decision.state.policy,
				class: decision.class,
				flaps: decision.state.flaps,
			})}`,
	);
	trace.check(
		decision.state.exits.length <= settings.history &&
			decision.state.budgetSpentAt.length <= settings.budget.exits,
		"A6 what is remembered is bounded",
		() => JSON.stringify(decision.state),
	);
}

/** Exits that were asked for, and limits, leave every crash counter as it was. */
function checkUncounted(
	before: CrashState,
	decision: CrashDecision,
	report: ExitReport,
	settings: CrashPolicySettings,
	trace: Trace,
): void {
	if (!["planned", "usage_limit", "overloaded", "spawn_error"].includes(decision.kind)) return;
	const stable = report.uptimeMs >= settings.windowMs;
	const { state } = decision;
	trace.check(
		isDeepStrictEqual(state.exits, before.exits) &&
			isDeepStrictEqual(state.budgetSpentAt, before.budgetSpentAt) &&
			state.flaps === (stable ? 0 : before.flaps),
		"S13 an exit that does not count moves no counter",
		() => `${decision.kind}: ${JSON.stringify(before)} became ${JSON.stringify(state)}`,
	);
}

/** The action, and its time. */
function checkAction(expected: Expected, { action }: CrashDecision, trace: Trace): void {
	trace.check(
		action.type === expected.action,
		"S14 and S16 what follows an exit is what the rules say",
		() => `${action.type} instead of ${expected.action}`,
	);
	const afterMs = "afterMs" in action ? action.afterMs : null;
	const [shortestMs, longestMs] = expected.delayMs ?? [0, 0];
	trace.check(
		afterMs === null
			? expected.delayMs === null
			: afterMs >= Math.floor(shortestMs) && afterMs <= Math.ceil(longestMs),
		"S5 base ≤ delay ≤ cap",
		() => `${afterMs} ms, expected ${JSON.stringify(expected.delayMs)}`,
	);
}

/**
 * S16, checked without the oracle: a child that always dies quickly is halted exactly when it must be.
 */
function checkLoopHalts(
	exits: number,
	state: CrashState,
	settings: CrashPolicySettings,
	trace: Trace,
): void {
	if (settings.permanentExitCodes.length > 0) return;
	const loopsAt = Math.min(
		settings.flapThreshold + settings.haltThreshold - 1,
		settings.budget.exits,
	);
	const haltsAt = settings.onFailure === "stop" ? 1 : loopsAt;
	if (settings.halt === "never" && settings.onFailure === "restart") {
		trace.check(
			state.policy ===
				(exits >= Math.min(settings.flapThreshold, loopsAt) ? "degraded" : "healthy"),
			"S16 with `halt: never`, a crash loop is reported as degraded and continues",
			() => `${state.policy} after ${exits} exits`,
		);
		return;
	}
	trace.check(
		(state.policy === "halted") === exits >= haltsAt,
		"S16 a crash loop, with its delays honoured, reaches halted",
		() => `${state.policy} after ${exits} exits; it should halt at exit ${haltsAt}`,
	);
}

function askedFor(random: SeededRandom, settings: CrashPolicySettings): ExitReport {
	return exitReport({
		uptimeMs: random.int(0, settings.windowMs * 3),
		code: random.pick([0, 1, 143]),
		askedBy: random.pick(["operator", "reeve", "host"]),
		cause: random.pick(["requested", "unknown", "crash"]),
	});
}

function randomSettings(random: SeededRandom): CrashPolicySettings {
	const history = random.int(1, 20);
	const windowMs = random.int(1, 600) * 1_000;
	const transientDelayMs = random.int(0, 10_000);
	return {
		windowMs,
		history,
		flapThreshold: random.int(1, history),
		haltThreshold: random.int(1, 10),
		transientDelayMs,
		flappingDelayMs: transientDelayMs + random.int(0, 120_000),
		delay: random.chance(0.4) ? randomDelay(random) : null,
		jitter: random.pick([0, 0.1, 0.5, 1]),
		// Never so small that a loop of quick exits does not fill it.
		budget: { exits: random.int(1, 40), withinMs: random.int(60, 7_200) * 1_000 + windowMs * 20 },
		permanentExitCodes: random.chance(0.2) ? [random.int(1, 255)] : [],
		halt: random.chance(0.2) ? "never" : "crash_loop",
		onFailure: random.chance(0.1) ? "stop" : "restart",
	};
}

function randomDelay(random: SeededRandom): GrowingDelay {
	const initialMs = random.int(0, 5_000);
	return {
		initialMs,
		factor: random.pick([1, 1.5, 2, 10]),
		maxMs: initialMs + random.int(0, 600_000),
	};
}

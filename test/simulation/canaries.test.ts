/**
 * Proof that the simulator can find anything: each canary is a bug planted in the real core, which
 * must be found, by the invariant it breaks, and found again from the seed that is printed.
 */

import { describe, expect, test } from "vitest";
import { type Bug, withBug } from "./plant.js";
import { liveOnce, renderFailure, simulate } from "./simulate.js";
import { WORLDS, type WorldName } from "./worlds.js";

interface Canary extends Bug {
	readonly name: string;
	readonly world: WorldName;
	/** One of these invariants must be the one that breaks. */
	readonly breaks: RegExp;
}

const CANARIES: readonly Canary[] = [
	{
		name: "the window is counted in wall time",
		world: "crash",
		file: "crash-policy.ts",
		find: "runningMs: settled.runningMs + sound.uptimeMs",
		replace:
			'runningMs: settled.runningMs + sound.uptimeMs + (before.exits.length === 0 ? 0 : before.exits.at(-1)?.class === "flapping" ? context.settings.flappingDelayMs : context.settings.transientDelayMs)',
		breaks: /S16/,
	},
	{
		name: "a clean exit clears halted",
		world: "crash",
		file: "crash-policy.ts",
		find: 'if (before.policy === "halted") {',
		replace: 'if (before.policy === "halted" && kind !== "clean") {',
		breaks: /S15/,
	},
	{
		name: "a transient exit resets the flap counter",
		world: "crash",
		file: "crash-policy.ts",
		find: "flaps: before.flaps + (flapping ? 1 : 0)",
		replace: "flaps: flapping ? before.flaps + 1 : 0",
		breaks: /S6|S16/,
	},
	{
		name: "a transient exit makes a degraded agent healthy",
		world: "crash",
		file: "crash-policy.ts",
		find: 'policy: flapping ? "degraded" : before.policy',
		replace: 'policy: flapping ? "degraded" : "healthy"',
		breaks: /S6|S16/,
	},
	{
		name: "a clean exit leaves a degraded agent degraded",
		world: "crash",
		file: "crash-policy.ts",
		find: '...state, policy: "healthy", flaps: 0, failures: 0 }',
		replace: "...state, flaps: 0, failures: 0 }",
		breaks: /S6/,
	},
	{
		name: "a clean exit keeps the flap count",
		world: "crash",
		file: "crash-policy.ts",
		find: '...state, policy: "healthy", flaps: 0, failures: 0 }',
		replace: '...state, policy: "healthy", failures: 0 }',
		breaks: /S6/,
	},
	{
		name: "a clean exit within a fast loop resets the flap count",
		world: "crash",
		file: "crash-policy.ts",
		find: 'const before = exitClass === "clean" ?',
		replace: 'const before = otherwise === "clean" ?',
		breaks: /S16/,
	},
	{
		name: "a growing delay never grows",
		world: "crash",
		file: "crash-policy.ts",
		find: "failureDelayMs(settings, failures, flapping)",
		replace: "failureDelayMs(settings, 1, flapping)",
		breaks: /S5/,
	},
	{
		name: "a stable run does not shorten a grown delay",
		world: "crash",
		file: "crash-policy.ts",
		find: 'policy: "healthy", flaps: 0, failures: 0, waits }',
		replace: 'policy: "healthy", flaps: 0, waits }',
		breaks: /S5/,
	},
	{
		name: "`halt: never` halts anyway",
		world: "crash",
		file: "crash-policy.ts",
		find: 'settings.halt === "never"\n\t\t\t? {',
		replace: "Boolean(0)\n\t\t\t? {",
		breaks: /S6|S16/,
	},
	{
		name: "an agent with `on_failure: stop` is restarted",
		world: "crash",
		file: "crash-policy.ts",
		find: 'kind !== "clean" && context.settings.onFailure === "stop"',
		replace: 'kind === "clean" && context.settings.onFailure === "stop"',
		breaks: /S6|S14|S16/,
	},
	{
		name: "the slow-burn budget is never spent",
		world: "crash",
		file: "crash-state.ts",
		find: "return newestMs - oldestMs <= budget.withinMs;",
		replace: "return false;",
		breaks: /S16/,
	},
	{
		name: "the window is one exit too generous",
		world: "crash",
		file: "crash-policy.ts",
		find: "inWindow >= settings.flapThreshold",
		replace: "inWindow > settings.flapThreshold",
		breaks: /S16/,
	},
	{
		name: "clean exits that are restarted are not counted",
		world: "crash",
		file: "crash-policy.ts",
		find: 'if (context.onCleanExit === "restart") return decideCounted(state, report, context, "clean");',
		replace:
			'if (context.onCleanExit === "restart") return { state: recovered(state), action: restartAfter(failureDelayMs(context.settings, 1, false), context.settings.jitter, context.random), reason: "", class: "clean" };',
		breaks: /S16/,
	},
	{
		name: "an exit that was asked for is judged like any other",
		world: "crash",
		file: "exit.ts",
		find: 'if (report.askedBy !== null) return "planned";',
		replace: "",
		breaks: /S9/,
	},
	{
		name: "running out of memory never halts",
		world: "crash",
		file: "own-cause.ts",
		find: "isBudgetUsed(outOfMemoryAt, {",
		replace: "outOfMemoryAt.length < 0 && isBudgetUsed(outOfMemoryAt, {",
		breaks: /S16/,
	},
	{
		name: "a stable run counts only if it was observed",
		world: "crash",
		file: "crash-policy.ts",
		find: "const settled = settle(before, sound.uptimeMs, context.settings);",
		replace: "const settled = before;",
		breaks: /S3|S6|S16/,
	},
	{
		name: "jitter shortens a delay",
		world: "crash",
		file: "backoff.ts",
		find: "return Math.round(lowestMs + (highestMs - lowestMs) * bounds.random);",
		replace: "return Math.round(delayMs * (1 - bounds.jitter * bounds.random));",
		breaks: /S5/,
	},
	{
		name: "a usage limit of unknown length is tried again at once",
		world: "crash",
		file: "own-cause.ts",
		find: "const LIMIT_DELAY_MS = 300_000;",
		replace: "const LIMIT_DELAY_MS = 0;",
		breaks: /S5/,
	},
	{
		name: "the wait for a usage limit never grows",
		world: "crash",
		file: "own-cause.ts",
		find: "const limit = state.waits.limit + 1;",
		replace: "const limit = 1;",
		breaks: /S5/,
	},
	{
		name: "the wait for an overload never grows",
		world: "crash",
		file: "own-cause.ts",
		find: "const trouble = state.waits.trouble + 1;",
		replace: "const trouble = 1;",
		breaks: /S5/,
	},
	{
		name: "the reset time of a usage limit is ignored",
		world: "crash",
		file: "own-cause.ts",
		find: "if (report.resetInMs !== null && report.resetInMs > 0) {",
		replace: "if (report.resetInMs !== null && report.resetInMs > 1e12) {",
		breaks: /S5/,
	},
	{
		name: "a reset time in the past is a hot loop",
		world: "crash",
		file: "own-cause.ts",
		find: "if (report.resetInMs !== null && report.resetInMs > 0) {",
		replace: "if (report.resetInMs !== null) {",
		breaks: /S5/,
	},
	{
		name: "an agent out of memory is restarted at once",
		world: "crash",
		file: "own-cause.ts",
		find: "failureDelayMs(settings, failures, true)",
		replace: "0",
		breaks: /S5/,
	},
	{
		name: "waiting starts over after every stable run",
		world: "crash",
		file: "crash-policy.ts",
		find: "const waits = uptimeMs < settings.budget.withinMs ? state.waits : NO_WAITS;",
		replace: "const waits = NO_WAITS;",
		breaks: /S5/,
	},
	{
		name: "stop and prompt are mixed up",
		world: "crash",
		file: "crash-policy.ts",
		find: 'prompt: ["ask_operator"',
		replace: 'prompt: ["stop"',
		breaks: /S14 and S16/,
	},
	{
		name: "resume leaves the agent waiting",
		world: "crash",
		file: "crash-policy.ts",
		find: 'action: { type: "restart", afterMs: 0, withContinue: true },',
		replace: 'action: { type: "restart", afterMs: 999_999, withContinue: true },',
		breaks: /S15/,
	},
	{
		name: "an agent is started again after it was stopped",
		world: "crash",
		file: "crash-policy.ts",
		find: 'return { state, action: { type: "none" }, reason: reason + why };',
		replace:
			'return { state, action: { type: "restart", afterMs: 0, withContinue: true }, reason: reason + why };',
		breaks: /S14 and S16/,
	},
	{
		name: "a new daemon takes an old cooldown for granted",
		world: "breaker",
		file: "breaker.ts",
		find: "const leftMs = Math.min(settings.cooldownMs, Math.max(0, state.openUntil.wallMs - now.wallMs));",
		replace: "const leftMs = state.openUntil.wallMs - now.wallMs;",
		breaks: /B4/,
	},
	{
		name: "two probes are admitted",
		world: "breaker",
		file: "breaker.ts",
		find: "if (state.probing) {",
		replace: "if (state.probing && now.steadyMs < 0) {",
		breaks: /B1/,
	},
	{
		name: "an open circuit lets calls through",
		world: "breaker",
		file: "breaker.ts",
		find: 'if (state.circuit === "open") {',
		replace: 'if (state.circuit === "open" && state.consecutiveFailures > 2) {',
		breaks: /B2/,
	},
	{
		name: "a cancelled probe keeps its permit",
		world: "breaker",
		file: "breaker.ts",
		find: "permit.probe && current ? { ...state, probing: false } : state",
		replace: "permit.probe && current ? state : state",
		breaks: /B3/,
	},
	{
		name: "attempts are counted instead of requests",
		world: "breaker",
		file: "breaker.ts",
		find: 'if (ended.decision.type === "retry") {',
		replace: 'if (ended.decision.type === "retry" && ended.outcome.ok) {',
		breaks: /B6/,
	},
	{
		name: "a retried probe gives its permit away",
		world: "breaker",
		file: "breaker.ts",
		find: 'return { state, reason: "the request is retried: only its final result counts" };',
		replace:
			'return { state: returnPermit(state, permit), reason: "the request is retried: only its final result counts" };',
		breaks: /B1|B6/,
	},
	{
		name: "a request keeps its permit through an open circuit",
		world: "breaker",
		file: "breaker.ts",
		find: "if (held !== null && held.generation === state.generation) {",
		replace: "if (held !== null) {",
		breaks: /B1|B2|B5|B6/,
	},
	{
		name: "stale results are counted",
		world: "breaker",
		file: "breaker.ts",
		find: "if (permit.generation !== state.generation) {",
		replace: "if (permit.generation > state.generation) {",
		breaks: /B5/,
	},
	{
		name: "caller errors count",
		world: "breaker",
		file: "outcome.ts",
		find: "action_not_supported: {\n\t\tretryable: false,\n\t\tcounts: false,",
		replace: "action_not_supported: {\n\t\tretryable: false,\n\t\tcounts: true,",
		breaks: /B6/,
	},
	{
		name: "the cooldown follows the wall clock",
		world: "breaker",
		file: "breaker.ts",
		find: "state.openUntil.steadyMs - now.steadyMs",
		replace: "state.openUntil.wallMs - now.wallMs",
		breaks: /B2|B4|B7/,
	},
	{
		name: "a late response is accepted",
		world: "task",
		file: "task.ts",
		find: "attempt !== null && attempt !== task.attempts",
		replace: "attempt !== null && attempt > task.attempts",
		breaks: /T7/,
	},
	{
		name: "attempts are not limited",
		world: "task",
		file: "retry.ts",
		find: "if (attempt >= settings.maxAttempts) {",
		replace: "if (attempt > settings.maxAttempts) {",
		breaks: /T1|T3/,
	},
	{
		name: "an unsupported action is tried again",
		world: "task",
		file: "retry.ts",
		find: "if (!traits.retryable) return",
		replace: 'if (!traits.retryable && outcome.error !== "action_not_supported") return',
		breaks: /T9/,
	},
	{
		name: "what must not run twice is retried",
		world: "task",
		file: "retry.ts",
		find: "if (!idempotent && traits.mayHaveRun) {",
		replace: 'if (!idempotent && outcome.error === "timeout") {',
		breaks: /T9/,
	},
	{
		name: "a plan succeeds in spite of a dead letter",
		world: "task",
		file: "plan.ts",
		find: "if (dead.length > 0) return",
		replace: "if (dead.length > 1) return",
		breaks: /T11/,
	},
	{
		name: "a task is released before what it depends on",
		world: "task",
		file: "plan.ts",
		find: "task.dependsOn.every(",
		replace: "task.dependsOn.slice(1).every(",
		breaks: /S7/,
	},
];

describe("the simulator finds the planted bug", () => {
	test.each(CANARIES)("$name", async (canary) => {
		await withBug(canary, (core) => {
			const world = WORLDS[canary.world];
			const { failure } = simulate(world, core, { firstSeed: 1, steps: 200_000 });
			if (failure === null) throw new Error("the planted bug was not found");
			expect(failure.invariant).toMatch(canary.breaks);
			expect(renderFailure(canary.world, failure)).toContain(`REEVE_SIM_SEED=${failure.seed} `);
			expect(liveOnce(world, core, failure.seed)).toEqual(failure);
		});
	});
});

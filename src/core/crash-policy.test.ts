import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decideAfterExit, decideResume, settle } from "./crash-policy.js";
import {
	type CrashAction,
	type CrashContext,
	type CrashDecision,
	type CrashPolicySettings,
	type CrashState,
	DEFAULT_CRASH_POLICY,
	NEW_AGENT,
} from "./crash-state.js";
import { EXIT_KINDS, type ExitKind, type ExitReport, exitReport } from "./exit.js";
import { CLEAN_EXIT_CHOICES, type OnCleanExit, POLICY_STATES, type PolicyState } from "./states.js";

const MINUTE_MS = 60_000;
const context: CrashContext = {
	settings: DEFAULT_CRASH_POLICY,
	onCleanExit: "prompt",
	random: 0,
};

/** Applies these exits, with all delays honoured, and returns all decisions. */
function live(
	exits: readonly ExitReport[],
	{ from = NEW_AGENT, ...changes }: Partial<CrashContext> & { from?: CrashState } = {},
): CrashDecision[] {
	let state = from;
	return exits.map((report) => {
		const decision = decideAfterExit(state, report, { ...context, ...changes });
		state = decision.state;
		return decision;
	});
}

const crash = (uptimeMs = 0) => exitReport({ uptimeMs, code: 1 });
const clean = (uptimeMs = 0) => exitReport({ uptimeMs, code: 0 });
const times = (count: number, report: ExitReport) => Array.from({ length: count }, () => report);
const classes = (decisions: CrashDecision[]) => decisions.map((decision) => decision.class);
const states = (decisions: CrashDecision[]) => decisions.map((decision) => decision.state.policy);
const delays = (decisions: CrashDecision[]) =>
	decisions.map(({ action }) => ("afterMs" in action ? action.afterMs : action.type));

describe("a process that exits immediately", () => {
	test("is transient twice, flapping five times, and halted at its 7th exit (S16)", () => {
		const decisions = live(times(7, crash()));
		expect(classes(decisions)).toEqual([
			"transient",
			"transient",
			"flapping",
			"flapping",
			"flapping",
			"flapping",
			"flapping",
		]);
		expect(delays(decisions)).toEqual([2_000, 2_000, 30_000, 30_000, 30_000, 30_000, "halt"]);
		expect(states(decisions)).toEqual([
			"healthy",
			"healthy",
			"degraded",
			"degraded",
			"degraded",
			"degraded",
			"halted",
		]);
		expect(decisions.at(-1)?.reason).toBe(
			"exit code 1 after 0s: flapping 5 of 5 without a stable run (7 within 60s of running time)",
		);
	});

	test.each([1, 1_000, 20_000, 30_000])("is halted at its 7th exit when it lives %i ms", (ms) => {
		expect(states(live(times(7, crash(ms)))).at(-1)).toBe("halted");
	});

	test("is restarted with its conversation continued", () => {
		expect(live([crash()])[0]?.action).toEqual({
			type: "restart",
			afterMs: 2_000,
			withContinue: true,
		});
	});
});

describe("growing delays, `halt` and `on_failure`", () => {
	const growing: CrashPolicySettings = {
		...DEFAULT_CRASH_POLICY,
		delay: { initialMs: 1_000, factor: 3, maxMs: 20_000 },
		halt: "never",
		budget: { exits: 1_000, withinMs: 3_600_000 },
	};

	test("each failure multiplies the delay up to its maximum, and `halt: never` continues there", () => {
		const decisions = live(times(9, crash()), { settings: growing });
		expect(delays(decisions)).toEqual([
			...[1_000, 3_000, 9_000, 20_000, 20_000, 20_000, 20_000, 20_000, 20_000],
		]);
		expect(states(decisions).at(-1)).toBe("degraded");
		expect(decisions.at(-1)?.reason).toContain("retried, because `halt` is `never`");
		expect(decisions[3]?.reason).toBe(
			"exit code 1 after 0s: flapping 2 times (4 within 60s of running time)",
		);
	});

	test("a stable run and a clean exit start the delays again", () => {
		const restarted = { settings: growing, onCleanExit: "restart" } as const;
		const stable = live([crash(), crash(), crash(MINUTE_MS), crash()], restarted);
		expect(delays(stable)).toEqual([1_000, 3_000, 1_000, 3_000]);
		const cleaned = live([crash(40_000), clean(50_000), crash(40_000)], restarted);
		expect(delays(cleaned)).toEqual([1_000, 1_000, 1_000]);
	});

	test("an initial delay of 0 stays 0", () => {
		const settings = { ...growing, delay: { initialMs: 0, factor: 1e6, maxMs: 5_000 } };
		expect(delays(live(times(3, crash()), { settings }))).toEqual([0, 0, 0]);
	});

	test("a state stored by an earlier version counts from its next failure", () => {
		const { failures: _, ...from } = { ...NEW_AGENT, failures: 0 };
		expect(delays(live([crash(), crash()], { settings: growing, from }))).toEqual([1_000, 3_000]);
	});

	test("`halt: never` does not apply to causes that a restart cannot fix (S14)", () => {
		const auth = exitReport({ uptimeMs: 0, code: 1, cause: "auth" });
		expect(states(live([auth], { settings: growing }))).toEqual(["halted"]);
		const memory = exitReport({ uptimeMs: 0, code: 137, cause: "out_of_memory" });
		expect(states(live(times(9, memory), { settings: growing })).at(-1)).toBe("degraded");
	});

	test("`on_failure: stop` halts at the first failure and leaves clean exits alone", () => {
		const settings = { ...DEFAULT_CRASH_POLICY, onFailure: "stop" } as const;
		const [failed] = live([crash(500)], { settings });
		expect(failed).toMatchObject({ action: { type: "halt" }, class: "transient" });
		expect(failed?.state.policy).toBe("halted");
		expect(failed?.reason).toBe(
			"exit code 1 after 500ms: not restarted, because `on_failure` is `stop`",
		);
		expect(delays(live([clean()], { settings }))).toEqual(["ask_operator"]);
		expect(delays(live([clean()], { settings, onCleanExit: "restart" }))).toEqual([2_000]);
		const limit = exitReport({ uptimeMs: 0, code: 1, cause: "usage_limit", resetInMs: 5_000 });
		expect(delays(live([limit], { settings }))).toEqual([5_000]);
	});
});

describe("a slow burner", () => {
	test("that lives 31 s each time is halted at its 20th exit by the budget (S16)", () => {
		const decisions = live(times(20, crash(31_000)));
		expect(new Set(classes(decisions))).toEqual(new Set(["transient"]));
		expect(states(decisions).lastIndexOf("healthy")).toBe(18);
		expect(decisions.at(-1)).toMatchObject({
			state: { policy: "halted" },
			action: { type: "halt" },
			reason:
				"exit code 1 after 31s: slow-burn budget used up (20 failed exits within 1h of running time)",
		});
	});

	test("that fails fewer than 20 times in any hour of running time keeps running", () => {
		expect(states(live(times(200, crash(200_000)))).at(-1)).toBe("healthy");
	});
});

describe("recovery", () => {
	test("a transient exit after a whole window makes a degraded agent healthy", () => {
		const decisions = live([...times(3, crash()), crash(MINUTE_MS)]);
		expect(states(decisions)).toEqual(["healthy", "healthy", "degraded", "healthy"]);
		expect(classes(decisions).at(-1)).toBe("transient");
		expect(decisions.at(-1)?.state.flaps).toBe(0);
	});

	test("a transient exit after a shorter run leaves it degraded and keeps the count (S6)", () => {
		const decisions = live([...times(3, crash()), crash(59_000), crash(59_000)]);
		expect(classes(decisions).slice(-2)).toEqual(["flapping", "transient"]);
		expect(decisions.at(-1)?.state).toMatchObject({ policy: "degraded", flaps: 2 });
	});

	test("a run that is still going is stable after a whole window", () => {
		const { state } = live(times(4, crash())).at(-1) as CrashDecision;
		expect(settle(state, MINUTE_MS - 1, DEFAULT_CRASH_POLICY)).toBe(state);
		expect(settle(state, MINUTE_MS, DEFAULT_CRASH_POLICY)).toMatchObject({
			policy: "healthy",
			flaps: 0,
		});
	});

	test("a stable run never leads out of halted", () => {
		const halted: CrashState = { ...NEW_AGENT, policy: "halted" };
		expect(settle(halted, 10 * MINUTE_MS, DEFAULT_CRASH_POLICY)).toBe(halted);
	});

	test("resume forgets everything but the running time, and starts at once", () => {
		const { state } = live(times(7, crash(1_000))).at(-1) as CrashDecision;
		expect(decideResume(state)).toEqual({
			state: { ...NEW_AGENT, runningMs: 7_000 },
			action: { type: "restart", afterMs: 0, withContinue: true },
			reason: "resumed by the operator (was halted): history cleared",
		});
	});

	test("resume forgets no exits of a healthy agent whose wait it ends", () => {
		const { state } = live(times(2, crash(1_000))).at(-1) as CrashDecision;
		expect(state).toMatchObject({ policy: "healthy", exits: [{}, {}] });
		expect(decideResume(state, true).state).toBe(state);
		expect(decideResume({ ...state, policy: "halted" }, true).state.exits).toEqual([]);
	});
});

describe("clean exits", () => {
	test("ask the operator, or stop, and leave the agent healthy however fast they come", () => {
		expect(live(times(30, clean()), { onCleanExit: "prompt" }).at(-1)).toMatchObject({
			class: "clean",
			action: { type: "ask_operator" },
			state: { policy: "healthy" },
			reason: "exit code 0 after 0s: waiting for the operator",
		});
		expect(live(times(30, clean()), { onCleanExit: "stop" }).at(-1)).toMatchObject({
			action: { type: "stop" },
			state: { policy: "healthy" },
		});
	});

	test("that are restarted as fast as a crash loop are counted like one, and halt", () => {
		const decisions = live(times(7, clean()), { onCleanExit: "restart" });
		expect(classes(decisions).slice(0, 3)).toEqual(["clean", "clean", "flapping"]);
		expect(states(decisions).at(-1)).toBe("halted");
	});

	test("that are restarted after real work never halt", () => {
		const decisions = live(times(200, clean(31_000)), { onCleanExit: "restart" });
		expect(new Set(classes(decisions))).toEqual(new Set(["clean"]));
		expect(delays(decisions).at(-1)).toBe(2_000);
	});

	test.each(CLEAN_EXIT_CHOICES)(
		"return a degraded agent to healthy and reset the flap count, with on_clean_exit %s",
		(onCleanExit) => {
			const { state } = live(times(4, crash())).at(-1) as CrashDecision;
			expect(state).toMatchObject({ policy: "degraded", flaps: 2 });
			// The crashes have left the window, although no run lasted a whole one.
			const from = { ...state, runningMs: state.runningMs + 10_000 };
			const [decision] = live([clean(55_000)], { from, onCleanExit });
			expect(decision).toMatchObject({ class: "clean", state: { policy: "healthy", flaps: 0 } });
		},
	);

	test.each(["prompt", "stop"] as const)(
		"return a degraded agent to healthy even when they come at once, with on_clean_exit %s",
		(onCleanExit) => {
			const decisions = live([...times(6, crash()), clean(), crash()], { onCleanExit });
			expect(states(decisions).slice(-3)).toEqual(["degraded", "healthy", "degraded"]);
			expect(decisions.at(-1)?.reason).toContain("flapping 1 of 5");
		},
	);

	test("after an out-of-memory kill return the agent to healthy and keep that count (S16)", () => {
		const oom = exitReport({ uptimeMs: MINUTE_MS, code: 137, cause: "out_of_memory" });
		const decisions = live([...times(4, oom), clean(), oom]);
		expect(states(decisions).slice(-3)).toEqual(["degraded", "healthy", "halted"]);
	});

	test("that are restarted within a fast loop neither recover the agent nor reset the count (S16)", () => {
		const exits = [...times(4, crash()), clean(), crash(), clean()];
		const decisions = live(exits, { onCleanExit: "restart" });
		expect(classes(decisions)[4]).toBe("flapping");
		expect(states(decisions).slice(-3)).toEqual(["degraded", "degraded", "halted"]);
	});

	test("and failures share one window where clean exits are restarted", () => {
		const decisions = live([crash(), clean(), crash()], { onCleanExit: "restart" });
		expect(classes(decisions)).toEqual(["transient", "clean", "flapping"]);
	});
});

describe("exits with a cause of their own", () => {
	const own = (cause: ExitReport["cause"], more: Partial<ExitReport> = {}) =>
		exitReport({ uptimeMs: 5_000, code: 1, cause, ...more });

	test("a usage limit parks the agent until it lifts, and counts nothing", () => {
		const [decision] = live([own("usage_limit", { resetInMs: 7_500_000 })]);
		expect(decision).toMatchObject({
			action: { type: "park", afterMs: 7_500_000 },
			reason: "usage limit, resets in 2h 5m: parked, not counted",
			state: { policy: "healthy", exits: [], budgetSpentAt: [] },
		});
		expect(delays(live([own("usage_limit", { resetInMs: 20 })]))).toEqual([1_000]);
		expect(delays(live([own("usage_limit", { resetInMs: 1e15 })]))).toEqual([31 * 86_400_000]);
	});

	test("a usage limit of unknown length is tried again ever more rarely, at least hourly", () => {
		const minutes = delays(live(times(6, own("usage_limit")))).map((ms) => Number(ms) / MINUTE_MS);
		expect(minutes).toEqual(
			[5, 10, 20, 40, 60 / 1.1, 60 / 1.1].map((m) => Math.round(m * MINUTE_MS) / MINUTE_MS),
		);
	});

	test("a limit whose reset is in the past does not cause a hot loop", () => {
		const minutes = delays(live(times(3, own("usage_limit", { resetInMs: -5 }))));
		expect(minutes.map((ms) => Number(ms) / MINUTE_MS)).toEqual([5, 10, 20]);
	});

	test("a known failure delays the restart by at least a second, for any transient delay", () => {
		const settings = { ...DEFAULT_CRASH_POLICY, transientDelayMs: 0, jitter: 0 };
		const decisions = live(times(3, own("overloaded")), { settings });
		expect(delays(decisions)).toEqual([1_000, 2_000, 4_000]);
	});

	test("earlier waits do not lengthen the wait for another cause", () => {
		const decisions = live([...times(8, own("overloaded")), own("usage_limit")]);
		expect(delays(decisions).at(-1)).toBe(5 * MINUTE_MS);
	});

	test("an overload is waited out with a growing delay, however often it comes", () => {
		const decisions = live(times(100, own("overloaded")));
		expect(delays(decisions).slice(0, 4)).toEqual([2_000, 4_000, 8_000, 16_000]);
		expect(Math.max(...delays(decisions).map(Number))).toBeLessThanOrEqual(300_000);
		expect(states(decisions).at(-1)).toBe("healthy");
	});

	test("waiting starts over only after a run as long as the budget's span (S6)", () => {
		const long = (ms: number) =>
			delays(live([...times(3, own("overloaded")), own("overloaded", { uptimeMs: ms })])).at(-1);
		expect(long(200_000)).toBe(16_000);
		expect(long(3_600_000)).toBe(2_000);
	});

	test("starts that time out are a crash loop, however long each one took (S16)", () => {
		const decisions = live(times(8, own("start_timeout", { code: null, uptimeMs: 600_000 })));
		expect(states(decisions).indexOf("halted")).toBe(6);
		expect(decisions[0]?.reason).toMatch(/^the start timed out: transient/);
	});

	test("a host that cannot start it causes a wait, and the message contains the reason", () => {
		const [decision] = live([own("spawn_error", { code: null, detail: "EAGAIN" })]);
		expect(decision?.reason).toBe(
			"the host could not start the process: backing off, not counted: EAGAIN",
		);
	});

	test.each([
		["auth", "exit code 1: not logged in, or the login has expired: run `claude login`"],
		["config", "exit code 1: the agent rejects its configuration: run `claude login`"],
	] as const)("%s halts at once with a hint (S14)", (cause, reason) => {
		const [decision] = live([own(cause, { detail: "run `claude login`" })]);
		expect(decision).toMatchObject({
			state: { policy: "halted" },
			action: { type: "halt" },
			reason,
		});
	});

	test("a missing program halts at once with a hint (S14)", () => {
		const detail = "claude: no such file on PATH";
		const [decision] = live([own("spawn_error", { code: null, permanent: true, detail })]);
		expect(decision).toMatchObject({
			state: { policy: "halted" },
			reason: "a retry cannot succeed: claude: no such file on PATH",
		});
	});

	test("an exit code declared permanent halts at once (S14)", () => {
		const settings = { ...DEFAULT_CRASH_POLICY, permanentExitCodes: [78] };
		const [decision] = live([exitReport({ uptimeMs: 0, code: 78 })], { settings });
		expect(decision?.reason).toBe("exit code 78: a retry cannot succeed");
		expect(decision?.state.policy).toBe("halted");
	});

	test("out of memory is not a crash, yet the fifth within an hour of running halts (S16)", () => {
		const oom = (uptimeMs: number) => own("out_of_memory", { uptimeMs, code: 137 });
		const decisions = live(times(5, oom(MINUTE_MS)));
		expect(delays(decisions)).toEqual([30_000, 30_000, 30_000, 30_000, "halt"]);
		expect(decisions.at(-1)?.state.exits).toEqual([]);
		expect(decisions.at(-1)?.reason).toBe(
			"out of memory 5 times within 1h of running time: raise limits.memory or reduce the agent's memory use",
		);
		const slow = live(times(50, oom(20 * MINUTE_MS))).at(-1);
		expect(slow?.state.policy).toBe("degraded");
		expect(slow?.reason).toBe("out of memory, 4 of 5 within 1h of running time");
	});
});

describe("memory", () => {
	test("holds ten exits, twenty budget entries, five out-of-memory kills, and no more (A6)", () => {
		const settings = { ...DEFAULT_CRASH_POLICY, budget: { exits: 20, withinMs: 1 } };
		const { state } = live(times(500, crash(MINUTE_MS)), { settings }).at(-1) as CrashDecision;
		expect(state.exits).toHaveLength(10);
		expect(state.budgetSpentAt).toHaveLength(20);
		const oom = exitReport({ uptimeMs: 4_000_000, cause: "out_of_memory" });
		expect(live(times(50, oom)).at(-1)?.state.outOfMemoryAt).toHaveLength(5);
	});

	test("is not affected by a run of impossible length", () => {
		const odd = live([crash(Number.NaN), crash(-5), crash(Number.POSITIVE_INFINITY)]);
		expect(classes(odd)).toEqual(["transient", "transient", "flapping"]);
		expect(odd.at(-1)?.state.runningMs).toBe(0);
	});

	test("survives being stored as JSON", () => {
		const { state } = live([crash(), clean(), crash(5)]).at(-1) as CrashDecision;
		expect(JSON.parse(JSON.stringify(state))).toEqual(state);
	});

	test("a ring of one never flaps but still has its budget", () => {
		const settings = { ...DEFAULT_CRASH_POLICY, history: 1 };
		const decisions = live(times(20, crash()), { settings });
		expect(classes(decisions)).not.toContain("flapping");
		expect(states(decisions).at(-1)).toBe("halted");
	});
});

describe("every kind of exit, in every state, under every choice for clean exits", () => {
	const reports: Record<ExitKind, ExitReport> = {
		planned: exitReport({ uptimeMs: 0, code: 143, askedBy: "operator" }),
		clean: clean(),
		failed: crash(),
		permanent: exitReport({ uptimeMs: 0, cause: "spawn_error", permanent: true }),
		usage_limit: exitReport({ uptimeMs: 0, code: 1, cause: "usage_limit" }),
		overloaded: exitReport({ uptimeMs: 0, code: 1, cause: "overloaded" }),
		auth: exitReport({ uptimeMs: 0, code: 1, cause: "auth" }),
		config: exitReport({ uptimeMs: 0, code: 1, cause: "config" }),
		out_of_memory: exitReport({ uptimeMs: 0, code: 137, cause: "out_of_memory" }),
		spawn_error: exitReport({ uptimeMs: 0, cause: "spawn_error" }),
	};
	// The result if nothing else counts against the agent; "same" keeps the previous state.
	const expected: Record<
		Exclude<ExitKind, "clean">,
		[PolicyState | "same", CrashAction["type"]]
	> = {
		planned: ["same", "none"],
		failed: ["same", "restart"],
		permanent: ["halted", "halt"],
		usage_limit: ["same", "park"],
		overloaded: ["same", "restart"],
		auth: ["halted", "halt"],
		config: ["halted", "halt"],
		out_of_memory: ["degraded", "restart"],
		spawn_error: ["same", "restart"],
	};
	const afterClean: Record<OnCleanExit, CrashAction["type"]> = {
		prompt: "ask_operator",
		restart: "restart",
		stop: "stop",
		complete: "complete",
	};
	const grid = EXIT_KINDS.flatMap((kind) =>
		POLICY_STATES.flatMap((policy) =>
			CLEAN_EXIT_CHOICES.map((onCleanExit) => ({ kind, policy, onCleanExit })),
		),
	);

	test.each(grid)("$kind while $policy with on_clean_exit $onCleanExit", (cell) => {
		const before: CrashState = { ...NEW_AGENT, policy: cell.policy };
		const decision = decideAfterExit(before, reports[cell.kind], {
			...context,
			onCleanExit: cell.onCleanExit,
		});
		expect(decision.kind).toBe(cell.kind);
		expect(decision.reason).not.toBe("");
		if (cell.policy === "halted") {
			// S15: halted absorbs every exit.
			expect(decision.state).toBe(before);
			expect(decision.action.type).toBe("none");
			return;
		}
		const [policy, action] =
			cell.kind === "clean"
				? (["healthy", afterClean[cell.onCleanExit]] as const)
				: expected[cell.kind];
		expect(decision.state.policy).toBe(policy === "same" ? cell.policy : policy);
		expect(decision.action.type).toBe(action);
	});

	test("a kill by Reeve without another request is Reeve's", () => {
		const kill = exitReport({ uptimeMs: 0, signal: "SIGKILL", cause: "requested" });
		expect(live([kill])[0]?.reason).toBe("SIGKILL, requested by reeve: not counted");
		expect(live([reports.planned])[0]?.reason).toBe(
			"exit code 143, requested by the operator: not counted",
		);
	});
});

describe("whatever happens", () => {
	const settings: fc.Arbitrary<CrashPolicySettings> = fc.record({
		windowMs: fc.integer({ min: 1, max: 600_000 }),
		flapThreshold: fc.integer({ min: 1, max: 10 }),
		haltThreshold: fc.integer({ min: 1, max: 10 }),
		history: fc.integer({ min: 1, max: 20 }),
		transientDelayMs: fc.nat(10_000),
		flappingDelayMs: fc.nat(120_000),
		jitter: fc.double({ min: 0, max: 1, noNaN: true }),
		budget: fc.record({ exits: fc.integer({ min: 1, max: 30 }), withinMs: fc.nat(7_200_000) }),
		permanentExitCodes: fc.array(fc.integer({ min: 1, max: 255 }), { maxLength: 3 }),
		delay: fc.constant(null),
		halt: fc.constant("crash_loop" as const),
		onFailure: fc.constant("restart" as const),
	});
	const failures = fc.array(
		fc.record({ uptimeMs: fc.nat(200_000), code: fc.integer({ min: 1, max: 255 }) }),
		{ maxLength: 60 },
	);
	const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

	test("S3 the same facts give the same decisions", () => {
		fc.assert(
			fc.property(settings, failures, random, (chosen, exits, drawn) => {
				const reports = exits.map((exit) => exitReport(exit));
				const once = live(reports, { settings: chosen, random: drawn });
				expect(live(reports, { settings: chosen, random: drawn })).toEqual(once);
			}),
		);
	});

	test("S5 a restart delay lies between its base and its base plus jitter", () => {
		fc.assert(
			fc.property(settings, failures, random, (chosen, exits, drawn) => {
				const reports = exits.map((exit) => exitReport(exit));
				for (const { action, class: exitClass } of live(reports, {
					settings: chosen,
					random: drawn,
				})) {
					if (action.type !== "restart") continue;
					const baseMs =
						exitClass === "flapping" ? chosen.flappingDelayMs : chosen.transientDelayMs;
					expect(action.afterMs).toBeGreaterThanOrEqual(baseMs);
					expect(action.afterMs).toBeLessThanOrEqual(Math.ceil(baseMs * (1 + chosen.jitter)));
				}
			}),
		);
	});

	test("S15 nothing but resume leads out of halted", () => {
		fc.assert(
			fc.property(settings, failures, (chosen, exits) => {
				const seen = states(
					live(
						exits.map((exit) => exitReport(exit)),
						{ settings: chosen },
					),
				);
				const halted = seen.indexOf("halted");
				if (halted !== -1) expect(new Set(seen.slice(halted))).toEqual(new Set(["halted"]));
			}),
		);
	});

	test("S16 a child that always fails within its window halts within the thresholds", () => {
		fc.assert(
			fc.property(fc.nat(30_000), fc.integer({ min: 1, max: 255 }), (uptimeMs, code) => {
				const seen = states(live(times(7, exitReport({ uptimeMs, code }))));
				expect(seen.indexOf("halted")).toBe(6);
			}),
		);
	});

	test("planned exits anywhere in between change no decision", () => {
		const planned = exitReport({ uptimeMs: 0, code: 143, askedBy: "operator" });
		fc.assert(
			fc.property(failures, (exits) => {
				const reports = exits.map((exit) => exitReport(exit));
				const plain = live(reports).map(({ class: c, state }) => [c, state.policy, state.flaps]);
				const mixed = live(reports.flatMap((report) => [planned, report, planned]))
					.filter(({ kind }) => kind !== "planned")
					.map(({ class: c, state }) => [c, state.policy, state.flaps]);
				expect(mixed).toEqual(plain);
			}),
		);
	});
});

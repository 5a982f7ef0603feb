import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
	type AccountState,
	type AdvanceFacts,
	DEFAULT_USAGE_LIMIT,
	decideAccountResume,
	decideAdvance,
	decideGoodTurn,
	decideLimit,
	decideProbe,
	isHeld,
	type LimitedAccount,
	type LimitHit,
	PROVEN_AFTER_MS,
	readAccountState,
	STAGGER_MS,
	type UsageLimitSettings,
} from "./account.js";
import { lastTurn, type Turn } from "./last-turn.js";

const HOUR_MS = 3_600_000;
const NOW_MS = 1_000 * HOUR_MS;
const minuteOfDay = (wallMs: number) => Math.floor(wallMs / 60_000) % 1_440;
const MEMBERS = ["a", "b", "c"];

const hitLimit = (
	before: AccountState | null,
	hit: Partial<LimitHit> = {},
	settings: Partial<UsageLimitSettings> = {},
	nowMs = NOW_MS,
) =>
	decideLimit(
		before,
		{ by: "exit", atMs: nowMs, resetAtMs: null, ...hit },
		{ settings: { ...DEFAULT_USAGE_LIMIT, ...settings }, nowMs, minuteOfDay, random: 0 },
	);

const advance = (state: AccountState, facts: Partial<AdvanceFacts> = {}) =>
	decideAdvance(state, {
		nowMs: NOW_MS,
		minuteOfDay,
		members: MEMBERS,
		lookAt: () => "ready",
		...facts,
	});

const limited = (hit: Partial<LimitHit> = { resetAtMs: NOW_MS + HOUR_MS }) =>
	hitLimit(null, hit) as AccountState;
const probing = (probe: string | null = "a"): AccountState => {
	const due = advance(limited(), { nowMs: NOW_MS + HOUR_MS }) as AccountState;
	return probe === null ? due : (decideProbe(due, probe) as AccountState);
};

describe("a limit that is reached", () => {
	test.each<[string, Partial<LimitHit>, Partial<UsageLimitSettings>, number | null]>([
		["until its end, if that is reported", { resetAtMs: NOW_MS + HOUR_MS }, {}, HOUR_MS],
		["for five minutes, where it is not", {}, {}, 300_000],
		["for a moment, where it has lifted by now", { atMs: 0, resetAtMs: 1 }, {}, 1_000],
		["for seconds, where its end has just passed", { resetAtMs: NOW_MS - 1 }, {}, 5_000],
		["for seconds, where it lifts at this moment", { resetAtMs: NOW_MS }, {}, 5_000],
		["for the operator, with auto_resume off", {}, { autoResume: false }, null],
		["for the operator, beyond max_wait", {}, { maxWaitMs: 299_999 }, null],
		["as long as max_wait", {}, { maxWaitMs: 300_000 }, 300_000],
		// The simulated time is 16:00.
		["till quiet hours end", {}, { quietHours: { fromMinute: 960, toMinute: 990 } }, 1_800_000],
		["over midnight", {}, { quietHours: { fromMinute: 900, toMinute: 60 } }, 9 * HOUR_MS],
		["not for other hours", {}, { quietHours: { fromMinute: 990, toMinute: 960 } }, 300_000],
	])("parks the account %s", (_what, hit, settings, waitMs) => {
		const untilMs = waitMs === null ? null : NOW_MS + waitMs;
		expect(hitLimit(null, hit, settings)).toMatchObject({ phase: "limited", untilMs });
	});

	test("that is hit repeatedly is waited for longer, up to an hour", () => {
		const waits: number[] = [];
		let state: AccountState | null = null;
		for (let nowMs = NOW_MS; waits.length < 6; ) {
			state = hitLimit(state, {}, {}, nowMs) as AccountState;
			if (state.phase !== "limited") throw new Error(state.phase);
			waits.push(((state.untilMs ?? 0) - nowMs) / 60_000);
			nowMs = state.untilMs ?? 0;
			state = advance(state, { nowMs }) as AccountState;
		}
		expect(waits.slice(0, 4)).toEqual([5, 10, 20, 40]);
		for (const minutes of waits.slice(4)) {
			expect(minutes).toBeGreaterThan(50);
			expect(minutes).toBeLessThanOrEqual(60);
		}
	});

	test("again after its end has passed is tried again after seconds, up to half a minute", () => {
		const waits: number[] = [];
		let state: AccountState | null = limited();
		for (let nowMs = NOW_MS + HOUR_MS; waits.length < 8; ) {
			const due = advance(state, { nowMs }) as AccountState;
			state = hitLimit(due, { resetAtMs: NOW_MS + HOUR_MS }, {}, nowMs) as AccountState;
			if (state.phase !== "limited") throw new Error(state.phase);
			waits.push(((state.untilMs ?? 0) - nowMs) / 1_000);
			nowMs = state.untilMs ?? 0;
		}
		expect(waits.slice(0, 3)).toEqual([5, 10, 20]);
		for (const seconds of waits.slice(3)) {
			expect(seconds).toBeGreaterThan(25);
			expect(seconds).toBeLessThanOrEqual(30);
		}
	});

	test("in a turn just after its end counts while an agent waits for it", () => {
		const turn = { by: "turn", atMs: NOW_MS, resetAtMs: NOW_MS - 2_000 } as const;
		expect(hitLimit(null, turn, {}, NOW_MS + 1_000)).toMatchObject({ phase: "limited" });
		expect(hitLimit(null, turn, {}, NOW_MS + 5_000)).toBeNull();
	});

	test("counts max_wait from the first hit", () => {
		const again = hitLimit(probing(), {}, { maxWaitMs: HOUR_MS + 1 }, NOW_MS + HOUR_MS);
		expect(again).toMatchObject({ untilMs: null, hits: 2 });
	});

	test("by several agents is one limit: a report beats a guess, a later end an earlier one", () => {
		const guess = limited({});
		const reported = hitLimit(guess, { resetAtMs: NOW_MS + HOUR_MS }) as AccountState;
		expect(reported).toMatchObject({ untilMs: NOW_MS + HOUR_MS, hits: 1 });
		expect(hitLimit(reported, {})).toBe(reported);
		expect(hitLimit(reported, { resetAtMs: NOW_MS + 1 })).toBe(reported);
		expect(hitLimit(reported, { resetAtMs: NOW_MS + 2 * HOUR_MS })).toMatchObject({
			untilMs: NOW_MS + 2 * HOUR_MS,
		});
	});

	test("is read as an earlier version stored it", () => {
		const { endKnown, ...state } = limited({ resetAtMs: NOW_MS + HOUR_MS }) as LimitedAccount;
		expect(readAccountState({ ...state, told: true } as unknown as AccountState)).toEqual({
			...state,
			endKnown,
		});
		expect(endKnown).toBe(true);
	});

	test("in a turn that was already reported changes nothing", () => {
		const turn = { by: "turn", atMs: NOW_MS, resetAtMs: NOW_MS + HOUR_MS } as const;
		const state = probing();
		expect(hitLimit(state, turn, {}, NOW_MS + 2 * HOUR_MS)).toBe(state);
		expect(hitLimit(null, turn, {}, NOW_MS + HOUR_MS)).toBeNull();
		expect(hitLimit(null, { ...turn, resetAtMs: null }, {}, NOW_MS + 300_000)).toBeNull();
		expect(hitLimit(null, turn)).toMatchObject({ phase: "limited" });
	});
});

describe("an account whose limit should have lifted", () => {
	test("has no probe until an agent has work to do, and then exactly one", () => {
		const due = probing(null);
		expect(MEMBERS.map((id) => isHeld(due, id, NOW_MS))).toEqual([false, false, false]);
		const state = decideProbe(due, "b");
		expect(MEMBERS.map((id) => isHeld(state, id, NOW_MS))).toEqual([true, false, true]);
		expect(decideProbe(state, "c")).toBe(state);
	});

	test("waits for quiet hours that have begun meanwhile", () => {
		const quietHours = { fromMinute: 1_020, toMinute: 1_080 };
		const state = { ...limited(), settings: { ...DEFAULT_USAGE_LIMIT, quietHours } };
		const after = advance(state as AccountState, { nowMs: NOW_MS + 1.5 * HOUR_MS });
		expect(after).toMatchObject({ phase: "limited", untilMs: NOW_MS + 2 * HOUR_MS });
	});

	test("releases the other agents one by one after the probe was ready for long enough", () => {
		const ready = advance(probing()) as AccountState;
		expect(advance(ready, { nowMs: NOW_MS + PROVEN_AFTER_MS - 1 })).toBe(ready);
		const nowMs = NOW_MS + PROVEN_AFTER_MS;
		const state = advance(ready, { nowMs }) as AccountState;
		const free = (ms: number) => MEMBERS.filter((id) => !isHeld(state, id, nowMs + ms));
		expect([0, STAGGER_MS, 2 * STAGGER_MS].map(free)).toEqual([["a"], ["a", "b"], MEMBERS]);
		expect(advance(state, { nowMs: nowMs + 2 * STAGGER_MS - 1 })).toBe(state);
		expect(advance(state, { nowMs: nowMs + 2 * STAGGER_MS })).toBeNull();
	});

	test("restarts the count when the probe ends, and selects another if it is not restarted", () => {
		const ready = advance(probing()) as AccountState;
		expect(advance(ready, { lookAt: () => "not_ready" })).toMatchObject({ readyAtMs: null });
		expect(advance(ready, { lookAt: () => "gone" })).toMatchObject({ probe: null });
		expect(advance(ready, { members: ["b"] })).toMatchObject({ probe: null });
		expect(advance(ready, { members: [] })).toBeNull();
	});

	test("accepts a successful turn of the probe, but none from before", () => {
		const state = probing();
		expect(goodTurn(state, "a", { atMs: state.sinceMs })).toBe(state);
		expect(goodTurn(state, "b", { atMs: state.sinceMs + 1 })).toBe(state);
		expect(goodTurn(state, "a", { atMs: state.sinceMs + 1 })).toMatchObject({ phase: "releasing" });
	});
});

const goodTurn = (state: AccountState, agent: string, turn: Partial<Turn>) =>
	decideGoodTurn(
		state,
		agent,
		{ atMs: state.sinceMs + 2_000, beganAtMs: null, afterLimit: false, limit: null, ...turn },
		{ members: MEMBERS, nowMs: NOW_MS },
	);

describe("a successful turn ends the limit of the account", () => {
	for (const [phase, state] of [
		["limited", limited()],
		["probing", probing()],
	] as const) {
		test(`while it is ${phase}, whichever agent's turn began after the limit was hit`, () => {
			const after = goodTurn(state, "b", { beganAtMs: state.sinceMs + 1_000 });
			expect(after).toMatchObject({ phase: "releasing" });
			expect(MEMBERS.filter((id) => !isHeld(after, id, NOW_MS))).toEqual(["b"]);
		});
		test(`while it is ${phase}, after the agent's own turn that hit it`, () => {
			expect(goodTurn(state, "b", { afterLimit: true })).toMatchObject({ phase: "releasing" });
		});
		test(`not while it is ${phase} and the request was made before the limit was hit`, () => {
			expect(goodTurn(state, "b", { beganAtMs: state.sinceMs - 1 })).toBe(state);
		});
	}

	test("once", () => {
		const state = goodTurn(limited(), "b", { afterLimit: true }) as AccountState;
		expect(goodTurn(state, "c", { afterLimit: true })).toBe(state);
	});
});

test("many agents follow closely enough that all have started after twenty seconds", () => {
	const members = Array.from({ length: 21 }, (_, n) => `agent-${n}`);
	const facts = { members, nowMs: NOW_MS + HOUR_MS };
	const turn = { atMs: NOW_MS + HOUR_MS, beganAtMs: null, afterLimit: true, limit: null };
	const state = decideGoodTurn(limited(), "agent-0", turn, facts);
	const goesAfterMs = state?.phase === "releasing" ? Object.values(state.goAtMs) : [];
	expect(goesAfterMs.map((atMs) => (atMs - facts.nowMs) / 1_000)).toEqual(
		members.slice(1).map((_, n) => n + 1),
	);
});

test("`resume` makes an agent the probe, for any cause of the wait", () => {
	for (const state of [limited(), probing("b"), hitLimit(null, {}, { autoResume: false })]) {
		const after = decideAccountResume(state, "c", NOW_MS);
		expect(after).toMatchObject({ phase: "probing", probe: "c" });
	}
	expect(decideAccountResume(null, "c", NOW_MS)).toBeNull();
});

describe("the last turn", () => {
	const sign = { source: "hook", name: "Stop", atMs: 5 } as const;
	const failure = { cause: "usage_limit", resetAtMs: 9 } as const;
	const shown = {
		activity: "rate_limited",
		source: "screen",
		atMs: 3,
		failure: "usage_limit",
		failedTurn: { askedAtMs: 3, failedAtMs: 3 },
		detail: null,
	} as const;
	const unknown = { beganAtMs: null, afterLimit: false };
	const idle = { ...shown, activity: "ready", failure: null, failedTurn: null } as const;

	test.each([
		[
			"is what the CLI reports",
			[{ ...sign, failure }],
			shown,
			{ ...unknown, atMs: 5, limit: { resetAtMs: 9 } },
		],
		[
			"ends the limit when the most exact report of it does",
			[
				{ ...sign, atMs: 4, failure: { ...failure, resetAtMs: 12 } },
				{ ...sign, failure },
			],
			shown,
			{ ...unknown, atMs: 5, limit: { resetAtMs: 12 } },
		],
		["is not what the screen alone shows", [sign], shown, null],
		[
			"is what the screen shows if a failed request confirms it",
			[{ ...sign, attempt: { cause: "usage_limit", resetAtMs: null } }],
			shown,
			{ ...unknown, atMs: 3, limit: { resetAtMs: 7 } },
		],
		[
			"ends the limit by the report of the failed request",
			[{ ...sign, attempt: failure }],
			shown,
			{ ...unknown, atMs: 3, limit: { resetAtMs: 9 } },
		],
		[
			"is good although the screen still shows an old limit",
			[{ ...sign, failure: null }],
			shown,
			{ ...unknown, atMs: 5, limit: null },
		],
		[
			"began with the prompt or the end of the tool before it",
			[
				{ ...sign, atMs: 1, prompt: "x" },
				{ ...sign, atMs: 2, inTool: false },
				{ ...sign, failure: null },
			],
			idle,
			{ ...unknown, atMs: 5, beganAtMs: 2, limit: null },
		],
		[
			"follows one that hit the limit",
			[
				{ ...sign, atMs: 1, failure },
				{ ...sign, failure: null },
			],
			idle,
			{ ...unknown, atMs: 5, afterLimit: true, limit: null },
		],
		[
			"follows its own failed attempt at the limit, also when two records report its success",
			[
				{ ...sign, atMs: 1, prompt: "x" },
				{ ...sign, atMs: 2, failure },
				{ ...sign, atMs: 4, failure: null },
				{ ...sign, failure: null },
			],
			idle,
			{ atMs: 5, beganAtMs: 1, afterLimit: true, limit: null },
		],
		[
			"follows a turn that did not hit the limit",
			[
				{ ...sign, atMs: 1, failure },
				{ ...sign, atMs: 2, failure: null },
				{ ...sign, atMs: 3, prompt: "x" },
				{ ...sign, failure: null },
			],
			idle,
			{ atMs: 5, beganAtMs: 3, afterLimit: false, limit: null },
		],
		["is unknown", [sign], idle, null],
		[
			"hit a limit whose end is not reported",
			[{ ...sign, failure: { cause: "usage_limit", resetAtMs: null } }],
			idle,
			{ ...unknown, atMs: 5, limit: { resetAtMs: null } },
		],
	] as const)("%s", (_what, signs, known, turn) => {
		expect(lastTurn(signs, known, () => 7)).toEqual(turn);
	});
});

test("only one agent ever continues before the limit is proven gone", () => {
	const step = fc.oneof(
		fc.record({ type: fc.constant("pass" as const), ms: fc.integer({ min: 0, max: 7_200_000 }) }),
		fc.record({
			type: fc.constant("hitLimit" as const),
			resetInMs: fc.option(fc.integer({ min: -1_000, max: 7_200_000 })),
		}),
		fc.record({ type: fc.constant("ask" as const), agent: fc.constantFrom(...MEMBERS) }),
		fc.record({ type: fc.constant("resume" as const), agent: fc.constantFrom(...MEMBERS) }),
	);
	const seen = fc.constantFrom("ready" as const, "not_ready" as const, "gone" as const);
	fc.assert(
		fc.property(fc.array(fc.tuple(step, seen), { maxLength: 60 }), (steps) => {
			let state: AccountState | null = null;
			let nowMs = NOW_MS;
			for (const [each, look] of steps) {
				if (each.type === "hitLimit") {
					const resetAtMs = each.resetInMs === null ? null : nowMs + each.resetInMs;
					state = hitLimit(state, { resetAtMs }, {}, nowMs);
					expect(MEMBERS.every((id) => isHeld(state, id, nowMs))).toBe(true);
				} else if (each.type === "pass") {
					nowMs += each.ms;
					if (state !== null) state = advance(state, { nowMs, lookAt: () => look });
				} else if (each.type === "resume") state = decideAccountResume(state, each.agent, nowMs);
				else if (!isHeld(state, each.agent, nowMs)) state = decideProbe(state, each.agent);
				if (state?.phase !== "probing" || state.probe === null) continue;
				const free = MEMBERS.filter((id) => !isHeld(state, id, nowMs));
				expect(free).toEqual([state.probe]);
			}
		}),
	);
});

test("the operator releases an agent before its turn while the account is being released", () => {
	const state = probing();
	const nowMs = state.sinceMs + 1;
	const releasing = goodTurn(state, "a", { atMs: nowMs });
	expect(releasing).toMatchObject({ phase: "releasing" });
	expect(isHeld(decideAccountResume(releasing, "c", nowMs), "c", nowMs)).toBe(false);
	expect(decideAccountResume(null, "c", nowMs)).toBeNull();
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
	decideFiring,
	decideSlot,
	type FiringFacts,
	firstPlan,
	intervalTimes,
	isOpenSlot,
	renderMissed,
	type SlotPlan,
	type SlotRule,
	type SlotTimes,
} from "./schedule.js";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const EVERY_HOUR: SlotRule = { everyMs: HOUR, jitterMs: 0, catchUp: "none" };
const HOURLY: SlotRule = { everyMs: null, jitterMs: 0, catchUp: "none" };
/** Slots at whole hours, like a cron expression: they do not depend on earlier ones. */
const WHOLE_HOURS: SlotTimes = { next: (afterMs) => (Math.floor(afterMs / HOUR) + 1) * HOUR };
const NEVER: SlotTimes = { next: () => null };
const NOON = 12 * HOUR;

const planAt = (slotMs: number | null, more: Partial<SlotPlan> = {}): SlotPlan => ({
	slotMs,
	dueAtMs: slotMs ?? 0,
	lastMs: null,
	era: 0,
	...more,
});

const decide = (plan: SlotPlan, nowMs: number, rule = HOURLY, times = WHOLE_HOURS, random = 0) =>
	decideSlot(plan, rule, times, { nowMs, random });

describe("the first slot", () => {
	test("is the next one of a cron expression, or one interval away", () => {
		const now = { nowMs: NOON + 5, random: 0 };
		expect(firstPlan(HOURLY, WHOLE_HOURS, now).slotMs).toBe(NOON + HOUR);
		expect(firstPlan(EVERY_HOUR, intervalTimes(HOUR), now).slotMs).toBe(NOON + 5 + HOUR);
	});

	test("does not exist without any slot, and nothing is ever due", () => {
		const plan = firstPlan(HOURLY, NEVER, { nowMs: NOON, random: 0.5 });
		expect(plan).toEqual(planAt(null));
		expect(decide(plan, NOON + DAY)).toEqual({ plan, due: null, missed: null });
	});

	test("is delayed by a share of the jitter", () => {
		const rule = { ...HOURLY, jitterMs: 1_000 };
		const plan = firstPlan(rule, WHOLE_HOURS, { nowMs: NOON, random: 0.5 });
		expect(plan).toEqual(planAt(NOON + HOUR, { dueAtMs: NOON + HOUR + 500 }));
		expect(decide(plan, NOON + HOUR + 499, rule)).toEqual({ plan, due: null, missed: null });
		expect(decide(plan, NOON + HOUR + 500, rule).due?.lateMs).toBe(0);
	});
});

describe("a due slot", () => {
	test("fires once, and the plan moves on", () => {
		const { plan, due, missed } = decide(planAt(NOON), NOON + 20);
		expect(due).toEqual({ slotMs: NOON, era: 0, lateMs: 20, isTooLate: false });
		expect(missed).toBeNull();
		expect(plan).toEqual(planAt(NOON + HOUR, { lastMs: NOON }));
		expect(decide(plan, NOON + 20)).toEqual({ plan, due: null, missed: null });
	});

	test("is not due before its time", () => {
		const plan = planAt(NOON);
		expect(decide(plan, NOON - 1)).toEqual({ plan, due: null, missed: null });
	});

	test("is too late after a minute, unless it is caught up", () => {
		expect(decide(planAt(NOON), NOON + 60_000).due?.isTooLate).toBe(false);
		expect(decide(planAt(NOON), NOON + 60_001).due?.isTooLate).toBe(true);
		const once = { ...HOURLY, catchUp: "once" } as const;
		expect(decide(planAt(NOON), NOON + 60_001, once).due?.isTooLate).toBe(false);
	});

	test("replaces all earlier ones, which are missed", () => {
		const { due, missed, plan } = decide(planAt(NOON), NOON + 3 * HOUR + 5);
		expect(due?.slotMs).toBe(NOON + 3 * HOUR);
		expect(missed).toEqual({
			count: 3,
			isMore: false,
			fromMs: NOON,
			untilMs: NOON + 2 * HOUR,
		});
		expect(plan).toEqual(planAt(NOON + 4 * HOUR, { lastMs: NOON + 3 * HOUR }));
	});

	test("waits for its share of the jitter although earlier ones were missed", () => {
		const rule = { ...HOURLY, jitterMs: 1_000 };
		const { due, missed, plan } = decide(planAt(NOON), NOON + HOUR + 5, rule, WHOLE_HOURS, 0.5);
		expect([due, missed?.count]).toEqual([null, 1]);
		expect(plan).toEqual(planAt(NOON + HOUR, { dueAtMs: NOON + HOUR + 500, lastMs: NOON }));
	});

	test("is found after years, and the missed ones are counted up to a limit", () => {
		const { due, missed } = decide(planAt(NOON), NOON + 3_650 * DAY + 5);
		expect(due?.slotMs).toBe(NOON + 3_650 * DAY);
		expect(missed).toMatchObject({ count: 1_000, isMore: true });
	});

	test("may be the last one", () => {
		const once: SlotTimes = { next: (afterMs) => (afterMs < NOON ? NOON : null) };
		expect(decide(planAt(NOON), NOON + 5, HOURLY, once).plan.slotMs).toBeNull();
		const { due } = decide(planAt(NOON - HOUR), NOON + 5, HOURLY, once);
		expect(due?.slotMs).toBe(NOON);
	});
});

describe("a clock that is set back", () => {
	test("by less than a day fires no slot of a cron expression again", () => {
		const plan = planAt(NOON + HOUR, { lastMs: NOON });
		expect(decide(plan, NOON - DAY)).toEqual({ plan, due: null, missed: null });
	});

	test("by more than a day was wrong before, so its slots start again under new names", () => {
		const plan = planAt(NOON + 9 * DAY + HOUR, { lastMs: NOON + 9 * DAY });
		const after = decide(plan, NOON + 5).plan;
		expect(after).toEqual(planAt(NOON + HOUR, { era: 1 }));
	});

	test("before the first slot takes the earlier one", () => {
		expect(decide(planAt(NOON + DAY), NOON + 5).plan).toMatchObject({ slotMs: NOON + HOUR });
		const plan = planAt(NOON);
		expect(decide(plan, NOON - 5).plan).toBe(plan);
		expect(decide(plan, NOON - 5, HOURLY, NEVER).plan).toBe(plan);
	});

	test("never silences an interval for longer than itself", () => {
		const plan = planAt(NOON + HOUR, { lastMs: NOON });
		const times = intervalTimes(HOUR);
		expect(decide(plan, NOON - 5, EVERY_HOUR, times).plan).toEqual(
			planAt(NOON - 5 + HOUR, { era: 1 }),
		);
		expect(decide(plan, NOON + 5, EVERY_HOUR, times).plan).toBe(plan);
	});
});

describe("whatever the clock does", () => {
	const steps = fc.array(
		fc.oneof(
			fc.integer({ min: 0, max: 2 * HOUR }),
			fc.integer({ min: -3 * DAY, max: 5 * DAY }),
			fc.integer({ min: -50, max: 50 }),
		),
		{ maxLength: 60 },
	);

	for (const [name, rule, times] of [
		["an interval", EVERY_HOUR, intervalTimes(HOUR)],
		["a cron expression", HOURLY, WHOLE_HOURS],
	] as const) {
		test(`no slot of ${name} is decided twice, and each next one comes`, () => {
			fc.assert(
				fc.property(steps, fc.integer({ min: 0, max: HOUR - 1 }), (walk, jitterMs) => {
					const jittered = { ...rule, jitterMs };
					let nowMs = 100 * DAY;
					let plan = firstPlan(jittered, times, { nowMs, random: 0.7 });
					const decided = new Set<string>();
					const note = (slotMs: number, era: number) => {
						const slot = `${slotMs} ${era}`;
						expect(decided.has(slot)).toBe(false);
						decided.add(slot);
					};
					for (const step of walk) {
						nowMs += step;
						const before = plan;
						const decision = decideSlot(plan, jittered, times, { nowMs, random: 0.3 });
						({ plan } = decision);
						const { missed, due } = decision;
						if (missed !== null && !missed.isMore) {
							let slotMs: number = missed.fromMs;
							for (let left = missed.count; left > 0; left--) {
								note(slotMs, before.era);
								slotMs = times.next(slotMs, slotMs) ?? 0;
							}
						}
						if (due !== null) {
							note(due.slotMs, due.era);
							expect(due.slotMs).toBeLessThanOrEqual(nowMs);
							expect(due.lateMs).toBeGreaterThanOrEqual(0);
						}
						// After a decision nothing is due at the same moment.
						const again = decideSlot(plan, jittered, times, { nowMs, random: 0.3 });
						expect(again.due).toBeNull();
						expect((plan.slotMs ?? 0) - nowMs).toBeLessThanOrEqual(
							rule.everyMs === null ? DAY + 2 * HOUR : HOUR,
						);
					}
				}),
			);
		});
	}
});

describe("what happens with a due slot", () => {
	const FACTS: FiringFacts = {
		overlap: "skip",
		running: null,
		queued: 0,
		blocked: null,
		due: { lateMs: 0, isTooLate: false },
	};
	const fire = (facts: Partial<FiringFacts>) => decideFiring({ ...FACTS, ...facts });

	test("it fires if nothing is in the way", () => {
		expect(fire({})).toEqual({ action: "fire", reason: "on time" });
		expect(fire({ due: null })).toEqual({ action: "fire", reason: "on request" });
		const late = { lateMs: 2 * HOUR, isTooLate: false };
		expect(fire({ due: late })).toEqual({ action: "fire", reason: "2h late" });
	});

	test("it is skipped if it is too late, or its agent cannot take it", () => {
		const due = { lateMs: 2 * HOUR, isTooLate: true };
		expect(fire({ due, blocked: "down" })).toEqual({
			action: "skip",
			reason: "2h late, and `catch_up` is `none`",
		});
		const blocked = "p:a is down";
		expect(fire({ blocked, overlap: "queue" })).toEqual({ action: "skip", reason: blocked });
	});

	test("while the previous one runs, `overlap` decides", () => {
		const running = "it is still running";
		expect(fire({ running })).toEqual({ action: "skip", reason: running });
		expect(fire({ running, overlap: "queue" })).toEqual({ action: "queue", reason: running });
		expect(fire({ running, overlap: "replace" }).action).toBe("replace");
		expect(fire({ overlap: "replace" }).action).toBe("fire");
		expect(fire({ overlap: "queue" }).action).toBe("fire");
	});

	test("queued slots keep their order, up to a limit", () => {
		expect(fire({ overlap: "queue", queued: 1 })).toEqual({
			action: "queue",
			reason: "an earlier slot is already queued",
		});
		expect(fire({ overlap: "queue", queued: 100, running: "x" })).toEqual({
			action: "skip",
			reason: "100 slots wait already",
		});
	});
});

test("missed slots are explained with their number", () => {
	const missed = { count: 1, isMore: false, fromMs: 0, untilMs: 0 };
	expect(renderMissed(missed)).toBe("a later slot was due before this slot could fire");
	expect(renderMissed({ ...missed, count: 3 })).toContain("3 slots");
	expect(renderMissed({ ...missed, count: 1_000, isMore: true })).toContain("more than 1000 slots");
});

test("a slot is open until it has ended", () => {
	expect((["queued", "fired", "succeeded", "skipped"] as const).map(isOpenSlot)).toEqual([
		...[true, true, false, false],
	]);
});

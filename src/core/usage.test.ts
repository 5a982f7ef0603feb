import { describe, expect, test } from "vitest";
import {
	type AgentUsage,
	countReading,
	countUsage,
	NEVER_USED,
	NO_USAGE,
	numberOf,
	tokensOf,
	type UsageCursor,
	type UsageReading,
} from "./usage.js";

const reading = (key: string, facts: Partial<UsageReading> = {}): UsageReading => ({
	...NO_USAGE,
	key,
	isTotal: false,
	...facts,
});

/** The amount that each reading adds, in order. */
function added(...readings: readonly UsageReading[]): readonly number[] {
	let seen: UsageCursor["seen"] = [];
	return readings.map((each) => {
		const counted = countReading(seen, each);
		seen = counted.seen;
		return tokensOf(counted.added);
	});
}

describe("a reading", () => {
	test("that is repeated adds nothing", () => {
		expect(added(reading("a", { input: 10 }), reading("a", { input: 10 }))).toEqual([10, 0]);
	});

	test("that is repeated with more adds the difference", () => {
		const lines = [reading("a", { input: 10, output: 1 }), reading("a", { input: 10, output: 8 })];
		expect(added(...lines)).toEqual([11, 7]);
	});

	test("of one message is never less than it was", () => {
		const lines = [8, 1, 8].map((output) => reading("a", { output }));
		expect(added(...lines)).toEqual([8, 0, 0]);
	});

	test("of another message adds all of it", () => {
		expect(added(reading("a", { input: 10 }), reading("b", { input: 10 }))).toEqual([10, 10]);
	});

	test("of a decreased total belongs to a restarted total", () => {
		const lines = [100, 150, 30, 40].map((input) => reading("total", { input, isTotal: true }));
		expect(added(...lines)).toEqual([100, 50, 30, 10]);
	});

	test("has a cost only if one is reported", () => {
		const cost = (costUsd: number | null) => countReading([], reading("a", { costUsd })).added;
		expect(cost(null).costUsd).toBeNull();
		expect(cost(0).costUsd).toBe(0);
		expect(cost(0.5).costUsd).toBe(0.5);
	});

	test("is remembered within bounds", () => {
		let seen: UsageCursor["seen"] = [];
		for (let n = 0; n < 500; n++) seen = countReading(seen, reading(`m${n}`)).seen;
		expect(seen).toHaveLength(100);
		expect(seen.at(-1)?.[0]).toBe("m499");
	});
});

describe("a day", () => {
	const used = { ...NO_USAGE, input: 5, costUsd: 1 };
	const monday: AgentUsage = countUsage(NEVER_USED, used, "2031-04-07", "2031-04-07");

	test("starts at zero, and earlier usage stays in the sum", () => {
		const tuesday = countUsage(monday, used, "2031-04-08", "2031-04-08");
		expect(tuesday).toMatchObject({ day: "2031-04-08", today: used });
		expect(tuesday.ever).toMatchObject({ input: 10, costUsd: 2 });
	});

	test("does not count earlier usage that is read late", () => {
		const late = countUsage(NEVER_USED, used, "2031-04-06", "2031-04-07");
		expect(late.today).toEqual(NO_USAGE);
		expect(late.ever).toEqual(used);
	});

	test("counts usage that a fast clock dates to tomorrow", () => {
		expect(countUsage(monday, used, "2031-04-08", "2031-04-07").today.input).toBe(10);
	});
});

test.each([[-1], [Number.NaN], [Number.POSITIVE_INFINITY], ["5"], [null], [undefined]])(
	"%s in a record is not a token count",
	(value) => expect(numberOf(value)).toBe(0),
);

import { describe, expect, test } from "vitest";
import { type DailyBudget, decideBudget, decideLow, renderUsd, useOf } from "./budget.js";
import { NO_USAGE, type Usage } from "./usage.js";

const TODAY = "2031-04-05";
const used = (tokens: number, costUsd: number | null) => ({
	...NO_USAGE,
	cacheRead: tokens,
	costUsd,
});
const tokens = (tokensPerDay: number): DailyBudget => ({ tokensPerDay, usdPerDay: null });
const usd = (usdPerDay: number): DailyBudget => ({ tokensPerDay: null, usdPerDay });
const WEB = { of: "project", name: "web" } as const;
const own = (usage: Usage, budget: DailyBudget) => ({ owner: null, use: useOf(usage, budget) });

describe("a budget", () => {
	test.each([
		["is not spent before it is reached", used(99, null), tokens(100), null],
		[
			"is spent when it is reached",
			used(100, null),
			tokens(100),
			/^daily budget used up: 100 of 100 tokens/,
		],
		["in dollars is used up by the reported cost", used(1, 2.5), usd(2), /\$2\.50 of \$2\.00/],
		["in dollars is not used up without a reported cost", used(1e9, null), usd(0.01), null],
		["of zero is used up from the start", used(0, null), tokens(0), /0 of 0 tokens/],
		[
			"of both kinds is used up by the one that is reached first",
			used(10, 3),
			{ tokensPerDay: 100, usdPerDay: 2 },
			/\$3\.00 of \$2\.00/,
		],
		[
			"without limits is never used up",
			used(1e9, 9),
			{ tokensPerDay: null, usdPerDay: null },
			null,
		],
	])("%s", (_, usage, budget, reason) => {
		const decided = decideBudget([own(usage, budget)], null, TODAY);
		if (reason === null) expect(decided).toBeNull();
		else expect(decided).toMatch(reason);
	});

	test("does not exist unless it is configured", () => {
		expect(decideBudget([], null, TODAY)).toBeNull();
	});

	test("does not hold on the day on which it was lifted, and holds again afterwards", () => {
		const budgets = [own(used(9, null), tokens(1))];
		expect(decideBudget(budgets, TODAY, TODAY)).toBeNull();
		expect(decideBudget(budgets, "2031-04-04", TODAY)).toContain("9 of 1 tokens");
	});

	test("of a project or account is named in the reason", () => {
		const budgets = [
			own(used(1, null), tokens(100)),
			{ owner: WEB, use: useOf(used(50, null), tokens(50)) },
		];
		expect(decideBudget(budgets, null, TODAY)).toBe(
			"daily budget of project web used up: 50 of 50 tokens",
		);
	});

	test("is reported as low when it passes 80 %, once, and not when it is used up at once", () => {
		const at = (count: number) => [{ owner: WEB, use: useOf(used(count, null), tokens(100)) }];
		expect(decideLow(at(79), at(80))).toBe("daily budget of project web at 80 %: 80 of 100 tokens");
		expect(decideLow(at(0), at(99))).toContain("at 99 %");
		expect([decideLow(at(80), at(90)), decideLow(at(70), at(79))]).toEqual([null, null]);
		expect(decideLow(at(70), at(100))).toBeNull();
		expect(decideLow([], at(85))).toContain("85 of 100");
	});
});

test.each([
	[0, "$0.00"],
	[12.5, "$12.50"],
	[0.0042, "$0.0042"],
])("%s dollars are written %s", (amount, text) => expect(renderUsd(amount)).toBe(text));

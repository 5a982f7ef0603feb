import { describe, expect, test } from "vitest";
import { type DailyBudget, decideBudget, renderUsd } from "./budget.js";
import { type AgentUsage, NEVER_USED, NO_USAGE } from "./usage.js";

const TODAY = "2031-04-05";
const used = (tokens: number, costUsd: number | null, facts: Partial<AgentUsage> = {}) => ({
	...NEVER_USED,
	day: TODAY,
	today: { ...NO_USAGE, cacheRead: tokens, costUsd },
	...facts,
});
const tokens = (tokensPerDay: number): DailyBudget => ({ tokensPerDay, usdPerDay: null });
const usd = (usdPerDay: number): DailyBudget => ({ tokensPerDay: null, usdPerDay });

describe("a budget", () => {
	test.each([
		["is not spent before it is reached", used(99, null), tokens(100), null],
		["is spent when it is reached", used(100, null), tokens(100), /100 of 100 tokens/],
		[
			"in dollars is used up by the cost that the CLI reports",
			used(1, 2.5),
			usd(2),
			/\$2\.50 of \$2\.00/,
		],
		["in dollars is not used up without a reported cost", used(1e9, null), usd(0.01), null],
		["is not there unless it is given", used(1e9, 1e9), null, null],
		["is that of one day", used(100, 5, { day: "2031-04-04" }), tokens(1), null],
		["does not hold on a day it was lifted", used(100, 5, { releasedOn: TODAY }), tokens(1), null],
		[
			"holds again on the day after it was lifted",
			used(100, 5, { releasedOn: "2031-04-04" }),
			tokens(1),
			/100 of 1 tokens/,
		],
	])("%s", (_, usage, budget, reason) => {
		const decided = decideBudget(usage, budget, TODAY);
		if (reason === null) expect(decided).toBeNull();
		else expect(decided).toMatch(reason);
	});
});

test.each([
	[0, "$0.00"],
	[12.5, "$12.50"],
	[0.0042, "$0.0042"],
])("%s dollars are written %s", (amount, text) => expect(renderUsd(amount)).toBe(text));

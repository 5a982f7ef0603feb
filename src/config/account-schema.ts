/** The schema of accounts, usage limits and daily budgets. */

import { DEFAULT_USAGE_LIMIT } from "../core/account.js";
import { renderDuration } from "../core/units.js";
import { amount, count, duration, flag, hours, section } from "./values.js";

const TOKENS_MAX = 1_000_000_000_000;

export const usageLimit = section(
	"The behaviour of agents whose account hits its usage limit. The settings of the agent that hits the limit apply to all agents of the account.",
	{
		auto_resume: flag(
			"Whether the agents continue automatically once the limit lifts. Otherwise they wait for `reeve resume`.",
		).prefault(DEFAULT_USAGE_LIMIT.autoResume),
		quiet_hours: hours(
			"During these hours (local time of the host) no agent continues; they continue afterwards. None unless set.",
		).optional(),
		max_wait: duration(
			"If the total wait would be longer than this, the agents wait for `reeve resume` instead.",
			{ positive: true },
		).prefault(renderDuration(DEFAULT_USAGE_LIMIT.maxWaitMs)),
	},
);

export const dailyBudget = section(
	"The daily budget of an agent CLI (local time of the host). When it is used up, a session is stopped until the next day and calls are refused; you are notified. No limit unless set.",
	{
		usd_per_day: amount(
			"Cost in US dollars, as reported by the CLI: `opencode` and `pi`, and calls to `claude`.",
		).optional(),
		tokens_per_day: count("Tokens of all kinds, including cached tokens.", {
			max: TOKENS_MAX,
		}).optional(),
	},
);

export const sharedBudget = section(
	"A daily budget that the agents share (local time of the host). When it is used up, their sessions are stopped until the next day and their calls are refused. Agents whose CLI does not report its usage neither count nor stop. No limit unless set.",
	{
		usd_per_day: amount(
			"Cost in US dollars. It counts the cost that CLIs report: `opencode`, `pi`, and calls to `claude`.",
		).optional(),
		tokens_per_day: count("Tokens of all kinds, including cached tokens.", {
			max: TOKENS_MAX,
		}).optional(),
	},
);

export const account = section("One account that agents name with `account`.", {
	budget: sharedBudget.optional(),
});

import { expect, test } from "vitest";
import { parseFleet } from "./parse-fleet.js";

const CONTEXT = { baseDir: "/fleet", homeDir: "/home/ada", env: {} };

function parse(project: string, more = "") {
	return parseFleet(`version: 1\n${more}projects:\n  web:\n${project}`, "reeve.yaml", CONTEXT);
}

function problems(project: string, more = ""): readonly string[] {
	const parsed = parse(project, more);
	return parsed.ok ? [] : parsed.problems.map(({ message }) => message);
}

const AGENTS =
	"    agents:\n      a: { adapter: claude, account: work }\n      b: { command: [sleep, '9'] }\n";

test("budgets of a project and an account reach the agents that report usage", () => {
	const parsed = parse(
		`    budget: { tokens_per_day: 1000 }\n${AGENTS}`,
		"accounts: { work: { budget: { tokens_per_day: 5000 } } }\n",
	);
	if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
	expect(
		parsed.fleet.agents.map((spec) => ("sharedBudgets" in spec ? spec.sharedBudgets : null)),
	).toEqual([
		[
			{ of: "project", name: "web", tokensPerDay: 1_000, usdPerDay: null },
			{ of: "account", name: "work", tokensPerDay: 5_000, usdPerDay: null },
		],
		null,
	]);
});

test.each([
	[`    budget: {}\n${AGENTS}`, "", "the budget has no limit"],
	[
		"    budget: { tokens_per_day: 9 }\n    agents: { b: { command: [sleep, '9'] } }\n",
		"",
		"the budget cannot be enforced: none of its agents reports usage",
	],
	[
		`    budget: { usd_per_day: 9 }\n${AGENTS}`,
		"",
		"`usd_per_day` cannot be enforced: none of its agents reports its cost in time",
	],
	[AGENTS, "accounts: { other: {} }\n", "no agent uses the account `other`"],
])("%j %j is refused", (project, more, message) => {
	expect(problems(project, more)).toContain(message);
});

test("a wrong value is reported once, at its place", () => {
	expect(problems(`    budget: { tokens_per_day: many }\n${AGENTS}`)).toHaveLength(1);
});

/** The budgets of projects and accounts: they must have a limit that can be enforced. */

import type { SharedBudget } from "../core/budget.js";
import { sharedBudget } from "./account-schema.js";
import { settingsOf, under, type WrittenAgent } from "./agents.js";
import type { CheckedShape } from "./check-shape.js";
import { reportsCost, reportsTokens } from "./known-adapters.js";
import type { Path } from "./outline.js";
import { type Finding, finding } from "./problem.js";
import { budgetOf } from "./resolve.js";
import type { AgentSettings } from "./schema.js";
import { findTree, locateKey, namesIn, type Tree } from "./tree.js";

export function checkBudgets(
	tree: Tree,
	agents: readonly WrittenAgent[],
	shape: CheckedShape,
): readonly Finding[] {
	const known = agents.flatMap((agent) => {
		const settings = settingsOf(agent, shape);
		return settings === null ? [] : [{ project: agent.project, settings }];
	});
	// An agent with other problems may be the one that uses the budget.
	if (known.length < agents.length) return [];
	const accounts = namesIn(tree, ["accounts"]).flatMap((name) => {
		const path = ["accounts", name];
		const members = known.filter(({ settings }) => settings.account === name);
		if (members.length > 0) return checkBudget(tree, shape, [...path, "budget"], members);
		const hint = "remove it, or write `account` at its agents";
		return [
			finding(locateKey(tree, path), path, {
				message: `no agent uses the account \`${name}\``,
				hint,
			}),
		];
	});
	const projects = namesIn(tree, ["projects"]).flatMap((name) => {
		const members = known.filter(({ project }) => project === name);
		return checkBudget(tree, shape, ["projects", name, "budget"], members);
	});
	return [...accounts, ...projects];
}

function checkBudget(
	tree: Tree,
	shape: CheckedShape,
	path: Path,
	members: readonly { readonly settings: AgentSettings }[],
): readonly Finding[] {
	const budget = readBudget(tree, shape, path);
	const isFaulty = ["tokens_per_day", "usd_per_day"].some((key) =>
		shape.broken.covers([...path, key]),
	);
	if (budget === null || isFaulty) return [];
	const say = (message: string, hint: string) => [
		finding(locateKey(tree, path), path, { message, hint }),
	];
	if (budget.usdPerDay === null && budget.tokensPerDay === null)
		return say("the budget has no limit", "set `tokens_per_day` or `usd_per_day`");
	const isMember = ({ settings: { kind, adapter } }: (typeof members)[number]) =>
		kind !== "worker" && reportsTokens(adapter);
	if (!members.some(isMember)) {
		const hint = "claude, codex, gemini, opencode and pi report usage";
		return say("the budget cannot be enforced: none of its agents reports usage", hint);
	}
	const isCosted = ({ settings: { kind, adapter } }: (typeof members)[number]) =>
		reportsCost(kind, adapter);
	if (budget.usdPerDay === null || members.some(isCosted)) return [];
	const message = "`usd_per_day` cannot be enforced: none of its agents reports its cost in time";
	return say(message, "use `tokens_per_day`");
}

/** The budgets of an agent's project and account. */
export function sharedBudgetsOf(
	tree: Tree,
	shape: CheckedShape,
	project: string,
	account: string | undefined,
): readonly SharedBudget[] {
	const ofProject = readBudget(tree, shape, ["projects", project, "budget"]);
	const ofAccount =
		account === undefined ? null : readBudget(tree, shape, ["accounts", account, "budget"]);
	return [
		...(ofProject === null ? [] : [{ of: "project" as const, name: project, ...ofProject }]),
		...(ofAccount === null || account === undefined
			? []
			: [{ of: "account" as const, name: account, ...ofAccount }]),
	];
}

function readBudget(tree: Tree, { sound }: CheckedShape, path: Path) {
	if (findTree(tree, path) === null) return null;
	const parsed = sharedBudget.safeParse(under(sound, path));
	return parsed.success ? budgetOf(parsed.data) : null;
}

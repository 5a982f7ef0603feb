/** Today's budgets of agents, projects and accounts, and how much of each is used. */

import type { DailyBudget } from "../core/budget.js";
import { addUsage, NO_USAGE, tokensOf } from "../core/usage.js";
import type { AgentView } from "../engine/agent-view.js";
import type { EngineUsage } from "../engine/engine-parts.js";
import type { BudgetJson } from "./contract/history.js";

/**
 * @param accountOf the account of an agent
 * @param isVisible whether the caller may see an agent; a shared budget is listed if it may see all of its agents
 */
export function renderBudgets(
	agents: readonly AgentView[],
	{ today, daysOf }: Pick<EngineUsage, "today" | "daysOf">,
	accountOf: ReadonlyMap<string, string>,
	isVisible: (id: string) => boolean,
): readonly BudgetJson[] {
	const found = new Map<string, BudgetJson>();
	const ids = agents.map(({ agent }) => agent.id);
	const add = (of: BudgetJson["of"], name: string, limits: DailyBudget, members: string[]) => {
		const key = `${of} ${name} ${limits.tokensPerDay} ${limits.usdPerDay}`;
		if (found.has(key) || !members.every(isVisible)) return;
		const used = members.reduce((sum, id) => {
			const usage = daysOf(id).find(([day]) => day === today)?.[1] ?? NO_USAGE;
			return addUsage(sum, usage);
		}, NO_USAGE);
		found.set(key, {
			of,
			name,
			tokens_per_day: limits.tokensPerDay,
			usd_per_day: limits.usdPerDay,
			tokens_today: tokensOf(used),
			usd_today: used.costUsd,
		});
	};
	for (const { agent } of agents) {
		if (agent.spec.kind === "worker") continue;
		const { budget, sharedBudgets = [] } = agent.spec;
		for (const shared of sharedBudgets) {
			const { of, name } = shared;
			const isMember = (id: string) =>
				of === "project" ? id.startsWith(`${name}:`) : accountOf.get(id) === name;
			add(of, name, shared, ids.filter(isMember));
		}
		if (budget !== undefined) add("agent", agent.id, budget, [agent.id]);
	}
	return [...found.values()];
}

/** Whether a daily budget is used up: that of an agent, its project or its account. */

import { tokensOf, type Usage } from "./usage.js";

export interface DailyBudget {
	readonly usdPerDay: number | null;
	readonly tokensPerDay: number | null;
}

/** The budget of a project or an account, for all of its agents together. */
export interface SharedBudget extends DailyBudget {
	readonly of: "project" | "account";
	readonly name: string;
}

/** This share of a budget is reported, before it is used up. */
const LOW_SHARE = 0.8;

/** How much of a budget is used: the larger share of its limits. */
export interface BudgetUse {
	/** 1 if it is used up. */
	readonly share: number;
	/** Such as `80 of 100 tokens`. */
	readonly text: string;
}

export function useOf(used: Usage, { usdPerDay, tokensPerDay }: DailyBudget): BudgetUse {
	const [tokens, costUsd] = [tokensOf(used), used.costUsd ?? 0];
	const uses = [
		...(tokensPerDay === null
			? []
			: [{ share: shareOf(tokens, tokensPerDay), text: `${tokens} of ${tokensPerDay} tokens` }]),
		...(usdPerDay === null
			? []
			: [
					{
						share: shareOf(costUsd, usdPerDay),
						text: `${renderUsd(costUsd)} of ${renderUsd(usdPerDay)}`,
					},
				]),
	];
	return uses.reduce((a, b) => (b.share > a.share ? b : a), { share: 0, text: "nothing" });
}

/** A budget of 0 is used up from the start. */
function shareOf(used: number, limit: number): number {
	return limit === 0 ? 1 : used / limit;
}

/** A budget with its owner, and how much of it is used. */
export interface UsedBudget {
	/** Null: the agent itself. */
	readonly owner: Pick<SharedBudget, "of" | "name"> | null;
	readonly use: BudgetUse;
}

/** Why the agent may not continue today, as text; null if it may. */
export function decideBudget(
	budgets: readonly UsedBudget[],
	releasedOn: string | null,
	today: string,
): string | null {
	if (releasedOn === today) return null;
	const over = budgets.find(({ use }) => use.share >= 1);
	return over === undefined ? null : `${nameOf(over)} used up: ${over.use.text}`;
}

/** The text about a budget that has just become low; null if none has. */
export function decideLow(
	before: readonly UsedBudget[],
	after: readonly UsedBudget[],
): string | null {
	const low = after.find(
		({ use }, index) =>
			use.share >= LOW_SHARE && use.share < 1 && (before[index]?.use.share ?? 0) < LOW_SHARE,
	);
	return low === undefined
		? null
		: `${nameOf(low)} at ${Math.floor(low.use.share * 100)} %: ${low.use.text}`;
}

function nameOf({ owner }: UsedBudget): string {
	return owner === null ? "daily budget" : `daily budget of ${owner.of} ${owner.name}`;
}

/** `$0.42`, and `$0.0042` for amounts below a cent. */
export function renderUsd(usd: number): string {
	return `$${usd === 0 || usd >= 0.1 ? usd.toFixed(2) : usd.toPrecision(2)}`;
}

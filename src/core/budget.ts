/** Whether an agent has used up its daily budget. */

import type { AgentKind } from "./states.js";
import { type AgentUsage, tokensOf, usageOn } from "./usage.js";

export interface DailyBudget {
	readonly usdPerDay: number | null;
	readonly tokensPerDay: number | null;
}

/** Adapters whose CLI reports its token usage. */
const REPORTS_TOKENS: ReadonlySet<string> = new Set([
	"claude",
	"codex",
	"gemini",
	"opencode",
	"pi",
]);
/** Adapters whose CLI reports its cost early enough to act on it. */
const REPORTS_COST: Readonly<Record<AgentKind, ReadonlySet<string>>> = {
	// Sessions of claude report it only when they exit.
	session: new Set(["opencode", "pi"]),
	call: new Set(["claude", "opencode", "pi"]),
	worker: new Set(),
};

export const reportsTokens = (adapter: string): boolean => REPORTS_TOKENS.has(adapter);
export const reportsCost = (kind: AgentKind, adapter: string): boolean =>
	REPORTS_COST[kind].has(adapter);

/** Why the agent may not continue today, as text; null if it may. */
export function decideBudget(
	usage: AgentUsage,
	budget: DailyBudget | null,
	today: string,
): string | null {
	if (budget === null || usage.releasedOn === today) return null;
	const used = usageOn(usage, today);
	const tokens = tokensOf(used);
	const { usdPerDay, tokensPerDay } = budget;
	if (tokensPerDay !== null && tokens >= tokensPerDay) {
		return `daily budget used up: ${tokens} of ${tokensPerDay} tokens`;
	}
	const costUsd = used.costUsd ?? 0;
	if (usdPerDay !== null && costUsd >= usdPerDay) {
		return `daily budget used up: ${renderUsd(costUsd)} of ${renderUsd(usdPerDay)}`;
	}
	return null;
}

/** `$0.42`, and `$0.0042` for amounts below a cent. */
export function renderUsd(usd: number): string {
	return `$${usd === 0 || usd >= 0.1 ? usd.toFixed(2) : usd.toPrecision(2)}`;
}

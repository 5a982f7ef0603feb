/**
 * How much an agent has used: tokens by kind and, where its CLI tells it, what that cost. Counted from
 * readings of what the CLI writes down anyway, each of them once however often it is seen. Reeve knows no
 * prices: a cost that is not told is null.
 */

export const TOKEN_KINDS = ["input", "output", "cacheRead", "cacheWrite"] as const;
export type TokenKind = (typeof TOKEN_KINDS)[number];

/** Tokens of a kind are in that kind alone: what was read from a cache is not in `input` too. */
export interface Usage extends Readonly<Record<TokenKind, number>> {
	/** Null where nobody has told. */
	readonly costUsd: number | null;
}

/** What a line in the record of a CLI tells of its usage. */
export interface UsageReading extends Usage {
	/** What it is about. The same may be told again, with more of it. */
	readonly key: string;
	/** Whether it tells the sum of all so far, which begins anew where it becomes less. */
	readonly isTotal: boolean;
}

export interface TimedReading extends UsageReading {
	/** Null where the line does not say. */
	readonly atMs: number | null;
}

/** How far a record was read, and what its last readings were. */
export interface UsageCursor {
	readonly path: string;
	readonly offset: number;
	readonly seen: readonly (readonly [key: string, Usage])[];
	/** How far each of the files beside it was read, by name. */
	readonly beside?: Readonly<Record<string, number>>;
}

/** All that is remembered of an agent's usage. */
export interface AgentUsage {
	/** The last day on which there was some, as the host's calendar has it: `2031-04-05`. */
	readonly day: string;
	readonly today: Usage;
	readonly ever: Usage;
	readonly cursor: UsageCursor | null;
	/** The day on which people were told that the budget is spent. */
	readonly toldOn: string | null;
	/** The day on which the operator let it go on all the same. */
	readonly releasedOn: string | null;
}

export const NO_USAGE: Usage = Object.freeze({
	input: 0,
	output: 0,
	cacheRead: 0,
	cacheWrite: 0,
	costUsd: null,
});

export const NEVER_USED: AgentUsage = Object.freeze({
	day: "",
	today: NO_USAGE,
	ever: NO_USAGE,
	cursor: null,
	toldOn: null,
	releasedOn: null,
});

/** Readings that are remembered: the same one is told again within a few lines (A6). */
const SEEN_MAX = 100;

export function tokensOf(usage: Usage): number {
	return TOKEN_KINDS.reduce((sum, kind) => sum + usage[kind], 0);
}

/** A number out of somebody else's record: what is no sensible number is nothing. */
export function numberOf(value: unknown): number {
	return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}

function combine(a: Usage, b: Usage, each: (a: number, b: number) => number): Usage {
	const { costUsd } = a;
	return {
		input: each(a.input, b.input),
		output: each(a.output, b.output),
		cacheRead: each(a.cacheRead, b.cacheRead),
		cacheWrite: each(a.cacheWrite, b.cacheWrite),
		costUsd: costUsd === null && b.costUsd === null ? null : each(costUsd ?? 0, b.costUsd ?? 0),
	};
}

export function addUsage(a: Usage, b: Usage): Usage {
	return combine(a, b, (one, other) => one + other);
}

/** What a reading adds to what was seen before. */
export function countReading(
	seen: UsageCursor["seen"],
	{ key, isTotal, ...reading }: UsageReading,
): { readonly added: Usage; readonly seen: UsageCursor["seen"] } {
	const usage = combine(NO_USAGE, reading, (_, told) => told);
	const before = seen.find(([known]) => known === key)?.[1] ?? NO_USAGE;
	const beganAnew =
		isTotal && (tokensOf(usage) < tokensOf(before) || (usage.costUsd ?? 0) < (before.costUsd ?? 0));
	const most = beganAnew ? usage : combine(usage, before, Math.max);
	const added = beganAnew ? usage : combine(most, before, (now, then) => now - then);
	const others = seen.filter(([known]) => known !== key);
	return { added, seen: [...others, [key, most] as const].slice(-SEEN_MAX) };
}

/** Puts what was used on a day to what is remembered. What is late counts for ever, but not for today. */
export function countUsage(
	usage: AgentUsage,
	added: Usage,
	day: string,
	today: string,
): AgentUsage {
	const before = usage.day === today ? usage.today : NO_USAGE;
	return {
		...usage,
		day: today,
		today: day < today ? before : addUsage(before, added),
		ever: addUsage(usage.ever, added),
	};
}

/** What was used on this day. */
export function usageOn(usage: AgentUsage, day: string): Usage {
	return usage.day === day ? usage.today : NO_USAGE;
}

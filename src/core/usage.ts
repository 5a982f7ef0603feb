/**
 * The usage of an agent: tokens by kind and, if its CLI reports it, their cost. Computed from the CLI's own records;
 * each reading counts once, however often it is seen. Reeve knows no prices: an unreported cost is null.
 */

export const TOKEN_KINDS = ["input", "output", "cacheRead", "cacheWrite"] as const;
export type TokenKind = (typeof TOKEN_KINDS)[number];

/** Each token counts in one kind only: cached input is not part of `input`. */
export interface Usage extends Readonly<Record<TokenKind, number>> {
	/** Null if not reported. */
	readonly costUsd: number | null;
}

/** The usage in one line of a CLI's record. */
export interface UsageReading extends Usage {
	/** Identifies the reading. It may be repeated with higher values. */
	readonly key: string;
	/** Whether it is a running total, which restarts if it decreases. */
	readonly isTotal: boolean;
}

export interface TimedReading extends UsageReading {
	/** Null if the line has no time. */
	readonly atMs: number | null;
}

/** How far a record was read, and its last readings. */
export interface UsageCursor {
	readonly path: string;
	readonly offset: number;
	readonly seen: readonly (readonly [key: string, Usage])[];
	/** How far each of the additional files was read, by name. */
	readonly beside?: Readonly<Record<string, number>>;
}

/** The stored usage of an agent. */
export interface AgentUsage {
	/** The last day with usage, by the host's calendar: `2031-04-05`. */
	readonly day: string;
	readonly today: Usage;
	readonly ever: Usage;
	readonly cursor: UsageCursor | null;
	/** The day on which the used-up budget was reported. */
	readonly toldOn: string | null;
	/** The day on which the operator lifted the budget. */
	readonly releasedOn: string | null;
	/** The usage of the last days with usage, oldest first. Omitted by older versions. */
	readonly days?: readonly (readonly [day: string, usage: Usage])[];
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

/** How many days are remembered (A6). */
const DAYS_MAX = 31;

/** Number of remembered readings: a reading is repeated within a few lines (A6). */
const SEEN_MAX = 100;

export function tokensOf(usage: Usage): number {
	return TOKEN_KINDS.reduce((sum, kind) => sum + usage[kind], 0);
}

/** A number from a foreign record; 0 if it is not a sensible number. */
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

/** The amount that a reading adds to the earlier ones. */
export function countReading(
	seen: UsageCursor["seen"],
	{ key, isTotal, ...reading }: UsageReading,
): { readonly added: Usage; readonly seen: UsageCursor["seen"] } {
	const usage = combine(NO_USAGE, reading, (_, reported) => reported);
	const before = seen.find(([known]) => known === key)?.[1] ?? NO_USAGE;
	const isRestarted =
		isTotal && (tokensOf(usage) < tokensOf(before) || (usage.costUsd ?? 0) < (before.costUsd ?? 0));
	const most = isRestarted ? usage : combine(usage, before, Math.max);
	const added = isRestarted ? usage : combine(most, before, (now, then) => now - then);
	const others = seen.filter(([known]) => known !== key);
	return { added, seen: [...others, [key, most] as const].slice(-SEEN_MAX) };
}

/** Adds the usage of a day. Late readings count for their day and the total, but not for today. */
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
		days: addToDay(usage.days ?? [], day, added),
	};
}

function addToDay(
	days: readonly (readonly [string, Usage])[],
	day: string,
	added: Usage,
): readonly (readonly [string, Usage])[] {
	const before = days.find(([known]) => known === day)?.[1] ?? NO_USAGE;
	const others = days.filter(([known]) => known !== day);
	return [...others, [day, addUsage(before, added)] as const]
		.sort(([a], [b]) => (a < b ? -1 : 1))
		.slice(-DAYS_MAX);
}

/** The usage of this day. */
export function usageOn(usage: AgentUsage, day: string): Usage {
	return usage.day === day ? usage.today : NO_USAGE;
}

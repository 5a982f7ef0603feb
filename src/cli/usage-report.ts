/** The rows of `reeve usage`: tokens and cost, summed by day, agent, project or account. */

import type { UsageRowJson } from "../http/contract/history.js";

export const USAGE_GROUPS = ["day", "agent", "project", "account"] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

export interface UsageSum {
	/** The day, agent, project or account. */
	readonly name: string;
	readonly input: number;
	readonly output: number;
	readonly cache_read: number;
	readonly cache_write: number;
	readonly tokens: number;
	/** Null if no CLI in it reports a cost; otherwise the sum of those that do. */
	readonly usd: number | null;
	/** Whether a part of the tokens has no reported cost. */
	readonly usd_incomplete: boolean;
}

/** Days newest first, everything else by most tokens. */
export function sumUsage(rows: readonly UsageRowJson[], by: UsageGroup): readonly UsageSum[] {
	const groups = new Map<string, UsageRowJson[]>();
	for (const row of rows) {
		const name = nameOf(row, by);
		groups.set(name, [...(groups.get(name) ?? []), row]);
	}
	const sums = [...groups].map(([name, members]) => sumOf(name, members));
	return sums.sort((a, b) =>
		by === "day" ? (a.name < b.name ? 1 : -1) : b.tokens - a.tokens || (a.name < b.name ? -1 : 1),
	);
}

/** The sum of all rows. */
export function sumOf(name: string, rows: readonly UsageRowJson[]): UsageSum {
	const total = (key: "input" | "output" | "cache_read" | "cache_write") =>
		rows.reduce((sum, row) => sum + row[key], 0);
	const kinds = {
		input: total("input"),
		output: total("output"),
		cache_read: total("cache_read"),
		cache_write: total("cache_write"),
	};
	const costs = rows.flatMap(({ usd }) => (usd === null ? [] : [usd]));
	return {
		name,
		...kinds,
		tokens: Object.values(kinds).reduce((sum, each) => sum + each, 0),
		usd: costs.length === 0 ? null : costs.reduce((sum, each) => sum + each, 0),
		usd_incomplete: costs.length > 0 && costs.length < rows.length,
	};
}

function nameOf({ day, agent, account }: UsageRowJson, by: UsageGroup): string {
	switch (by) {
		case "day":
			return day;
		case "agent":
			return agent;
		case "project":
			return agent.slice(0, agent.indexOf(":"));
		case "account":
			return account;
	}
}

/** RFC 4180, with a header. Text that a spreadsheet would run as a formula is quoted as text. */
export function renderCsv(
	header: readonly string[],
	rows: readonly (readonly (string | number | null)[])[],
): string {
	return [header, ...rows].map((row) => row.map(renderCell).join(",")).join("\r\n");
}

function renderCell(value: string | number | null): string {
	if (value === null) return "";
	if (typeof value === "number") return String(value);
	const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
	return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

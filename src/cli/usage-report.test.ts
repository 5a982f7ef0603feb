import { describe, expect, test } from "vitest";
import type { UsageRowJson } from "../http/contract/history.js";
import { renderCsv, sumUsage, USAGE_GROUPS } from "./usage-report.js";

function row(day: string, agent: string, account: string, input: number, usd: number | null) {
	return { day, agent, account, input, output: 1, cache_read: 2, cache_write: 3, usd };
}

const ROWS: readonly UsageRowJson[] = [
	row("2031-04-05", "web:a", "work", 100, 0.5),
	row("2031-04-05", "api:b", "work", 10, null),
	row("2031-04-06", "web:a", "work", 1_000, 0.25),
	row("2031-04-06", "web:c", "web:c", 7, null),
];

describe("usage", () => {
	test.each([
		[
			"day",
			[
				["2031-04-06", 1_019],
				["2031-04-05", 122],
			],
		],
		[
			"agent",
			[
				["web:a", 1_112],
				["api:b", 16],
				["web:c", 13],
			],
		],
		[
			"project",
			[
				["web", 1_125],
				["api", 16],
			],
		],
		[
			"account",
			[
				["work", 1_128],
				["web:c", 13],
			],
		],
	] as const)("is summed by %s", (by, expected) => {
		expect(sumUsage(ROWS, by).map(({ name, tokens }) => [name, tokens])).toEqual(expected);
	});

	test("has the same total in every grouping", () => {
		for (const by of USAGE_GROUPS) {
			const sums = sumUsage(ROWS, by);
			expect(sums.reduce((total, { tokens }) => total + tokens, 0)).toBe(1_141);
			expect(sums.reduce((total, { usd }) => total + (usd ?? 0), 0)).toBe(0.75);
		}
	});

	test("reports whether a cost is missing or incomplete", () => {
		expect(sumUsage(ROWS, "agent").map(({ usd, usd_incomplete: part }) => [usd, part])).toEqual([
			[0.75, false],
			[null, false],
			[null, false],
		]);
		expect(sumUsage(ROWS, "account")[0]).toMatchObject({ usd: 0.75, usd_incomplete: true });
	});
});

test("CSV quotes what needs it, and starts no formula", () => {
	const rows = [["a,b", 'say "x"', 1.5, null, "=1+1", "-x"]];
	expect(renderCsv(["n"], rows)).toBe('n\r\n"a,b","say ""x""",1.5,,\'=1+1,\'-x');
});

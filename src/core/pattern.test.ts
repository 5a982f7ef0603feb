import { describe, expect, test } from "vitest";
import { compilePattern, patternProblem } from "./pattern.js";

/**
 * Patterns that need exponential or polynomial time in a backtracking engine, with their worst input.
 */
const EVIL: readonly (readonly [pattern: string, input: (length: number) => string])[] = [
	["^(a+)+$", (length) => `${"a".repeat(length)}!`],
	["(x+x+)+y", (length) => "x".repeat(length)],
	["(.*)*=(.*)*;", (length) => "=".repeat(length)],
	["(a|a)*b", (length) => "a".repeat(length)],
	["\\s*,\\s*$", (length) => " ".repeat(length)],
];

describe("a pattern", () => {
	test.each(EVIL)("%s terminates on a long text", (source, input) => {
		const pattern = compilePattern(source, { ignoreCase: true, multiline: true });
		// A backtracking engine would take longer than any test timeout.
		expect(pattern.test(input(50_000))).toBe(false);
	});

	test("A6: is refused if one text could block the daemon, although its time is linear", () => {
		expect(patternProblem("[ab]{999}".repeat(50))).toContain("too large");
		expect(patternProblem("a".repeat(2_001))).toContain("longer than");
		expect(patternProblem("(?i)error|warn(ing)?|\\b\\d{1,3}(\\.\\d{1,3}){3}\\b")).toBeNull();
	});

	test("names itself when it cannot be used", () => {
		expect(() => compilePattern("busy(?!x)")).toThrow(
			'the pattern "busy(?!x)" cannot be used: lookaheads and lookbehinds are not supported',
		);
	});

	test("captures its first group", () => {
		expect(compilePattern("^/a/([^/-]+)-[^/]*?$").capture("/a/id-more")).toBe("id");
		expect(compilePattern("^/a/([^/-]+)$").capture("/b/id")).toBeNull();
	});

	test("treats the same characters as spaces as JavaScript does", () => {
		for (const space of [" ", "\t", "\n", "\v", "\u00a0", "\u2003", "\ufeff", "\u2028"]) {
			for (const source of ["^a\\sb$", "^a[\\s]b$"]) {
				expect(compilePattern(source).test(`a${space}b`), JSON.stringify(space)).toBe(true);
			}
			expect(compilePattern("^a\\Sb$").test(`a${space}b`)).toBe(false);
		}
	});

	test("reports where its matches end", () => {
		expect(compilePattern("^a+$", { multiline: true }).ends("aa\nb\na")).toEqual([2, 6]);
		expect(compilePattern("\\u{276f}|\\u2502").ends("❯│")).toEqual([1, 2]);
	});

	test("names a pattern that cannot be compiled, and why", () => {
		expect(() => compilePattern("(a")).toThrow(/the pattern "\(a" cannot be used: missing closing/);
	});

	test("A6: keeps a bounded number of compiled patterns, and compiles them again", () => {
		const first = compilePattern("^0$");
		expect(compilePattern("^0$")).toBe(first);
		for (let n = 1; n <= 1_000; n++) compilePattern(`^${n}$`);
		expect(compilePattern("^0$")).not.toBe(first);
		expect(compilePattern("^0$").test("0")).toBe(true);
	});

	test.each([
		["a(?=b)", /lookaheads/],
		["(?<!a)b", /lookbehinds/],
		["(a)\\1", /backreferences/],
		["(a", /missing closing/],
		["listening on port \\d+", null],
	])("%s is checked before it is used", (source, problem) => {
		if (problem === null) expect(patternProblem(source)).toBeNull();
		else expect(patternProblem(source)).toMatch(problem);
	});
});

import { describe, expect, test } from "vitest";
import { decideIgnored, parseGitignore } from "./gitignore.js";

const decide = (rules: string, path: string, isFolder = false) =>
	decideIgnored(parseGitignore(rules), path, isFolder);

describe("a rule of a .gitignore file", () => {
	test.each([
		["*.log", "a.log", true],
		["*.log", "deep/er/a.log", true],
		["*.log", "a.logs", null],
		["/a.log", "a.log", true],
		["/a.log", "b/a.log", null],
		["b/a.log", "b/a.log", true],
		["b/a.log", "c/b/a.log", null],
		["a/**/z", "a/z", true],
		["a/**/z", "a/b/c/z", true],
		["**/z", "z", true],
		["**/z", "a/b/z", true],
		["a/**", "a/b/c", true],
		["a/**", "a", null],
		["a?c", "abc", true],
		["a?c", "a/c", null],
		["a*c", "abbbc", true],
		["[a-c]x", "bx", true],
		["[!a-c]x", "bx", null],
		["[[:digit:]]*", "7up", true],
		["[]]x", "]x", true],
		["[a", "[a", null],
		["[\\]]x", "]x", true],
		["[a\\", "a", null],
		["[a-\\z]x", "mx", true],
		["[a-\\", "a", null],
		["[a-]x", "-x", true],
		["[[:nothing:]]x", "ax", null],
		["\\#x", "#x", true],
		["# x", "# x", null],
		["\\!x", "!x", true],
		["x  ", "x", true],
		["x\\ ", "x ", true],
		["x\r\ny", "x", true],
		["\uFEFFx", "x", true],
		["*\n!keep", "keep", false],
		["!keep\n*", "keep", true],
		["x\\", "x", null],
		["/", "x", null],
	])("%j decides about %j", (rules, path, expected) => {
		expect(decide(rules, path)).toBe(expected);
	});

	test("is skipped if it is longer than any path", () => {
		const name = "a".repeat(5_000);
		expect(decide(`${name}\nb`, name)).toBeNull();
		expect(decide(`${name}\nb`, "b")).toBe(true);
	});

	test("with a slash at its end is about folders", () => {
		expect(decide("build/", "build", true)).toBe(true);
		expect(decide("build/", "build")).toBeNull();
	});

	test("with many wildcards takes no longer to match", () => {
		const sinceMs = performance.now();
		expect(decide("*a".repeat(200), `${"a".repeat(4_000)}b`)).toBeNull();
		expect(decide(`${"**/a/".repeat(200)}b`, `${"a/".repeat(2_000)}c`)).toBeNull();
		expect(performance.now() - sinceMs).toBeLessThan(20_000);
	});
});

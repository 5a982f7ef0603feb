import { describe, expect, test } from "vitest";
import { checkAgentId, checkScopes, parseCount, parseScopes, parseTimeout } from "./arguments.js";

describe("durations", () => {
	test.each([
		["5s", 5_000],
		["0s", 0],
		["500ms", 500],
		[undefined, undefined],
	])("%s is accepted", (text, ms) => expect(parseTimeout(text)).toBe(ms));

	test.each(["5", "5 s", "-5s", "1.5s", "soon", "", "1m30s", "99999999999999999h"])(
		"%j is rejected with the correct form",
		(text) => {
			expect(() => parseTimeout(text)).toThrow(
				expect.objectContaining({ code: "usage", hint: expect.stringContaining("500ms, 10s") }),
			);
		},
	);
});

test.each(["-1", "1e3", "", "ten", "0x10", "9999999999999999"])("%j is not a count", (text) => {
	expect(() => parseCount(text, "--lines")).toThrow(`invalid value for --lines: \`${text}\``);
});

describe("ids and scopes", () => {
	test("a project instead of an agent gets its own error", () => {
		expect(checkAgentId("web:coder")).toBe("web:coder");
		expect(() => checkAgentId("web")).toThrow(
			expect.objectContaining({ hint: expect.stringContaining("`reeve ps web`") }),
		);
		for (const bad of ["", "Web:coder", "web:", ":coder", "web:coder:x", "../web:a", "web:a\n"]) {
			expect(() => checkAgentId(bad)).toThrow("is not a valid agent id");
		}
	});

	test("a missing scope is a usage error that lists the valid ones", () => {
		expect(() => parseScopes([], undefined, "down")).toThrow(
			expect.objectContaining({ code: "usage", hint: expect.stringContaining("--all") }),
		);
		expect(() => parseScopes(["web"], true, "down")).toThrow("cannot be combined");
		expect(parseScopes([], true, "down")).toEqual(["*"]);
	});

	test("scopes are checked, and duplicates are dropped", () => {
		expect(checkScopes(["web", "api:db", "web"])).toEqual(["web", "api:db"]);
		expect(checkScopes(["box/*", "box/web"])).toEqual(["box/*", "box/web"]);
		for (const bad of ["*", "", "box/", "/web", "a/b/c", "a:b:c"]) {
			expect(() => checkScopes([bad])).toThrow("is not a valid scope");
		}
	});
});

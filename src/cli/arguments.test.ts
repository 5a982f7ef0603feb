import { describe, expect, test } from "vitest";
import {
	checkAgentId,
	checkScopes,
	parseCount,
	parseScopes,
	parseTimeout,
	selectIds,
} from "./arguments.js";

describe("durations", () => {
	test.each([
		["5s", 5_000],
		["0s", 0],
		["500ms", 500],
		[undefined, undefined],
	])("%s is taken", (text, ms) => expect(parseTimeout(text)).toBe(ms));

	test.each(["5", "5 s", "-5s", "1.5s", "soon", "", "1m30s", "99999999999999999h"])(
		"%j is refused with what would be right",
		(text) => {
			expect(() => parseTimeout(text)).toThrow(
				expect.objectContaining({ code: "usage", hint: expect.stringContaining("500ms, 10s") }),
			);
		},
	);
});

test.each(["-1", "1e3", "", "ten", "0x10", "9999999999999999"])("%j is not a count", (text) => {
	expect(() => parseCount(text, "--lines")).toThrow(`--lines cannot be \`${text}\``);
});

describe("ids and scopes", () => {
	test("a project where an agent is asked for is told apart from nonsense", () => {
		expect(checkAgentId("web:coder")).toBe("web:coder");
		expect(() => checkAgentId("web")).toThrow(
			expect.objectContaining({ hint: expect.stringContaining("`reeve ps web`") }),
		);
		for (const bad of ["", "Web:coder", "web:", ":coder", "web:coder:x", "../web:a", "web:a\n"]) {
			expect(() => checkAgentId(bad)).toThrow("is not the id of an agent");
		}
	});

	test("no scope is a usage error that shows what can be said", () => {
		expect(() => parseScopes([], undefined, "down")).toThrow(
			expect.objectContaining({ code: "usage", hint: expect.stringContaining("--all") }),
		);
		expect(() => parseScopes(["web"], true, "down")).toThrow("not both");
		expect(parseScopes([], true, "down")).toEqual(["*"]);
	});

	test("scopes are checked, and each is taken once", () => {
		expect(checkScopes(["web", "api:db", "web"])).toEqual(["web", "api:db"]);
		for (const bad of ["*", "", "web/coder", "a:b:c"]) {
			expect(() => checkScopes([bad])).toThrow("is not a scope");
		}
	});

	test("scopes choose agents in the order of the fleet", () => {
		const ids = ["web:coder", "web:db", "webs:x", "api:git"];
		expect(selectIds(["api", "web"], ids, "it")).toEqual(["web:coder", "web:db", "api:git"]);
		expect(selectIds(["*"], [], "it")).toEqual([]);
		expect(selectIds(["web:db"], ids, "it")).toEqual(["web:db"]);
	});

	test("one that chooses nothing says what was meant, or what there is", () => {
		const ids = Array.from({ length: 20 }, (_, at) => `web:coder-${at}`);
		const hint = (text: string) =>
			expect.objectContaining({ code: "agent_not_found", hint: expect.stringContaining(text) });
		expect(() => selectIds(["wbe"], ids, "it")).toThrow(hint("Did you mean web?"));
		expect(() => selectIds(["web:codr-3"], ids, "it")).toThrow(hint("Did you mean web:coder-3?"));
		expect(() => selectIds(["other:thing"], ids, "it")).toThrow(hint("and 8 more"));
		expect(() => selectIds(["web"], [], "it")).toThrow(hint("It has no agents."));
	});
});

import { describe, expect, test } from "vitest";
import { resolveScopes, resolveToken, selectIds } from "./resolve.js";

describe("scopes", () => {
	test("scopes choose agents in the order of the fleet", () => {
		const ids = ["web:coder", "web:db", "webs:x", "api:git"];
		expect(selectIds(["api", "web"], ids, "it")).toEqual(["web:coder", "web:db", "api:git"]);
		expect(selectIds(["*"], [], "it")).toEqual([]);
		expect(selectIds(["web:db"], ids, "it")).toEqual(["web:db"]);
	});

	test("one without a match suggests the closest one, or lists all", () => {
		const ids = Array.from({ length: 20 }, (_, at) => `web:coder-${at}`);
		const hint = (text: string) =>
			expect.objectContaining({ code: "agent_not_found", hint: expect.stringContaining(text) });
		expect(() => selectIds(["wbe"], ids, "it")).toThrow(hint("Did you mean web?"));
		expect(() => selectIds(["web:codr-3"], ids, "it")).toThrow(hint("Did you mean web:coder-3?"));
		expect(() => selectIds(["other:thing"], ids, "it")).toThrow(hint("and 8 more"));
		expect(() => selectIds(["web"], [], "it")).toThrow(hint("It has no agents."));
	});

	test("an agent's name, or its beginning, is enough where it names one agent", () => {
		const ids = ["web:coder", "web:db", "api:git", "api:db", "api:tester"];
		expect(resolveScopes(["coder", "git", "web"], ids, "it")).toEqual([
			"web:coder",
			"api:git",
			"web",
		]);
		expect(resolveScopes(["cod", "web:coder", "test"], ids, "it")).toEqual([
			"web:coder",
			"api:tester",
		]);
	});

	test("a name that several agents have is refused with the candidates", () => {
		const ids = ["web:coder", "web:db", "api:db", "api:database"];
		expect(() => resolveScopes(["db"], ids, "it")).toThrow(
			"`db` is ambiguous, it matches 2 agents: web:db, api:db",
		);
		expect(() => resolveScopes(["d"], ids, "it")).toThrow("is ambiguous, it matches 3 agents");
	});

	test("a project comes before an agent of the same name, and a full id is exact", () => {
		const ids = ["web:coder", "api:web", "api:coder-2"];
		expect(resolveScopes(["web"], ids, "it")).toEqual(["web"]);
		expect(() => resolveScopes(["api:coder"], ids, "it")).toThrow("it has no agent api:coder");
	});
});

test("a token is found by its id, its name or the beginning of its id", () => {
	const tokens = [
		{ id: "abc123", name: "ci" },
		{ id: "abd456", name: null },
	];
	expect(resolveToken("ci", tokens)).toBe("abc123");
	expect(resolveToken("abd", tokens)).toBe("abd456");
	expect(resolveToken("nothing", tokens)).toBe("nothing");
	expect(() => resolveToken("ab", tokens)).toThrow("abc123 (ci), abd456");
});

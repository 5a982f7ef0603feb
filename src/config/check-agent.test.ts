import { describe, expect, test } from "vitest";
import { parseFleet } from "./parse-fleet.js";

const CONTEXT = { env: {}, homeDir: "/home/ada", baseDir: "/srv/fleet" };

/** The problems of an agent with these keys, as text. */
function problemsOf(keys: string): readonly string[] {
	const text = `version: 1\nprojects: { p: { agents: { a: { ${keys} } } } }\n`;
	const parsed = parseFleet(text, "reeve.yaml", CONTEXT);
	return parsed.ok ? [] : parsed.problems.map(({ message }) => message);
}

describe("a budget", () => {
	test.each([
		"adapter: claude, budget: { tokens_per_day: 20000000 }",
		"adapter: pi, budget: { tokens_per_day: 5, usd_per_day: 0.5 }",
		"kind: call, adapter: claude, budget: { usd_per_day: 5 }",
	])("that can be enforced is accepted: %s", (keys) => {
		expect(problemsOf(keys)).toEqual([]);
	});

	test.each([
		["adapter: claude, budget: {}", "the budget has no limit"],
		["command: [x], budget: { tokens_per_day: 5 }", "does not report usage"],
		[
			"adapter: claude, budget: { usd_per_day: 5 }",
			"a session of `claude` does not report its cost",
		],
		["kind: call, adapter: codex, budget: { usd_per_day: 5 }", "a call of `codex` does not report"],
		["adapter: pi, budget: { usd_per_day: $5 }", "`$5` is not a number above 0"],
		["adapter: pi, budget: { usd_per_day: 0 }", "is not a number above 0"],
		["adapter: pi, budget: { tokens_per_day: 0 }", "0"],
		["kind: worker, command: [x], budget: { tokens_per_day: 5 }", "budget"],
	])("that cannot be enforced is rejected: %s", (keys, message) => {
		expect(problemsOf(keys)).toEqual([expect.stringContaining(message)]);
	});
});

describe("an agent CLI in a session", () => {
	test.each(["claude", "codex", "gemini", "opencode", "pi", "aider"])(
		"%s needs a terminal",
		(cli) => {
			expect(problemsOf(`adapter: ${cli}, terminal: false`)).toEqual([
				`sessions of \`${cli}\` need a terminal`,
			]);
			expect(problemsOf(`adapter: ${cli}, terminal: true`)).toEqual([]);
		},
	);

	test("is not just any program", () => {
		expect(problemsOf("command: [x], terminal: false")).toEqual([]);
	});
});

describe("the steps after a stall", () => {
	test.each([
		["steps: [nudge, nudge]", "`nudge` appears twice in a row"],
		['nudge: ""', "the message is empty"],
		['nudge: "  "', "the message is empty"],
	])("has at least one step, and no step twice in a row: %s", (keys, message) => {
		expect(problemsOf(`adapter: claude, stall: { ${keys} }`)).toEqual([
			expect.stringContaining(message),
		]);
	});

	test("may repeat a step later", () => {
		expect(problemsOf("adapter: claude, stall: { steps: [nudge, interrupt, nudge] }")).toEqual([]);
	});
});

describe("a lease", () => {
	test.each(["5s", "5999ms"])("is long enough to end the agent before it is over: %s", (lease) => {
		expect(problemsOf(`command: [x], placement: { lease: ${lease} }`)).toEqual([
			expect.stringContaining("the lease is too short"),
		]);
	});

	test("of 6s is long enough, and belongs to agents that are placed", () => {
		expect(problemsOf("command: [x], placement: { lease: 6s }")).toEqual([]);
		expect(problemsOf("command: [x], placement: {}")).toEqual([]);
		expect(problemsOf("kind: worker, command: [x], placement: {}")).not.toEqual([]);
	});

	test("is that of a session: the tasks of a call agent have none", () => {
		expect(problemsOf("kind: call, command: [x], placement: { labels: { zone: a } }")).toEqual([]);
		for (const key of ["lease: 10s", "on_lost: ask"]) {
			expect(problemsOf(`kind: call, command: [x], placement: { ${key} }`)).toEqual([
				expect.stringContaining("only session agents"),
			]);
		}
	});
});

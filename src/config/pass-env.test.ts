import { describe, expect, it } from "vitest";
import { compareFleet } from "./diff.js";
import { parseFleet } from "./parse-fleet.js";
import type { FleetSpec } from "./spec.js";

const parse = (agent: string, env: Record<string, string> = {}, defaults = "") =>
	parseFleet(
		`version: 1\n${defaults}\nprojects:\n  p:\n    agents:\n      a: { command: [x], ${agent} }\n`,
		"reeve.yaml",
		{ env, homeDir: "/home/ada", baseDir: "/srv" },
	);

function fleetOf(agent: string, env: Record<string, string> = {}, defaults = ""): FleetSpec {
	const parsed = parse(agent, env, defaults);
	if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
	return parsed.fleet;
}

describe("pass_env", () => {
	it("takes values from the caller's shell, and `env` wins", () => {
		const shell = { KEY: "shell", OTHER: "shell" };
		const defaults = "defaults: { pass_env: [KEY, OTHER] }";
		const [spec] = fleetOf("env: { OTHER: mine }", shell, defaults).agents;
		expect(spec).toMatchObject({ passEnv: ["KEY"], env: { KEY: "shell", OTHER: "mine" } });
	});

	it("lets an agent leave out a variable of `defaults`", () => {
		const [spec] = fleetOf(
			"env: { KEY: null }",
			{ KEY: "x" },
			"defaults: { pass_env: [KEY] }",
		).agents;
		expect(spec?.env).toEqual({ KEY: null });
		expect(spec).not.toHaveProperty("passEnv");
	});

	it("warns where a variable is listed that the shell does not set", () => {
		const parsed = parse("pass_env: [KEY, NOPE]", { KEY: "x" });
		expect(parsed).toMatchObject({
			ok: true,
			warnings: [{ line: 6, column: 42, path: "projects.p.agents.a.pass_env[1]" }],
		});
		expect(parsed.ok && parsed.warnings[0]?.message).toBe("NOPE is not set in this shell");
	});

	it.each([
		["pass_env: [REEVE_HOME]", "`REEVE_HOME` cannot be passed"],
		["pass_env: [KEY=secret]", "`KEY` has a value"],
		["pass_env: [my-key]", "not a valid variable name"],
		["env: { REEVE_HOME: x }", "`REEVE_HOME` cannot be set"],
	])("refuses %s", (agent, words) => {
		const parsed = parse(agent);
		expect(parsed.ok ? "" : parsed.problems[0]?.message).toContain(words);
	});
});

describe("a caller without the values", () => {
	const before = fleetOf("pass_env: [KEY]", { KEY: "old" });

	it("keeps those that are recorded", () => {
		const { fleet, changes } = compareFleet(before, fleetOf("pass_env: [KEY, NEW]"));
		expect(fleet.agents[0]?.env).toEqual({ KEY: "old" });
		expect(changes[0]?.keys).toEqual(["pass_env"]);
	});

	it("drops a value that is no longer passed", () => {
		const { fleet } = compareFleet(before, fleetOf("env: {}"));
		expect(fleet.agents[0]?.env).toEqual({});
		const fromEnv = fleetOf("env: { KEY: written }");
		expect(compareFleet(fromEnv, fleetOf("pass_env: [KEY]")).fleet.agents[0]?.env).toEqual({});
	});

	it("changes an agent whose value is another one", () => {
		const { changes } = compareFleet(before, fleetOf("pass_env: [KEY]", { KEY: "new" }));
		expect(changes).toEqual([{ id: "p:a", change: "change", keys: ["env.KEY"] }]);
	});
});

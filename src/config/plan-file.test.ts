import { describe, expect, it } from "vitest";
import { parsePlan } from "./plan-file.js";
import { renderProblem } from "./problem.js";

function problemsIn(text: string): string[] {
	const parsed = parsePlan(text, "plan.yaml");
	if (parsed.ok) throw new Error("expected problems");
	return parsed.problems.map((problem) => renderProblem(problem).split("\n")[0] ?? "");
}

describe("parsePlan", () => {
	it("reads tasks in the format of the API and leaves references to the engine", () => {
		const text = `
name: release
on_failure: continue
tasks:
  fetch: { agent: web:git, action: fetch, payload: { depth: 1, ref: main } }
`;
		expect(parsePlan(text, "plan.yaml")).toEqual({
			ok: true,
			plan: {
				name: "release",
				on_failure: "continue",
				tasks: { fetch: { agent: "web:git", action: "fetch", payload: { depth: 1, ref: "main" } } },
			},
		});
	});

	it("reads durations like the fleet file, and leaves references unchanged", () => {
		const text = [
			"tasks:",
			"  a: { agent: web:git, action: go }",
			"  b:",
			"    agent: web:git",
			"    action: go",
			"    depends_on: [a]",
			"    timeout: 2m",
			"    max_attempts: 1",
			"    priority: -3",
			"    idempotent: false",
			"    payload: ${tasks.a.result.url}",
		].join("\n");
		const parsed = parsePlan(text, "plan.yaml");
		expect(parsed).toMatchObject({
			ok: true,
			plan: {
				on_failure: "fail_fast",
				tasks: {
					b: {
						depends_on: ["a"],
						timeout_ms: 120_000,
						max_attempts: 1,
						priority: -3,
						idempotent: false,
						payload: "${tasks.a.result.url}",
					},
				},
			},
		});
	});

	it("finds everything that is wrong in one pass, each at its place", () => {
		const text = [
			"on_failure: maybe",
			"taks: {}",
			"tasks:",
			"  Fetch: { agent: git, action: go }",
			"  b: { agent: web:git, actoin: go, timeout: 2 }",
			"  c: 5",
		].join("\n");
		expect(problemsIn(text)).toEqual([
			"plan.yaml:1:13: on_failure: `maybe` is not valid here",
			"plan.yaml:2:1: taks: unknown key `taks`",
			"plan.yaml:4:3: tasks.Fetch: `Fetch` is not a valid task name",
			"plan.yaml:4:19: tasks.Fetch.agent: `git` is not valid here",
			"plan.yaml:5:3: tasks.b.action: required key is missing",
			"plan.yaml:5:24: tasks.b.actoin: unknown key `actoin`",
			"plan.yaml:5:45: tasks.b.timeout: `2` is not valid here",
			"plan.yaml:6:6: tasks.c: this is not a task",
		]);
	});

	it("finds tasks that cannot run: unknown tasks, cycles, unknown results", () => {
		const task = "agent: web:git, action: go";
		const text = [
			"tasks:",
			`  a: { ${task}, depends_on: [b] }`,
			`  b: { ${task}, depends_on: [a, bb] }`,
			`  c: { ${task}, payload: "\${tasks.a.result} \${HOME}" }`,
		].join("\n");
		expect(problemsIn(text)).toEqual([
			expect.stringContaining("plan.yaml:2:48: tasks.a.depends_on: circular dependency: a → b → a"),
			expect.stringContaining("unknown task `bb`"),
			expect.stringContaining("the task uses the result of `a`"),
			expect.stringContaining("${HOME} is not a reference"),
		]);
	});

	it("rejects input that is not a plan", () => {
		expect(problemsIn("- 1")).toEqual(["plan.yaml:1:1: this is not a plan"]);
		expect(problemsIn("name: x")).toEqual(["plan.yaml:1:1: tasks: required key is missing"]);
		expect(problemsIn("")).toEqual(["plan.yaml:1:1: the file is empty"]);
	});
});

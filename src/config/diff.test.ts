import { describe, expect, it } from "vitest";
import { AGENT_KINDS } from "../core/states.js";
import { diffFleets, keyPathOf, leavesOf } from "./diff.js";
import { KINDS_OF_KEY } from "./kinds-of-key.js";
import { FLEET_OUTLINE, findOutline } from "./outline.js";
import { parseFleet } from "./parse-fleet.js";
import { renderProblem } from "./problem.js";
import type { AgentSpec } from "./spec.js";

const CONTEXT = { env: {}, homeDir: "/home/ada", baseDir: "/srv/fleet" };

const fleet = (agents: string) => {
	const text = `version: 1\ndefaults: { command: [x] }\nprojects: { p: { agents: { ${agents} } } }\n`;
	const parsed = parseFleet(text, "reeve.yaml", CONTEXT);
	if (!parsed.ok) throw new Error(parsed.problems.map(renderProblem).join("\n"));
	return parsed.fleet;
};

const keysChanged = (before: string, after: string) =>
	diffFleets(fleet(`a: { ${before} }`), fleet(`a: { ${after} }`))[0]?.keys;

describe("diffFleets", () => {
	it("lists agents in the new file's order, then those that are gone", () => {
		const before = fleet("gone: {}, same: {}, other: {}");
		const after = fleet("other: { args: [y] }, fresh: {}, same: {}");
		expect(diffFleets(before, after)).toEqual([
			{ id: "p:other", change: "change", keys: ["args"] },
			{ id: "p:fresh", change: "add", keys: [] },
			{ id: "p:same", change: "keep", keys: [] },
			{ id: "p:gone", change: "remove", keys: [] },
		]);
	});

	it.each(["session", "worker", "call"] as const)(
		"treats a key that an older Reeve did not know as its default (%s)",
		(kind) => {
			const now = fleet(`a: { kind: ${kind} }`);
			const before = {
				...now,
				agents: now.agents.map(({ id, project, name, adapter, profile, command, cwd }) => {
					const known = { id, project, name, adapter, profile, command, cwd, kind };
					return { ...known, envFile: null } as unknown as AgentSpec;
				}),
			};
			expect(diffFleets(before, now)[0]).toEqual({ id: "p:a", change: "keep", keys: [] });
			const other = fleet(`a: { kind: ${kind}, args: [y] }`);
			expect(diffFleets(before, other)[0]?.keys).toEqual(["args"]);
		},
	);

	it.each([
		["drain: { timeout: 1s }", "drain: { timeout: 2s }", ["drain.timeout"]],
		["crash_policy: { window: 1m }", "crash_policy: { window: 2m }", ["crash_policy.window"]],
		["", "crash_policy: { budget: { exits: 9 } }", ["crash_policy.budget.exits"]],
		["", "limits: { memory: 1GiB, cpu: 50% }", ["limits.memory", "limits.cpu"]],
		["env: { A: b }", "env: { A: null }", ["env.A"]],
		["env: { A: b, lowerCase: c }", "env: { A: b }", ["env.lowerCase"]],
		["", "env_file: .env", ["env_file"]],
		["", "on_clean_exit: stop", ["on_clean_exit"]],
		["args: [a, b]", "args: [b, a]", ["args"]],
		[
			"adapter: pi, budget: { tokens_per_day: 1 }",
			"adapter: pi, budget: { tokens_per_day: 2 }",
			["budget.tokens_per_day"],
		],
	])("%j to %j changes %j", (before, after, keys) => {
		expect(keysChanged(before, after)).toEqual(keys);
	});

	it("ignores the order of keys, and defaults that are written out", () => {
		expect(keysChanged("env: { A: a, B: b }", "env: { B: b, A: a }")).toEqual([]);
		expect(keysChanged("", "backend: auto, crash_policy: { window: 60s }")).toEqual([]);
	});

	it("names only keys that both kinds take when the kind changes", () => {
		expect(keysChanged("args: [a]", "kind: call")).toEqual(["kind", "args"]);
	});
});

describe("keyPathOf", () => {
	it.each(AGENT_KINDS)("finds the key in the schema for every value of a %s agent", (kind) => {
		// Present only if written, and only for CLIs that report their usage.
		const takes = KINDS_OF_KEY.budget.includes(kind);
		const budget = takes ? "adapter: pi, budget: { tokens_per_day: 1 }, " : "";
		const hibernate = kind === "session" ? "hibernate: { after: 1h }, " : "";
		const takesPlace = KINDS_OF_KEY.placement.includes(kind);
		const placement = takesPlace ? "placement: { labels: { zone: a } }, " : "";
		const health = KINDS_OF_KEY.health.includes(kind) ? "health: { port: 1 }, " : "";
		// Of programs only, which have no budget.
		const watch = KINDS_OF_KEY.watch.includes(kind) ? ", watch: [src]" : "";
		const { agents } = fleet(
			`a: { kind: ${kind}, ${budget}${health}${hibernate}${placement}pass_env: [A], env: { Some_NameMs: x } }, b: { kind: ${kind}, command: [x]${watch} }`,
		);
		const paths = agents.flatMap((spec) => [...leavesOf(spec).keys()].map(keyPathOf));
		for (const path of paths) {
			const outline = findOutline(FLEET_OUTLINE, ["projects", "p", "agents", "a", ...path]);
			expect([path, outline?.type]).not.toEqual([path, undefined]);
		}
		const taken = Object.entries(KINDS_OF_KEY).filter(([, kinds]) => kinds.includes(kind));
		expect(new Set(paths.map(([key]) => key))).toEqual(new Set(taken.map(([key]) => key)));
		expect(paths).toContainEqual(["env", "Some_NameMs"]);
	});
});

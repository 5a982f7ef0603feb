import { describe, expect, test } from "vitest";
import { parseFleet } from "./parse-fleet.js";
import {
	fleetFromJson,
	fleetSchema,
	fleetToJson,
	readStoredSpec,
	renderStoredSpec,
} from "./spec-schema.js";

const YAML = `version: 1
adapters:
  mine:
    command: [mine]
    env: { MY_MODE: "1" }
projects:
  p:
    agents:
      one: { adapter: mine, env: { CamelName: a, snake_name: b } }
      four: { adapter: claude, budget: { tokens_per_day: 5 } }
      two: { kind: worker, command: [w], workers: { max: 3 } }
      three: { kind: call, command: [c], timeout: 30s }
`;

function fleetOf() {
	const parsed = parseFleet(YAML, "reeve.yaml", { env: {}, homeDir: "/h", baseDir: "/b" });
	if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
	return parsed.fleet;
}

describe("a resolved fleet", () => {
	test("is unchanged after a round trip through JSON", () => {
		const sent = JSON.parse(JSON.stringify(fleetToJson(fleetOf())));
		expect(fleetFromJson(fleetSchema.parse(sent))).toEqual(fleetOf());
	});

	test("has keys in snake_case only, except names of variables", () => {
		const text = JSON.stringify(fleetToJson(fleetOf()));
		const keys = [...text.matchAll(/"(\w+)":/g)].map(([, key]) => key);
		const camel = keys.filter((key) => /[a-z][A-Z]/.test(key ?? ""));
		expect(new Set(camel)).toEqual(new Set(["CamelName"]));
	});

	test("with a wrong type is refused, with the path", () => {
		const sent = JSON.parse(JSON.stringify(fleetToJson(fleetOf())));
		sent.agents[3].timeout_ms = "30s";
		const { error } = fleetSchema.safeParse(sent);
		expect(error?.issues[0]?.path).toEqual(["agents", 3, "timeout_ms"]);
	});

	test("in camelCase, as earlier clients sent it, is refused", () => {
		expect(fleetSchema.safeParse(JSON.parse(JSON.stringify(fleetOf()))).success).toBe(false);
	});
});

describe("a stored spec", () => {
	test.each([0, 1, 2, 3])("is read back, agent %i", (index) => {
		const spec = fleetOf().agents[index];
		if (spec === undefined) throw new Error("no agent");
		const stored = JSON.parse(JSON.stringify(renderStoredSpec(spec)));
		expect(readStoredSpec(stored)).toEqual({ spec, problem: null });
	});

	test.each([0, 1, 2, 3])("of an earlier version, in camelCase, is read, agent %i", (index) => {
		const spec = fleetOf().agents[index];
		const stored = JSON.parse(JSON.stringify(spec));
		expect(readStoredSpec(stored)).toEqual({ spec, problem: null });
	});

	test("that is incomplete is used as it is, with the problem", () => {
		const { profile, ...rest } = fleetOf().agents[0] ?? {};
		const { spec, problem } = readStoredSpec(rest);
		expect(profile).not.toBeNull();
		expect(spec).toEqual(rest);
		expect(problem).toContain("profile");
	});
});

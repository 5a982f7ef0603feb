/** Properties of every file and every fleet, with random inputs. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { AGENT_KINDS } from "../core/states.js";
import { renderDuration } from "../core/units.js";
import { diffFleets } from "./diff.js";
import { KINDS_OF_KEY } from "./kinds-of-key.js";
import { parseFleet } from "./parse-fleet.js";
import { renderProblem } from "./problem.js";
import type { FleetSpec } from "./spec.js";

const CONTEXT = { env: { HOME: "/root" }, homeDir: "/root", baseDir: "/srv/fleet" };

const parse = (text: string) => parseFleet(text, "reeve.yaml", CONTEXT);

const fleetOf = (file: unknown): FleetSpec => {
	const parsed = parse(stringify(file));
	if (!parsed.ok) throw new Error(parsed.problems.map(renderProblem).join("\n"));
	return parsed.fleet;
};

const id = fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,10}$/);
const words = fc.string().filter((text) => !text.includes("${") && !text.includes("\0"));
const durationAbove = (minMs: number) =>
	fc.integer({ min: minMs, max: 10 ** 9 }).map(renderDuration);
const count = (max: number) => fc.integer({ min: 1, max });
const some = <T extends Record<string, fc.Arbitrary<unknown>>>(keys: T) =>
	fc.record(keys, { requiredKeys: [] });

/** Values that are valid for every agent, whatever else is set. */
const VALUES = {
	args: fc.array(words, { maxLength: 3 }),
	cwd: fc.constantFrom(".", "./a/b", "/abs", "~/home"),
	env_file: fc.constantFrom(".env", "~/.env"),
	env: fc.dictionary(fc.stringMatching(/^[A-Z_]{1,6}$/), fc.option(words)),
	limits: some({
		memory: count(1_000).map((n) => `${n}MiB`),
		cpu: count(800).map((n) => `${n}%`),
		pids: count(1_000),
	}),
	backend: fc.constantFrom("auto", "tmux", "pty"),
	on_clean_exit: fc.constantFrom("prompt", "restart", "stop"),
	drain: some({ timeout: durationAbove(0) }),
	crash_policy: some({
		window: durationAbove(1),
		flap_threshold: count(10),
		halt_threshold: count(50),
		transient_delay: durationAbove(0),
		jitter: fc.double({ min: 0, max: 1, noNaN: true }),
		permanent_exit_codes: fc.uniqueArray(count(255), { maxLength: 3 }),
	}),
	timeout: durationAbove(1),
	retry: some({ max_attempts: count(10), max_backoff: durationAbove(500) }),
	circuit_breaker: some({ failure_threshold: count(10), cooldown: durationAbove(0) }),
	concurrency: count(100),
};

/** The default budget cannot be reached within a window that is longer than its span. */
const sensible = ({ crash_policy: policy, ...rest }: Record<string, unknown>) =>
	policy === undefined
		? rest
		: { ...rest, crash_policy: { ...(policy as object), budget: { exits: 1 } } };

const agent = fc.tuple(fc.constantFrom(...AGENT_KINDS), some(VALUES)).map(([kind, values]) => {
	const taken = Object.entries(values).filter(([key]) =>
		KINDS_OF_KEY[key as keyof typeof VALUES].includes(kind),
	);
	return sensible({ kind, command: ["run"], ...Object.fromEntries(taken) });
});

const project = fc.record({ agents: fc.dictionary(id, agent, { maxKeys: 4 }) });

const fleetFile = fc.record({
	version: fc.constant(1),
	defaults: some(VALUES).map(sensible),
	projects: fc.dictionary(id, project, { maxKeys: 3 }),
});

/** Internal terms of the validator and of JavaScript, which mean nothing to the author of the file. */
const MACHINE_WORDS = /zod|invalid input|undefined|\[object/i;

describe("any text", () => {
	const texts = fc.oneof(
		fc.string({ unit: "binary" }),
		fc.string({ unit: fc.constantFrom(..."ab:- \n\t[]{}\"'&*!|>%@#,?}{$1") }),
		fc.json().map((json) => `version: 1\nprojects: ${json}`),
		fc.jsonValue().map((value) => stringify({ version: 1, defaults: value, projects: {} })),
		fc
			.dictionary(fc.constantFrom(...Object.keys(KINDS_OF_KEY), "x"), fc.jsonValue())
			.map((a) => stringify({ version: 1, projects: { p: { agents: { a } } } })),
	);

	it("gives a fleet or located problems, and never throws", () => {
		fc.assert(
			fc.property(texts, (text) => {
				const parsed = parse(text);
				if (parsed.ok) return;
				expect(parsed.problems.length).toBeGreaterThan(0);
				const lines = text.split("\n").length;
				for (const problem of parsed.problems) {
					expect(problem.line).toBeGreaterThanOrEqual(1);
					expect(problem.line).toBeLessThanOrEqual(lines + 1);
					expect(problem.column).toBeGreaterThanOrEqual(1);
					// Text of the file itself may be quoted, and random text may contain these terms.
					if (!MACHINE_WORDS.test(text)) {
						expect(renderProblem(problem)).not.toMatch(MACHINE_WORDS);
					}
				}
				const places = parsed.problems.map(({ line, column }) => line * 1e6 + column);
				expect(places).toEqual(places.toSorted((a, b) => a - b));
			}),
			{ numRuns: 500 },
		);
	});
});

describe("any valid fleet", () => {
	it("resolves to the same frozen specs every time", () => {
		fc.assert(
			fc.property(fleetFile, (file) => {
				const fleet = fleetOf(file);
				expect(fleetOf(file)).toEqual(fleet);
				expectFrozen(fleet);
				const written = Object.values(file.projects).flatMap(({ agents }) => Object.keys(agents));
				expect(fleet.agents.map(({ name }) => name).toSorted()).toEqual(written.toSorted());
				// The daemon stores specs as JSON.
				expect(JSON.parse(JSON.stringify(fleet))).toEqual(fleet);
			}),
		);
	});

	it("differs from itself in nothing", () => {
		fc.assert(
			fc.property(fleetFile, (file) => {
				const changes = diffFleets(fleetOf(file), fleetOf(file));
				expect(changes.every(({ change, keys }) => change === "keep" && keys.length === 0)).toBe(
					true,
				);
			}),
		);
	});

	it("differs from another in exactly the key that was changed", () => {
		const change = fc.constantFrom<[string, object]>(
			["args", { args: ["changed"] }],
			["env.ADDED_NAME", { env: { ADDED_NAME: "x" } }],
			["limits.pids", { limits: { pids: 4_321 } }],
			["command", { command: ["other"] }],
			["adapter", { adapter: "codex" }],
		);
		fc.assert(
			fc.property(agent, change, (base, [key, changed]) => {
				// An agent CLI cannot be a worker.
				fc.pre(key !== "adapter" || (base as { kind?: string }).kind !== "worker");
				const before = { env: {}, limits: {}, ...base } as Record<string, object>;
				const after = Object.fromEntries(
					Object.entries({ ...before, ...changed }).map(([name, value]) => {
						const merges = name === "env" || name === "limits";
						return [name, merges ? { ...before[name], ...value } : value];
					}),
				);
				const fileOf = (a: object) => ({ version: 1, projects: { p: { agents: { a } } } });
				expect(diffFleets(fleetOf(fileOf(before)), fleetOf(fileOf(after)))).toEqual([
					{ id: "p:a", change: "change", keys: [key] },
				]);
			}),
		);
	});
});

function expectFrozen(value: unknown): void {
	if (typeof value !== "object" || value === null) return;
	expect(Object.isFrozen(value)).toBe(true);
	for (const each of Object.values(value)) expectFrozen(each);
}

import { describe, expect, test } from "vitest";
import { liveOnce, renderFailure, simulate } from "./simulate.js";
import { core, WORLDS, type WorldName } from "./worlds.js";

/**
 * More than a million steps in all by default, from fixed seeds, so that a run is the same everywhere.
 * REEVE_SIM_STEPS asks for more, REEVE_SIM_SEED for one life or, with steps, for other seeds.
 */
const SHARE: Record<WorldName, number> = { crash: 0.6, breaker: 0.25, task: 0.15 };
const stepsAsked = readCount("REEVE_SIM_STEPS");
const seed = readCount("REEVE_SIM_SEED");
const steps = stepsAsked ?? 1_200_000;
const only = process.env["REEVE_SIM_WORLD"];

const names = (Object.keys(WORLDS) as WorldName[]).filter(
	(name) => only === undefined || name === only,
);
if (names.length === 0) {
	throw new Error(`REEVE_SIM_WORLD is ${only}; there are ${Object.keys(WORLDS).join(", ")}`);
}

/** A run with invalid options must not count as one without findings. */
function readCount(name: string): number | undefined {
	const text = process.env[name];
	if (text === undefined) return undefined;
	if (!/^\d{1,15}$/.test(text)) throw new Error(`${name} is "${text}", not a whole number`);
	return Number(text);
}

describe.each(names)("the %s world", (name) => {
	const replay = seed !== undefined && stepsAsked === undefined;

	if (replay) {
		test(`repeats the life of seed ${seed}`, () => {
			const life = liveOnce(WORLDS[name], core, seed);
			if ("invariant" in life) expect.fail(renderFailure(name, life));
			expect(life.steps).toBeGreaterThan(0);
		});
		return;
	}
	test("keeps every invariant in each of its lives", { timeout: 3_600_000 }, () => {
		const wanted = Math.ceil(steps * SHARE[name]);
		const run = simulate(WORLDS[name], core, { firstSeed: seed ?? 1, steps: wanted });
		if (run.failure !== null) expect.fail(renderFailure(name, run.failure));
		expect(run.steps).toBeGreaterThanOrEqual(wanted);
	});
});

test("the same seed always gives the same life", () => {
	for (const name of names) {
		expect(liveOnce(WORLDS[name], core, 7)).toEqual(liveOnce(WORLDS[name], core, 7));
	}
});

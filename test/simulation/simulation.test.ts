import { describe, expect, test } from "vitest";
import { liveOnce, renderFailure, simulate } from "./simulate.js";
import { core, WORLDS, type WorldName } from "./worlds.js";

/**
 * More than a million steps in all by default, from fixed seeds, so that a run is the same everywhere.
 * REEVE_SIM_STEPS asks for more, REEVE_SIM_SEED for one life or, with steps, for other seeds.
 */
const SHARE: Record<WorldName, number> = { crash: 0.6, breaker: 0.25, task: 0.15 };
const steps = Number(process.env["REEVE_SIM_STEPS"] ?? 1_200_000);
const seed = process.env["REEVE_SIM_SEED"];
const only = process.env["REEVE_SIM_WORLD"];

const names = (Object.keys(WORLDS) as WorldName[]).filter(
	(name) => only === undefined || name === only,
);

describe.each(names)("the %s world", (name) => {
	const replay = seed !== undefined && process.env["REEVE_SIM_STEPS"] === undefined;

	if (replay) {
		test(`lives the life of seed ${seed} again`, () => {
			const life = liveOnce(WORLDS[name], core, Number(seed));
			expect("invariant" in life ? renderFailure(name, life) : null).toBeNull();
		});
		return;
	}
	test("keeps every invariant in each of its lives", { timeout: 3_600_000 }, () => {
		const wanted = Math.ceil(steps * SHARE[name]);
		const run = simulate(WORLDS[name], core, { firstSeed: Number(seed ?? 1), steps: wanted });
		expect(run.failure === null ? null : renderFailure(name, run.failure)).toBeNull();
		expect(run.steps).toBeGreaterThanOrEqual(wanted);
	});
});

test("a life is the same whenever it is lived from the same seed", () => {
	for (const name of names) {
		expect(liveOnce(WORLDS[name], core, 7)).toEqual(liveOnce(WORLDS[name], core, 7));
	}
});

/**
 * Runs worlds from seeds. A world is one life of something under a policy, with all randomness
 * drawn from one seed; it checks invariants at every step. Whatever fails is reported with its
 * seed, and the same seed fails in the same way again.
 */

import { createRandom, type SeededRandom } from "../../src/testing/random.js";

/** The log of a world; the last lines are printed when an invariant breaks. */
export interface Trace {
	note(line: () => string): void;
	/** Stops the simulation when the condition does not hold. */
	check(holds: boolean, invariant: string, detail: () => string): void;
}

/** Runs one simulation and returns its number of steps. */
export type World<Policy> = (policy: Policy, random: SeededRandom, trace: Trace) => number;

export interface Failure {
	readonly seed: number;
	readonly invariant: string;
	readonly detail: string;
	readonly lastLines: readonly string[];
}

export interface Simulation {
	readonly steps: number;
	readonly lives: number;
	readonly failure: Failure | null;
}

const LINES_KEPT = 15;

class BrokenInvariant extends Error {
	readonly invariant: string;
	constructor(invariant: string, detail: string) {
		super(detail);
		this.invariant = invariant;
	}
}

/** Lives lives from `firstSeed` upwards until that many steps are done or an invariant breaks. */
export function simulate<Policy>(
	world: World<Policy>,
	policy: Policy,
	{ firstSeed, steps: wanted }: { firstSeed: number; steps: number },
): Simulation {
	let steps = 0;
	let lives = 0;
	for (let seed = firstSeed; steps < wanted; seed++) {
		const life = liveOnce(world, policy, seed);
		lives++;
		if ("invariant" in life) return { steps, lives, failure: life };
		steps += life.steps;
	}
	return { steps, lives, failure: null };
}

export function liveOnce<Policy>(
	world: World<Policy>,
	policy: Policy,
	seed: number,
): Failure | { readonly steps: number } {
	const lines: (() => string)[] = [];
	const trace: Trace = {
		note(line) {
			lines.push(line);
			if (lines.length > LINES_KEPT) lines.shift();
		},
		check(holds, invariant, detail) {
			if (!holds) throw new BrokenInvariant(invariant, detail());
		},
	};
	try {
		return { steps: world(policy, createRandom(seed), trace) };
	} catch (error) {
		const invariant = error instanceof BrokenInvariant ? error.invariant : "the policy threw";
		const detail = error instanceof Error ? error.message : String(error);
		return { seed, invariant, detail, lastLines: lines.map((line) => line()) };
	}
}

export function renderFailure(worldName: string, failure: Failure): string {
	return [
		`${worldName} world, seed ${failure.seed}: ${failure.invariant}`,
		`  ${failure.detail}`,
		...failure.lastLines.map((line) => `    ${line}`),
		`  replay: REEVE_SIM_WORLD=${worldName} REEVE_SIM_SEED=${failure.seed} npm run simulate`,
	].join("\n");
}

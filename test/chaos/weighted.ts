/** A random choice, in proportion to the weights. */

import type { SeededRandom } from "../../src/testing/random.js";

export type Weighted<T> = readonly [weight: number, item: T];

export function pickWeighted<T>(random: SeededRandom, choices: readonly Weighted<T>[]): T {
	const dice = random.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
	let passed = 0;
	for (const [weight, item] of choices) {
		passed += weight;
		if (dice < passed) return item;
	}
	throw new Error("nothing to choose from");
}

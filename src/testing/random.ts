/** Random numbers from a seed: the same seed gives the same run, on every machine. */

/** Random numbers that are reproducible from a seed. */
export interface SeededRandom {
	/** In [0, 1). */
	next(): number;
	/** A whole number from `low` to `high`, inclusive. */
	int(low: number, high: number): number;
	/** True with this probability. */
	chance(probability: number): boolean;
	pick<T>(choices: readonly [T, ...T[]]): T;
}

/** Creates a random number generator that is reproducible from its seed. */
export function createRandom(seed: number): SeededRandom {
	// Mulberry32: small, fast and well spread. Not for secrets.
	let state = seed >>> 0;
	function next(): number {
		state = (state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	}
	const int = (low: number, high: number) => low + Math.floor(next() * (high - low + 1));
	return {
		next,
		int,
		chance: (probability) => next() < probability,
		pick: (choices) => choices[int(0, choices.length - 1)] ?? choices[0],
	};
}

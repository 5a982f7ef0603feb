/** Suggests the closest valid word for an invalid one. */

/** More candidates than this are not compared (A6). */
const CANDIDATES_MAX = 1_000;

/** The nearest candidate, or null if none is close. The first one wins a tie. */
export function nearest(word: string, candidates: Iterable<string>): string | null {
	const wanted = normalise(word);
	let best: string | null = null;
	let bestDistance = Number.POSITIVE_INFINITY;
	let compared = 0;
	for (const candidate of candidates) {
		if (compared++ >= CANDIDATES_MAX) break;
		const known = normalise(candidate);
		const longest = Math.max(wanted.length, known.length);
		// A third of the letters may differ, but never so many that anything matches.
		const tolerance = Math.min(3, Math.max(1, Math.floor(longest / 3)));
		if (Math.abs(wanted.length - known.length) > tolerance) continue;
		const distance = editDistance(wanted, known);
		if (distance <= tolerance && distance < longest && distance < bestDistance) {
			best = candidate;
			bestDistance = distance;
		}
	}
	return best;
}

/** `maxAttempts`, `max-attempts` and `MAX_ATTEMPTS` are variants of the same word. */
function normalise(word: string): string {
	return word
		.replace(/([a-z])([A-Z])/g, "$1_$2")
		.replaceAll("-", "_")
		.toLowerCase();
}

/**
 * The number of letters to insert, remove, replace or swap with their neighbour (Damerau-Levenshtein,
 * each letter changed once).
 */
export function editDistance(a: string, b: string): number {
	let beforeLast: number[] = [];
	let last = Array.from({ length: b.length + 1 }, (_, column) => column);
	for (let row = 1; row <= a.length; row++) {
		const current = [row];
		for (let column = 1; column <= b.length; column++) {
			const same = a[row - 1] === b[column - 1];
			const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
			const options = [
				(last[column] as number) + 1,
				(current[column - 1] as number) + 1,
				(last[column - 1] as number) + (same ? 0 : 1),
			];
			if (row > 1 && column > 1 && swapped) options.push((beforeLast[column - 2] as number) + 1);
			current.push(Math.min(...options));
		}
		beforeLast = last;
		last = current;
	}
	return last[b.length] as number;
}

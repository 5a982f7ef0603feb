/**
 * Which blocks of a text can contain a searched text: a Bloom filter of the block's trigrams, three
 * consecutive characters in lower case. A filter never misses a text; it may be wrong the other way.
 */

export const FILTER_BYTES = 4_096;
const HASH_BITS = 15;
/** More than these prove little more. */
const WANTED_MAX = 32;

export function createFilter(): Uint8Array {
	return new Uint8Array(FILTER_BYTES);
}

/** Adds the trigrams of a text. */
export function addToFilter(filter: Uint8Array, text: string): void {
	const lower = foldCase(text);
	for (let at = 0; at + 2 < lower.length; at++) {
		const bit = hashAt(lower, at);
		filter[bit >> 3] = (filter[bit >> 3] ?? 0) | (1 << (bit & 7));
	}
}

/** The bits that a filter of a block with this text has; empty for a text of less than three characters. */
export function filterBits(text: string): readonly number[] {
	const lower = foldCase(text);
	const bits = new Set<number>();
	for (let at = 0; at + 2 < lower.length && bits.size < WANTED_MAX; at++)
		bits.add(hashAt(lower, at));
	return [...bits];
}

/** False only if the block cannot contain the text. */
export function mayContain(filter: Uint8Array, bits: readonly number[]): boolean {
	return bits.every((bit) => ((filter[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0);
}

/** For comparisons: letters in lower case. */
export function foldCase(text: string): string {
	return text.toLowerCase();
}

function hashAt(text: string, at: number): number {
	const mixed =
		Math.imul(text.charCodeAt(at), 0x9e3779b1) ^
		Math.imul(text.charCodeAt(at + 1), 0x85ebca6b) ^
		Math.imul(text.charCodeAt(at + 2), 0xc2b2ae35);
	return mixed >>> (32 - HASH_BITS);
}

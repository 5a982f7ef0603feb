import fc from "fast-check";
import { expect, test } from "vitest";
import { addToFilter, createFilter, filterBits, mayContain } from "./search-filter.js";

function filterOf(...texts: readonly string[]): Uint8Array {
	const filter = createFilter();
	for (const text of texts) addToFilter(filter, text);
	return filter;
}

test("a filter never misses a text that the block contains", () => {
	const parts = fc.tuple(
		fc.string({ unit: "grapheme" }),
		fc.string({ unit: "grapheme" }),
		fc.string(),
	);
	fc.assert(
		fc.property(parts, ([before, wanted, after]) => {
			const filter = filterOf("other", before + wanted + after);
			expect(mayContain(filter, filterBits(wanted))).toBe(true);
		}),
	);
});

test("a filter excludes most other texts, and ignores case", () => {
	const filter = filterOf("GET /api/users 200 in 12 ms", "connection timeout, retrying");
	expect(mayContain(filter, filterBits("TIMEOUT"))).toBe(true);
	expect(
		["segfault", "timeouts", "500 in"].map((each) => mayContain(filter, filterBits(each))),
	).toEqual([false, false, false]);
});

test("a text of two characters may be anywhere", () => {
	expect(filterBits("ab")).toEqual([]);
	expect(mayContain(createFilter(), [])).toBe(true);
	addToFilter(createFilter(), "ab");
});

test("a long text is checked by its first trigrams only", () => {
	expect(filterBits("abcdefghijklmnopqrstuvwxyz0123456789".repeat(9)).length).toBe(32);
});

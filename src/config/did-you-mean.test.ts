import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { editDistance, nearest } from "./did-you-mean.js";

const KEYS = ["command", "args", "cwd", "env", "env_file", "timeout", "max_attempts"];

describe("nearest", () => {
	it.each([
		["comand", "command"],
		["ocmmand", "command"],
		["Timeout", "timeout"],
		["maxAttempts", "max_attempts"],
		["max-attempts", "max_attempts"],
		["env_fil", "env_file"],
		["cwdd", "cwd"],
		["arg", "args"],
	])("corrects %s to %s", (slip, meant) => {
		expect(nearest(slip, KEYS)).toBe(meant);
	});

	it.each(["", "x", "zzz", "restart_policy", "k".repeat(100_000)])(
		"suggests nothing for a word without a near match",
		(word) => {
			expect(nearest(word, KEYS)).toBeNull();
		},
	);

	it("suggests the first of two equally near words", () => {
		expect(nearest("dd", ["db", "dc"])).toBe("db");
	});

	it("finds every word that is possible", () => {
		fc.assert(fc.property(fc.constantFrom(...KEYS), (key) => nearest(key, KEYS) === key));
	});
});

describe("editDistance", () => {
	it("counts a swap of neighbours as one slip", () => {
		expect(editDistance("sesison", "session")).toBe(1);
	});

	it("is symmetric, zero only for equal words, and at most the longer length", () => {
		const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 8 });
		fc.assert(
			fc.property(word, word, (a, b) => {
				const distance = editDistance(a, b);
				expect(distance).toBe(editDistance(b, a));
				expect(distance === 0).toBe(a === b);
				expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
			}),
		);
	});
});

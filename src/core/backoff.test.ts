import fc from "fast-check";
import { expect, test } from "vitest";
import { backoffDelayMs } from "./backoff.js";

test("without jitter the delay doubles from the base to the cap", () => {
	const settings = { initialMs: 500, capMs: 5_000, jitter: 0 };
	expect([1, 2, 3, 4, 5, 6, 5_000].map((n) => backoffDelayMs(settings, n, 0.9))).toEqual([
		500, 1_000, 2_000, 4_000, 5_000, 5_000, 5_000,
	]);
});

test("jitter spreads delays upwards, and at the cap downwards, so that those drift apart too", () => {
	const settings = { initialMs: 500, capMs: 5_000, jitter: 0.2 };
	const range = (attempt: number) => [0, 0.999999].map((r) => backoffDelayMs(settings, attempt, r));
	expect(range(1)).toEqual([500, 600]);
	expect(range(2)).toEqual([1_000, 1_200]);
	expect(range(9)).toEqual([4_167, 5_000]);
});

test("a base above the cap is the cap, and attempt numbers start at 1", () => {
	expect(backoffDelayMs({ initialMs: 5_000, capMs: 500, jitter: 0.5 }, 3, 0.5)).toBe(500);
	expect(backoffDelayMs({ initialMs: 500, capMs: 5_000, jitter: 0 }, 0, 0)).toBe(500);
});

test("S5 base ≤ delay ≤ cap, for any attempt, jitter and random number", () => {
	const settings = fc
		.record({
			initialMs: fc.nat(100_000),
			more: fc.nat(1_000_000),
			jitter: fc.double({ min: 0, max: 1, noNaN: true }),
		})
		.map(({ initialMs, more, jitter }) => ({ initialMs, capMs: initialMs + more, jitter }));
	const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
	fc.assert(
		fc.property(settings, fc.integer({ min: 1, max: 10_000 }), random, (chosen, attempt, r) => {
			const delayMs = backoffDelayMs(chosen, attempt, r);
			expect(delayMs).toBeGreaterThanOrEqual(chosen.initialMs);
			expect(delayMs).toBeLessThanOrEqual(chosen.capMs);
		}),
	);
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ATTEMPT_ERRORS, type AttemptError, type Outcome } from "./outcome.js";
import { DEFAULT_RETRY, decideRetry, longestTaskMs, RETRY_AFTER_MS_MAX } from "./retry.js";

const failed = (error: AttemptError, retryAfterMs: number | null = null): Outcome => ({
	ok: false,
	error,
	reason: "as reported",
	retryAfterMs,
});
const decide = (attempt: number, outcome: Outcome, more = {}) =>
	decideRetry({ attempt, outcome, idempotent: true, random: 0, ...more }, DEFAULT_RETRY);

describe("a failed attempt", () => {
	test("is tried again after 500, 1000, 2000, 4000, 5000 ms without jitter", () => {
		const settings = { ...DEFAULT_RETRY, maxAttempts: 6, jitter: 0 };
		const delays = [1, 2, 3, 4, 5].map((attempt) => {
			const facts = { attempt, outcome: failed("io"), idempotent: true, random: 0.5 };
			const decision = decideRetry(facts, settings);
			return decision.type === "retry" && decision.afterMs;
		});
		expect(delays).toEqual([500, 1_000, 2_000, 4_000, 5_000]);
	});

	test("is a dead letter when it was the last one (T3)", () => {
		expect(decide(2, failed("io"))).toEqual({
			type: "retry",
			afterMs: 1_000,
			reason: "io: as reported; attempt 3 of 3 in 1s",
		});
		expect(decide(3, failed("io"))).toEqual({
			type: "dead_letter",
			reason: "io: as reported; attempt 3 of 3",
		});
	});

	test.each<[AttemptError, "retry" | "dead_letter"]>([
		["backend_failure", "retry"],
		["timeout", "retry"],
		["io", "retry"],
		["internal", "retry"],
		["host_exhausted", "retry"],
		["left_alive", "dead_letter"],
		["invalid_request", "dead_letter"],
		["action_not_supported", "dead_letter"],
		["spawn_error", "dead_letter"],
	])("of kind %s is followed by %s (T9)", (error, type) => {
		expect(decide(1, failed(error)).type).toBe(type);
	});

	test("of an action that must not run twice goes to the operator", () => {
		expect(decide(1, failed("timeout"), { idempotent: false })).toEqual({
			type: "dead_letter",
			reason:
				"timeout: as reported; it may have taken effect and is not idempotent, so the operator decides",
		});
	});

	test("that certainly had no effect is retried, even if the task must not run twice", () => {
		expect(decide(1, failed("host_exhausted"), { idempotent: false }).type).toBe("retry");
	});

	test("waits as long as the agent asks, within an hour, and never less than the back-off", () => {
		expect(decide(1, failed("backend_failure", 9_000))).toMatchObject({ afterMs: 9_000 });
		expect(decide(1, failed("backend_failure", 10))).toMatchObject({ afterMs: 500 });
		expect(decide(1, failed("backend_failure", 1e12))).toMatchObject({
			afterMs: RETRY_AFTER_MS_MAX,
		});
	});
});

test("a success is a success", () => {
	expect(decide(2, { ok: true, result: 1 })).toEqual({
		type: "succeed",
		reason: "succeeded on attempt 2",
	});
});

test("T3 and T9 no task is retried beyond the limit, and no non-retryable one", () => {
	const facts = fc.record({
		attempt: fc.integer({ min: 1, max: 20 }),
		outcome: fc.constantFrom(...ATTEMPT_ERRORS).map((error) => failed(error)),
		idempotent: fc.boolean(),
		random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
	});
	fc.assert(
		fc.property(facts, fc.integer({ min: 1, max: 10 }), (given, maxAttempts) => {
			const decision = decideRetry(given, { ...DEFAULT_RETRY, maxAttempts });
			if (decision.type !== "retry") return;
			expect(given.attempt).toBeLessThan(maxAttempts);
			expect(given.idempotent || given.outcome).toEqual(
				given.idempotent || failed("host_exhausted"),
			);
			expect(given.outcome).not.toMatchObject({
				error: expect.stringMatching(/invalid_request|action_not_supported|spawn_error/),
			});
		}),
	);
});

test("the longest that a task can take is all its attempts with the waits between them", () => {
	expect(longestTaskMs(DEFAULT_RETRY, 30_000)).toBe(3 * 30_000 + 500 + 1_000);
	expect(longestTaskMs({ ...DEFAULT_RETRY, maxAttempts: 1 }, 2_000)).toBe(2_000);
	expect(longestTaskMs({ ...DEFAULT_RETRY, maxAttempts: 7 }, 0)).toBe(
		500 + 1_000 + 2_000 + 4_000 + 5_000 + 5_000,
	);
});

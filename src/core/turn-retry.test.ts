import { describe, expect, test } from "vitest";
import type { TurnCause } from "./adapter.js";
import type { AgentSign } from "./sign.js";
import { DEFAULT_TURN_RETRY, decideTurnRetry } from "./turn-retry.js";

const at = (seconds: number, meaning: Partial<AgentSign>): AgentSign => ({
	source: "hook",
	name: "x",
	atMs: seconds * 1_000,
	...meaning,
});
const failed = (seconds: number, cause: TurnCause = "overloaded") =>
	at(seconds, { activity: "ready", failure: { cause, resetAtMs: null } });
const asked = (seconds: number) => at(seconds, { activity: "busy", prompt: "Continue." });
const good = (seconds: number) => at(seconds, { activity: "ready", failure: null });

const retryAt = (signs: readonly AgentSign[], maxAttempts = 5) => {
	const retry = decideTurnRetry(signs, { ...DEFAULT_TURN_RETRY, maxAttempts }, 0);
	return retry === null ? null : retry.atMs / 1_000;
};

/** This many consecutive failed turns, one minute apart; the last one at minute zero. */
const failures = (count: number) =>
	Array.from({ length: count }, (_, n) => [
		asked((n + 1 - count) * 60 - 1),
		failed((n + 1 - count) * 60),
	]).flat();

describe("a turn that failed because the service was overloaded", () => {
	test.each([
		[1, 15],
		[2, 30],
		[3, 60],
		[4, 120],
	])("is continued after back-off: failure %i after %i s", (count, seconds) => {
		expect(retryAt(failures(count))).toBe(seconds);
	});

	test("is not continued without limit", () => {
		expect(retryAt(failures(6))).toBeNull();
		expect(retryAt(failures(2), 1)).toBeNull();
		expect(retryAt(failures(1), 0)).toBeNull();
	});

	test("is not continued without limit if half of an answer arrives each time", () => {
		const dropped = Array.from({ length: 6 }, (_, n) => [
			...[asked(n * 60), good(n * 60 + 1), failed(n * 60 + 2)],
		]);
		expect(retryAt(dropped.slice(0, 3).flat())).toBe(2 * 60 + 2 + 60);
		expect(retryAt(dropped.flat())).toBeNull();
	});

	test("counts from the last turn that has used a tool", () => {
		const tool = (seconds: number) => [
			at(seconds, { activity: "busy", inTool: true }),
			at(seconds + 1, { activity: "busy", inTool: false }),
		];
		const worked = [asked(9), good(10), ...tool(11), good(13), failed(20)];
		expect(retryAt([...failures(5), ...worked])).toBe(35);
		// A tool of an earlier turn is not this turn's.
		expect(retryAt([...worked, asked(60), good(61), failed(62)])).toBe(92);
	});

	test.each<TurnCause>(["auth", "billing", "unknown", "usage_limit"])(
		"and before that with %s is counted from then on",
		(cause) => {
			expect(retryAt([...failures(5), asked(9), failed(10, cause), asked(19), failed(20)])).toBe(
				35,
			);
		},
	);

	test("is not continued if the retry of its CLI failed with a cause that no retry fixes", () => {
		expect(retryAt([asked(0), failed(10), failed(30, "auth")])).toBeNull();
		expect(retryAt([asked(0), failed(10, "auth"), failed(30)])).toBe(45);
	});

	test("counts from the last good turn", () => {
		expect(retryAt([...failures(5), good(5), asked(9), failed(10)])).toBe(25);
	});

	test("is counted once, although a hook and the record report it", () => {
		expect(retryAt([asked(0), failed(10), failed(10.4)])).toBe(25.4);
	});

	test("is counted once, although its CLI tried it several times", () => {
		expect(retryAt([asked(0), failed(10), failed(30), failed(60)])).toBe(75);
		expect(retryAt([asked(0), failed(10), failed(30), asked(60), failed(70)])).toBe(100);
	});

	test("is left alone once another turn has begun", () => {
		expect(retryAt([failed(10), asked(11)])).toBeNull();
		expect(retryAt([failed(10), at(11, { activity: "busy" })])).toBeNull();
		expect(retryAt([failed(10), at(11, { activity: "ready" })])).not.toBeNull();
	});
});

test("a turn that hit the usage limit is continued as soon as its account allows it, however often", () => {
	const limits = Array.from({ length: 9 }, (_, n) => failed(n * 60, "usage_limit"));
	expect(retryAt(limits)).toBe(480);
});

test.each<TurnCause>([
	"auth",
	"billing",
	"config",
	"refused",
	"context_full",
	"invalid_request",
	"unknown",
])("a turn that failed with %s is not continued: it would fail again", (cause) => {
	expect(retryAt([failed(10, cause)])).toBeNull();
});

test("an agent whose turns succeeded is not asked to continue", () => {
	expect(retryAt([])).toBeNull();
	expect(retryAt([asked(1), good(2)])).toBeNull();
});

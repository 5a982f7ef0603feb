import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
	ATTEMPT_ERROR_TRAITS,
	type AttemptError,
	classifyProcessFailure,
	classifyResponse,
	type ProcessFailure,
	RESPONSE_CHARS_MAX,
} from "./outcome.js";

const answer = (code: number, status = "error", more = {}) =>
	classifyResponse("r1", { request_id: "r1", status, code, ...more });

describe("an agent's answer", () => {
	test("is a success only with status success and code 0", () => {
		expect(answer(0, "success", { result: { n: 1 } })).toEqual({ ok: true, result: { n: 1 } });
		expect(answer(0, "error")).toMatchObject({ ok: false, error: "backend_failure" });
		expect(answer(7, "success")).toMatchObject({ ok: false, error: "backend_failure" });
	});

	test.each<[number, AttemptError]>([
		[400, "invalid_request"],
		[404, "invalid_request"],
		[499, "invalid_request"],
		[500, "backend_failure"],
		[501, "action_not_supported"],
		[503, "backend_failure"],
		[504, "timeout"],
		[1, "backend_failure"],
		[-1, "backend_failure"],
	])("with code %i is %s", (code, error) => {
		expect(answer(code)).toMatchObject({
			ok: false,
			error,
			reason: `agent returned error with code ${code}`,
		});
	});

	test("to another request is the agent's failure, even if it reports success", () => {
		const other = classifyResponse("r1", { request_id: "r2", status: "success", code: 0 });
		expect(other).toMatchObject({
			error: "backend_failure",
			reason: "the response is for request r2, not r1",
		});
		const none = classifyResponse("r1", { request_id: "", status: "success", code: 0 });
		expect(none).toMatchObject({ reason: "the response is for request (no id), not r1" });
	});

	test("contains its own error text, within bounds", () => {
		const reason = "agent returned error with code 500: disk full";
		expect(answer(500, "error", { error: "disk full" })).toMatchObject({ reason });
		expect(answer(500, "error", { error: { message: "disk full" } })).toMatchObject({ reason });
		expect(answer(500, "error", { error: { code: 7 } })).toMatchObject({
			reason: "agent returned error with code 500",
		});
		const long = answer(500, "error", { error: "x".repeat(100_000) });
		expect(long.ok ? 0 : long.reason.length).toBeLessThan(600);
	});

	test("is kept with its code, result and structured error when it is a failure", () => {
		const error = { type: "quota", details: { left: 0 } };
		expect(answer(503, "error", { result: { partial: [1] }, error })).toMatchObject({
			response: { status: "error", code: 503, result: { partial: [1] }, error },
		});
		expect(answer(400)).toMatchObject({ response: { status: "error", code: 400 } });
		expect(answer(500, "error", { result: "x".repeat(RESPONSE_CHARS_MAX) })).toMatchObject({
			response: { status: "error", code: 500, truncated: true },
		});
		const foreign = classifyResponse("r1", { request_id: "r2", status: "error", code: 500 });
		expect(foreign).not.toHaveProperty("response");
	});

	test("may ask for a delay, but only as a number", () => {
		const nonsense = { retry_after_ms: "abc" as unknown as number };
		expect(answer(503, "error", nonsense)).toMatchObject({ retryAfterMs: null });
		expect(answer(503, "error", { retry_after_ms: -1 })).toMatchObject({ retryAfterMs: 0 });
		expect(answer(503, "error", { retry_after_ms: 1_500 })).toMatchObject({ retryAfterMs: 1_500 });
		expect(answer(503)).toMatchObject({ retryAfterMs: null });
	});
});

test.each<[ProcessFailure, AttemptError, string]>([
	[{ type: "timeout", afterMs: 30_000 }, "timeout", "no response within 30000 ms"],
	[{ type: "io", detail: "EPIPE" }, "io", "EPIPE"],
	[{ type: "bad_answer", detail: "not JSON" }, "backend_failure", "not JSON"],
	[{ type: "no_answer", detail: "exit code 1" }, "backend_failure", "exit code 1"],
	[{ type: "spawn_error", detail: "no such file: git" }, "spawn_error", "no such file: git"],
	[{ type: "host_exhausted", detail: "EAGAIN" }, "host_exhausted", "EAGAIN"],
	[{ type: "left_alive", detail: "pid 7" }, "left_alive", "cannot be killed: pid 7"],
	[{ type: "interrupted" }, "internal", "the daemon stopped during the attempt"],
])("a process failure %j is %s", (failure, error, reason) => {
	expect(classifyProcessFailure(failure)).toEqual({ ok: false, error, reason, retryAfterMs: null });
});

test("B6 exactly the failures that are the agent's own count against it", () => {
	const counting = Object.entries(ATTEMPT_ERROR_TRAITS).filter(([, traits]) => traits.counts);
	expect(counting.map(([error]) => error)).toEqual([
		"timeout",
		"backend_failure",
		"io",
		"spawn_error",
		"unusable",
		"left_alive",
	]);
});

test("every code gives an outcome, and 4xx is always the caller's", () => {
	fc.assert(
		fc.property(fc.integer({ min: 400, max: 499 }), (code) => {
			expect(answer(code)).toMatchObject({ error: "invalid_request" });
		}),
	);
});

import { describe, expect, test } from "vitest";
import { type AgentSign, failedAttempts, refineFailures, type SignMeaning } from "./sign.js";

let atMs = 0;
const sign = (meaning: SignMeaning): AgentSign => ({
	source: "transcript",
	name: "x",
	atMs: ++atMs,
	...meaning,
});
const prompt = () => sign({ activity: "busy", prompt: "do it" });
const overloaded = { cause: "overloaded", resetAtMs: null } as const;
const failed = (cause: "unknown" | "invalid_request" | "auth") =>
	sign({ failure: { cause, resetAtMs: null } });

describe("requests that failed", () => {
	test("are those of the current turn, since the last success", () => {
		const old = sign({ attempt: overloaded });
		const ok = sign({ attempt: null });
		const next = sign({ attempt: overloaded });
		expect(failedAttempts([old, prompt(), ok, next])).toEqual([next]);
		expect(failedAttempts([old, prompt()])).toEqual([]);
	});
});

describe("a failed turn", () => {
	test.each(["unknown", "invalid_request"] as const)(
		"has the cause of its last failed request if its CLI reports %s",
		(cause) => {
			const signs = [prompt(), sign({ attempt: overloaded }), failed(cause)];
			expect(refineFailures(signs).at(-1)?.failure).toEqual(overloaded);
		},
	);

	test("keeps a cause that its CLI names, and that of its own turn", () => {
		const named = [prompt(), sign({ attempt: overloaded }), failed("auth")];
		expect(refineFailures(named)).toEqual(named);
		const other = [prompt(), sign({ attempt: overloaded }), prompt(), failed("unknown")];
		expect(refineFailures(other)).toEqual(other);
	});
});

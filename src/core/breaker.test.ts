import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
	admit,
	type BreakerState,
	coolDown,
	DEFAULT_BREAKER,
	decideClose,
	healthOf,
	NEW_BREAKER,
	type Permit,
	recordAttempt,
	recordCancelled,
	recordResult,
	recoverBreaker,
} from "./breaker.js";
import type { Outcome } from "./outcome.js";

const at = (steadyMs: number) => ({ steadyMs, wallMs: 1_000_000 + steadyMs });
const ok: Outcome = { ok: true, result: null };
const bad: Outcome = { ok: false, error: "timeout", reason: "late", retryAfterMs: null };
const callersFault: Outcome = { ...bad, error: "invalid_request" };

function call(state: BreakerState, outcome: Outcome, nowMs = 0): BreakerState {
	const admission = admit(state, at(nowMs));
	const permit = admission.permit as Permit;
	return recordResult(admission.state, permit, outcome, at(nowMs), DEFAULT_BREAKER).state;
}
const opened = () => call(call(call(NEW_BREAKER, bad), bad), bad);

describe("a closed circuit", () => {
	test("is degraded by failures below the threshold and opens at the third", () => {
		const once = call(NEW_BREAKER, bad);
		expect([healthOf(NEW_BREAKER), healthOf(once)]).toEqual(["healthy", "degraded"]);
		const third = call(call(once, bad), bad, 5);
		expect(third).toEqual({
			circuit: "open",
			consecutiveFailures: 3,
			generation: 1,
			probing: false,
			openUntil: at(60_005),
			lastFailureAtWallMs: 1_000_005,
			lastSuccessAtWallMs: null,
		});
		expect(healthOf(third)).toBe("unhealthy");
	});

	test("forgets failures with a success but keeps the time of the last one", () => {
		const state = call(call(call(NEW_BREAKER, bad, 1), bad, 2), ok, 3);
		expect(state).toMatchObject({
			circuit: "closed",
			consecutiveFailures: 0,
			lastFailureAtWallMs: 1_000_002,
			lastSuccessAtWallMs: 1_000_003,
		});
	});

	test("B6 is never opened by the caller's mistakes, nor by Reeve's own", () => {
		let state = NEW_BREAKER;
		for (let n = 0; n < 100; n++) {
			state = call(state, callersFault);
			state = call(state, { ...bad, error: "action_not_supported" });
			state = call(state, { ...bad, error: "internal" });
		}
		expect(state).toEqual(NEW_BREAKER);
	});
});

describe("a request with several attempts", () => {
	const retried = { outcome: bad, decision: { type: "retry", afterMs: 1, reason: "" } } as const;
	const failed = { outcome: bad, decision: { type: "dead_letter", reason: "" } } as const;

	test("counts once, when it has finally failed", () => {
		let state = NEW_BREAKER;
		let permit: Permit | null = null;
		for (let attempt = 1; attempt <= 9; attempt++) {
			const admission = admit(state, at(attempt), permit);
			permit = admission.permit as Permit;
			state = recordAttempt(admission.state, permit, retried, at(attempt), DEFAULT_BREAKER).state;
			expect(state).toEqual(NEW_BREAKER);
		}
		const over = recordAttempt(state, permit as Permit, failed, at(10), DEFAULT_BREAKER);
		expect(over).toMatchObject({
			state: { circuit: "closed", consecutiveFailures: 1, lastFailureAtWallMs: 1_000_010 },
			reason: "failed request 1 of 3",
		});
	});

	test("B1 stays the one probe between its attempts, and opens the circuit when it has failed", () => {
		const first = admit(opened(), at(60_000));
		const permit = first.permit as Permit;
		const waiting = recordAttempt(first.state, permit, retried, at(60_001), DEFAULT_BREAKER).state;
		expect(admit(waiting, at(60_002)).permit).toBeNull();
		const again = admit(waiting, at(60_500), permit);
		expect(again.permit).toEqual(permit);
		const over = recordAttempt(again.state, permit, failed, at(61_000), DEFAULT_BREAKER);
		expect(over.state).toMatchObject({ circuit: "open", openUntil: { steadyMs: 121_000 } });
	});

	test("B2 starts no attempt while the circuit is open, even for requests admitted earlier", () => {
		const early = admit(NEW_BREAKER, at(0)).permit;
		expect(admit(opened(), at(1), early).permit).toBeNull();
	});
});

describe("an open circuit", () => {
	test("B2 lets nothing through until its time is up", () => {
		expect(admit(opened(), at(59_000))).toMatchObject({
			permit: null,
			reason: "circuit open for another 1s",
		});
	});

	test("B4 half opens after its cooldown, with or without a call", () => {
		expect(coolDown(opened(), at(59_999)).circuit).toBe("open");
		expect(coolDown(opened(), at(60_000)).circuit).toBe("half_open");
		expect(healthOf(coolDown(opened(), at(60_000)))).toBe("unhealthy");
	});

	test("B5 ignores results of calls from before it opened", () => {
		const early = admit(NEW_BREAKER, at(0)).permit as Permit;
		const state = opened();
		expect(recordResult(state, early, ok, at(9), DEFAULT_BREAKER)).toEqual({
			state,
			reason: "result from before the last transition: ignored",
		});
	});

	test("is closed by the operator's hand", () => {
		expect(decideClose(opened())).toMatchObject({
			state: { circuit: "closed", consecutiveFailures: 0, openUntil: null },
			reason: "circuit closed by the operator (was open)",
		});
	});
});

describe("a half-open circuit", () => {
	const half = () => admit(opened(), at(60_000));

	test("B1 admits one probe and refuses the fifty behind it", () => {
		let { state } = half();
		for (let n = 0; n < 50; n++) {
			const next = admit(state, at(60_001));
			expect(next.permit).toBeNull();
			expect(next.reason).toBe("circuit half open, and its only probe is in progress");
			state = next.state;
		}
	});

	test("closes when the probe succeeds", () => {
		const { state, permit } = half();
		const change = recordResult(state, permit as Permit, ok, at(60_500), DEFAULT_BREAKER);
		expect(change).toMatchObject({
			state: { circuit: "closed", consecutiveFailures: 0, probing: false },
			reason: "probe succeeded: circuit closed",
		});
	});

	test("opens again, for a whole cooldown, when the probe fails", () => {
		const { state, permit } = half();
		const change = recordResult(state, permit as Permit, bad, at(61_000), DEFAULT_BREAKER);
		expect(change).toMatchObject({
			state: { circuit: "open", consecutiveFailures: 4, openUntil: { steadyMs: 121_000 } },
			reason: "probe failed: circuit open for 60s",
		});
	});

	test("B3 issues the permit again when the probe was cancelled or proved nothing", () => {
		const { state, permit } = half();
		const cancelled = recordCancelled(state, permit as Permit).state;
		expect(admit(cancelled, at(60_001)).permit).not.toBeNull();
		const unproven = recordResult(state, permit as Permit, callersFault, at(1), DEFAULT_BREAKER);
		expect(admit(unproven.state, at(60_001)).permit).not.toBeNull();
	});

	test("B3 a cancelled call from before it half opened does not free the probe's permit", () => {
		const early = admit(NEW_BREAKER, at(0)).permit as Permit;
		const { state } = half();
		expect(recordCancelled(state, early).state).toBe(state);
	});
});

describe("a breaker that a new daemon reads", () => {
	const later = { steadyMs: 5, wallMs: 1_020_000 };

	test("B4 stays open for the rest of its cooldown, although steady time restarted", () => {
		const recovered = recoverBreaker(opened(), later, DEFAULT_BREAKER);
		expect(admit(recovered, later)).toMatchObject({
			permit: null,
			reason: "circuit open for another 40s",
		});
		expect(coolDown(recovered, { steadyMs: 40_005, wallMs: 0 }).circuit).toBe("half_open");
	});

	test("B7 never stays open for longer than a cooldown, at any wall clock time", () => {
		const yesterday = { steadyMs: 5, wallMs: -86_400_000 };
		const recovered = recoverBreaker(opened(), yesterday, DEFAULT_BREAKER);
		expect(coolDown(recovered, { steadyMs: 60_005, wallMs: 0 }).circuit).toBe("half_open");
	});

	test("B3 returns the permit of an abandoned probe", () => {
		const { state } = admit(opened(), at(60_000));
		expect(admit(recoverBreaker(state, later, DEFAULT_BREAKER), later).permit).not.toBeNull();
	});
});

test("B7 ignores the wall clock", () => {
	fc.assert(
		fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(90_000), fc.integer())), (steps) => {
			let plain = NEW_BREAKER;
			let stepped = NEW_BREAKER;
			let steadyMs = 0;
			for (const [success, passedMs, wallMs] of steps) {
				steadyMs += passedMs;
				const a = admit(plain, { steadyMs, wallMs: 0 });
				const b = admit(stepped, { steadyMs, wallMs });
				expect(b.permit).toEqual(a.permit);
				[plain, stepped] = [a.state, b.state];
				if (a.permit === null) continue;
				const outcome = success ? ok : bad;
				plain = recordResult(
					plain,
					a.permit,
					outcome,
					{ steadyMs, wallMs: 0 },
					DEFAULT_BREAKER,
				).state;
				stepped = recordResult(
					stepped,
					a.permit,
					outcome,
					{ steadyMs, wallMs },
					DEFAULT_BREAKER,
				).state;
				expect(stepped.circuit).toBe(plain.circuit);
			}
		}),
	);
});

test("the state survives being stored as JSON, in every state", () => {
	for (const state of [NEW_BREAKER, opened(), admit(opened(), at(60_000)).state]) {
		expect(JSON.parse(JSON.stringify(state))).toEqual(state);
	}
});

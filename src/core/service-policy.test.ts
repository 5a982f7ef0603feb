import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
	DEFAULT_SERVICE,
	decideAfterServiceEnd,
	NEW_SERVICE,
	type ServiceDecision,
	type ServiceEnding,
	SHUTDOWN,
} from "./service-policy.js";

const threw = (ranMs = 0): ServiceEnding => ({ type: "threw", ranMs, error: "boom" });
const returned = (ranMs = 0): ServiceEnding => ({ type: "returned", ranMs });

function endAgainAndAgain(endings: readonly ServiceEnding[]): ServiceDecision[] {
	let state = NEW_SERVICE;
	return endings.map((ending) => {
		const decision = decideAfterServiceEnd(state, "restartable", ending, DEFAULT_SERVICE);
		state = decision.state;
		return decision;
	});
}
const actions = (decisions: ServiceDecision[]) =>
	decisions.map(({ action }) => (action.type === "restart" ? action.afterMs : action.type));

describe("a critical service", () => {
	test.each([threw(9_999_999), returned(5_000), { type: "start_timeout" } as const])(
		"is fatal however it ends: %j",
		(ending) => {
			const decision = decideAfterServiceEnd(NEW_SERVICE, "critical", ending, DEFAULT_SERVICE);
			expect(decision.action).toEqual({ type: "fatal" });
			expect(decision.reason).toMatch(/^critical service /);
		},
	);
});

describe("a tolerated service", () => {
	test("has no effect on the others", () => {
		const decision = decideAfterServiceEnd(NEW_SERVICE, "tolerated", threw(1_500), DEFAULT_SERVICE);
		expect(decision).toEqual({
			state: { status: "ended", retriesUsed: 0, restarts: 0 },
			action: { type: "none" },
			reason: "tolerated service failed after 1.5s: boom; the daemon continues without it",
		});
	});
});

describe("a restartable service", () => {
	test("is restarted after 0.5, 1, 2, 4 and 8 s, and is fatal after that", () => {
		const decisions = endAgainAndAgain(Array.from({ length: 6 }, () => threw()));
		expect(actions(decisions)).toEqual([500, 1_000, 2_000, 4_000, 8_000, "fatal"]);
		expect(decisions.at(-1)?.reason).toBe(
			"restartable service failed after 0s: boom; all 5 restarts are used up",
		);
		expect(decisions.at(-1)?.state).toEqual({ status: "ended", retriesUsed: 5, restarts: 5 });
	});

	test("is restarted also after a clean end, and after a start that hung", () => {
		expect(endAgainAndAgain([returned(), { type: "start_timeout" }]).map((d) => d.reason)).toEqual([
			"restartable service stopped after 0s; restart 1 of 5 in 500ms",
			"restartable service did not start within 30s; restart 2 of 5 in 1s",
		]);
	});

	test("distinguishes services that never became ready and those that do not stop", () => {
		const endings = [
			{ type: "threw", ranMs: null, error: "boom" },
			{ type: "returned", ranMs: null },
			{ type: "lingered" },
		] as const;
		expect(endAgainAndAgain(endings).map((d) => d.reason)).toEqual([
			"restartable service failed before it was ready: boom; restart 1 of 5 in 500ms",
			"restartable service stopped before it was ready; restart 2 of 5 in 1s",
			"restartable service did not stop within another 30s after it was asked to; restart 3 of 5 in 2s",
		]);
	});

	test("has its whole budget back after 300 s of stable running, and not before", () => {
		const fourth = [threw(), threw(), threw()];
		expect(actions(endAgainAndAgain([...fourth, threw(300_000)])).at(-1)).toBe(500);
		expect(actions(endAgainAndAgain([...fourth, threw(299_999)])).at(-1)).toBe(4_000);
	});

	test("never waits longer than the cap, and counts every restart it ever had", () => {
		fc.assert(
			fc.property(fc.array(fc.nat(600_000), { maxLength: 50 }), (runs) => {
				const decisions = endAgainAndAgain(runs.map((ranMs) => threw(ranMs)));
				for (const { action } of decisions) {
					if (action.type === "restart") expect(action.afterMs).toBeLessThanOrEqual(30_000);
				}
				const restarts = decisions.filter(({ action }) => action.type === "restart").length;
				expect(decisions.at(-1)?.state.restarts ?? 0).toBe(restarts);
			}),
		);
	});
});

test("a graceful end exits with 0 after at most 10 s, a fatal one with 1 after at most 3 s", () => {
	expect(SHUTDOWN).toEqual({
		graceful: { drainMs: 10_000, exitCode: 0 },
		fatal: { drainMs: 3_000, exitCode: 1 },
	});
});

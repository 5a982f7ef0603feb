import { describe, expect, it } from "vitest";
import { type AttentionFacts, decideAttention, NO_ATTENTION } from "./attention.js";

/** The notifications of several consecutive checks. */
function look(...looks: readonly Partial<AttentionFacts>[]): readonly string[] {
	let state = NO_ATTENTION;
	return looks.map((facts) => {
		const now = {
			activity: "ready",
			failedTurn: null,
			failure: null,
			isAdopted: false,
			nowMs: 0,
			...facts,
		} as const;
		const decided = decideAttention(state, now);
		({ state } = decided);
		const { asks, failed, retries } = decided;
		return [asks ? "asks" : "", failed ? "failed" : "", retries ? "retries" : ""].join("");
	});
}

describe("a person is notified", () => {
	const asking = (nowMs: number) => ({ activity: "waiting_input", nowMs }) as const;

	it("for a question of an agent, once, and not if it is answered at once", () => {
		expect(look(asking(0), asking(9_999), asking(10_000), asking(99_000))).toEqual([
			...["", "", "asks", ""],
		]);
		expect(look(asking(0), { nowMs: 5_000 }, asking(12_000), asking(23_000))).toEqual([
			...["", "", "", "asks"],
		]);
	});

	it("that its CLI has retried for a while, once for each series of failures", () => {
		const retrying = (sinceMs: number, lastMs: number) => ({ retrying: { sinceMs, lastMs } });
		expect(
			look(retrying(0, 0), retrying(0, 29_999), retrying(0, 30_000), retrying(0, 90_000)),
		).toEqual(["", "", "retries", ""]);
		expect(look(retrying(0, 30_000), {}, retrying(70_000, 100_000))).toEqual([
			...["retries", "", "retries"],
		]);
	});

	it("not for a single failed request, however long the next response takes", () => {
		const failedOnce = { retrying: { sinceMs: 0, lastMs: 0 } };
		expect(look({ ...failedOnce, nowMs: 0 }, { ...failedOnce, nowMs: 900_000 })).toEqual(["", ""]);
	});

	const turn = (askedAtMs: number, failedAtMs: number) => ({
		failedTurn: { askedAtMs, failedAtMs },
	});

	it("that a turn has failed, once for each that did", () => {
		const failed = turn(1, 2);
		const next = turn(3, 4);
		expect(look({}, failed, failed, {}, next)).toEqual(["", "failed", "", "", "failed"]);
		expect(look(failed, next)).toEqual(["failed", "failed"]);
	});

	it("of a turn that its CLI tries again once, not once for each try", () => {
		const failed = turn(1, 2);
		expect(look(failed, {}, failed, {}, failed)).toEqual(["failed", "", "", "", ""]);
	});

	it("once of a turn whose prompt or failure is found in a second record later", () => {
		expect(look(turn(1, 5), turn(4, 5))).toEqual(["failed", ""]);
		expect(look(turn(1, 5), turn(4, 6), turn(4, 7))).toEqual(["failed", "", ""]);
		// Without a known prompt, each failure is a turn.
		expect(look(turn(5, 5), turn(5, 5), turn(7, 7))).toEqual(["failed", "", "failed"]);
	});

	it("again of a turn that its CLI tried again, if it then failed in a way that a person has to fix", () => {
		const overloaded = { ...turn(1, 2), failure: "overloaded" } as const;
		const auth = { ...turn(1, 9), failure: "auth" } as const;
		expect(look(overloaded, {}, auth, auth, {}, auth)).toEqual([
			"failed",
			"",
			"failed",
			"",
			"",
			"",
		]);
		expect(look(auth, { ...turn(1, 12), failure: "overloaded" })).toEqual(["failed", ""]);
		const vague = { ...turn(1, 2), failure: "unknown" } as const;
		expect(look(vague, { ...turn(1, 3), failure: "refused" })).toEqual(["failed", ""]);
	});

	it("not again of a turn that failed under an earlier daemon", () => {
		const old = { ...turn(1, 2), isAdopted: true };
		const next = { ...turn(3, 4), isAdopted: true };
		expect(look(old, old, { isAdopted: true }, next)).toEqual(["", "", "", "failed"]);
	});
});

import { describe, expect, it } from "vitest";
import { type AttentionFacts, decideAttention, NO_ATTENTION } from "./attention.js";

/** What is told at each of several looks. */
function look(...looks: readonly Partial<AttentionFacts>[]): readonly string[] {
	let state = NO_ATTENTION;
	return looks.map((facts) => {
		const now = { activity: "ready", failure: null, isAdopted: false, nowMs: 0, ...facts } as const;
		const decided = decideAttention(state, now);
		({ state } = decided);
		return [decided.asks ? "asks" : "", decided.failed ? "failed" : ""].join("");
	});
}

describe("a person is told", () => {
	const asking = (nowMs: number) => ({ activity: "waiting_input", nowMs }) as const;

	it("that an agent asks something, once, and not of what is answered at once", () => {
		expect(look(asking(0), asking(9_999), asking(10_000), asking(99_000))).toEqual([
			...["", "", "asks", ""],
		]);
		expect(look(asking(0), { nowMs: 5_000 }, asking(12_000), asking(23_000))).toEqual([
			...["", "", "", "asks"],
		]);
	});

	it("that a turn has failed, once for each that did", () => {
		const failed = { failure: "auth" } as const;
		expect(look({}, failed, failed, {}, failed)).toEqual(["", "failed", "", "", "failed"]);
		expect(look(failed, { failure: "overloaded" })).toEqual(["failed", "failed"]);
	});

	it("not again of a turn that failed under an earlier daemon", () => {
		const old = { failure: "auth", isAdopted: true } as const;
		expect(look(old, old, { isAdopted: true }, old)).toEqual(["", "", "", "failed"]);
	});
});

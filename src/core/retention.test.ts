import { describe, expect, test } from "vitest";
import { DEFAULT_RETENTION, decideEventCut } from "./retention.js";

const keep = { ...DEFAULT_RETENTION, eventsMax: 100, eventsMin: 10 };

describe("which events are not kept", () => {
	test.each([
		["none, while there are few and all are young", 50, 1, 0],
		["what is beyond the number", 250, 1, 150],
		["what is too old", 80, 31, 30],
		["the more of both", 250, 201, 200],
		["never the newest few, however old the clock makes them", 80, null, 70],
		["none of a handful, however old", 5, null, 0],
		["none of nothing", 0, null, 0],
	])("%s", (_, lastSeq, youngSeq, cut) => {
		expect(decideEventCut({ lastSeq, youngSeq }, keep)).toBe(cut);
	});

	test("the newest event is kept even if the limit is zero (A3)", () => {
		const nothing = { ...keep, eventsMax: 0, eventsMin: 0 };
		expect(decideEventCut({ lastSeq: 7, youngSeq: null }, nothing)).toBe(6);
	});
});

import { describe, expect, test } from "vitest";
import {
	addTimes,
	arrivalAt,
	encodeTime,
	encodeTimesHeader,
	hasRoom,
	isTimesOf,
	noTimes,
	offsetSince,
} from "./log-times.js";

const SPAN = { bornMs: 500, changedMs: 9_000 };

function parse(...records: readonly (readonly [number, number, boolean?])[]) {
	const found = noTimes();
	for (const [offset, atMs, skipped] of records) {
		addTimes(found, encodeTime(offset, atMs, skipped ?? false));
	}
	return found;
}

describe("the time of a line", () => {
	const times = parse([0, 1_000], [100, 2_000], [300, 4_000, true]);

	test.each([
		["exactly at a record", 100, { atMs: 2_000, untilMs: null }],
		["shares the time of the record before it", 50, { atMs: 1_000, untilMs: null }],
		["is an interval where records were skipped", 200, { atMs: 2_000, untilMs: 4_000 }],
		["is an interval if the log changed later", 400, { atMs: 4_000, untilMs: 9_000 }],
	])("%s", (_, offset, expected) => {
		expect(arrivalAt(times, offset, SPAN)).toEqual(expected);
	});

	test("is that of the last record if the log did not change later", () => {
		const span = { bornMs: 500, changedMs: 4_900 };
		expect(arrivalAt(times, 400, span)).toEqual({ atMs: 4_000, untilMs: null });
	});

	test("is an interval without records", () => {
		expect(arrivalAt(noTimes(), 5, SPAN)).toEqual({ atMs: 500, untilMs: 9_000 });
		expect(arrivalAt(parse([10, 3_000]), 5, SPAN)).toEqual({ atMs: 500, untilMs: 3_000 });
	});

	test("never ends before it begins, also after the clock was set back", () => {
		const back = parse([0, 5_000], [100, 1_000, true]);
		expect(arrivalAt(back, 50, SPAN)).toEqual({ atMs: 5_000, untilMs: 5_000 });
	});

	test("is read beyond 32 bits", () => {
		const late = 1_900_000_000_123;
		expect(arrivalAt(parse([2 ** 33, late]), 2 ** 33, SPAN).atMs).toBe(late);
	});
});

test("records of a log that was truncated are dropped", () => {
	expect(parse([0, 1], [100, 2], [200, 3], [50, 4])).toEqual({
		offsets: [0, 50],
		atMs: [1, 4],
		skipped: [false, false],
	});
});

test("times belong to the log file that their header names", () => {
	const header = encodeTimesHeader(7n);
	expect(isTimesOf(header, 7n)).toBe(true);
	expect(isTimesOf(header, 8n)).toBe(false);
	expect(isTimesOf(header.subarray(0, 15), 7n)).toBe(false);
	expect(isTimesOf(encodeTime(7, 2, false), 7n)).toBe(false);
});

test("an incomplete record is left out", () => {
	const found = noTimes();
	addTimes(found, Buffer.concat([encodeTime(1, 2, false), Buffer.alloc(15)]));
	expect(found.offsets).toEqual([1]);
});

test("a search by time starts before all output that may be late enough", () => {
	const times = parse([0, 1_000], [100, 2_000], [300, 4_000]);
	expect([0, 1_000, 1_001, 3_000, 9_000].map((since) => offsetSince(times, since))).toEqual([
		0, 0, 0, 100, 300,
	]);
	expect(offsetSince(noTimes(), 5)).toBe(0);
});

test("the records stay small beside the log", () => {
	expect([hasRoom(65_535, 0), hasRoom(65_536, 0), hasRoom(65_536, 8)]).toEqual([true, false, true]);
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { timesOf } from "./cron.js";

const HOUR = 3_600_000;
const timesIn = (cron: string, timezone = "Europe/Berlin") =>
	timesOf({ cron, everyMs: null, timezone }, "UTC");

/** The first slots after a time, without their year. */
function slots(cron: string, from: string, count: number): readonly string[] {
	const times = timesIn(cron);
	const found: string[] = [];
	let atMs = Date.parse(from);
	while (found.length < count) {
		atMs = times.next(atMs, atMs) ?? Number.NaN;
		found.push(new Date(atMs).toISOString().slice(5, 16));
	}
	return found;
}

describe("in the night of a clock change", () => {
	const SPRING = "2026-03-29T00:15:00Z";
	const AUTUMN = "2026-10-24T23:45:00Z";

	test("an expression with one minute and one hour fires once", () => {
		expect(slots("30 2 * * *", SPRING, 2)).toEqual(["03-29T01:00", "03-30T00:30"]);
		expect(slots("30 2 * * *", AUTUMN, 2)).toEqual(["10-25T00:30", "10-26T01:30"]);
	});

	test("any other expression fires at each time that matches", () => {
		expect(slots("*/30 * * * *", SPRING, 3)).toEqual(["03-29T00:30", "03-29T01:00", "03-29T01:30"]);
		expect(slots("0 * * * *", AUTUMN, 3)).toEqual(["10-25T00:00", "10-25T01:00", "10-25T02:00"]);
		expect(slots("*/30 2 * * *", SPRING, 1)).toEqual(["03-30T00:00"]);
		expect(slots("0,30 2 * * *", AUTUMN, 5)).toEqual([
			...["10-25T00:00", "10-25T00:30", "10-25T01:00", "10-25T01:30", "10-26T01:00"],
		]);
	});

	const NIGHTS = [
		["Europe/Berlin", "2026-03-28T12:00:00Z"],
		["Europe/Berlin", "2026-10-24T12:00:00Z"],
		["America/New_York", "2026-03-07T17:00:00Z"],
		["America/New_York", "2026-10-31T17:00:00Z"],
		// Half an hour.
		["Australia/Lord_Howe", "2026-04-04T02:00:00Z"],
		["Australia/Lord_Howe", "2026-10-03T02:00:00Z"],
		// The clock changes at midnight.
		["America/Santiago", "2026-04-04T16:00:00Z"],
		["America/Santiago", "2026-09-05T16:00:00Z"],
	] as const;
	const EXPRESSIONS = [
		...["30 2 * * *", "0 0 * * *", "30 23 * * *", "*/7 * * * *", "*/20 1-3 * * *", "0 */2 * * *"],
		...["15,45 2 * * 0", "59 1 * * *", "0 3 * * 1-5"],
	];

	test("the next slot does not depend on the moment from which it is searched", () => {
		const days = fc.integer({ min: 0, max: 72 * HOUR });
		fc.assert(
			fc.property(
				...[fc.constantFrom(...NIGHTS), fc.constantFrom(...EXPRESSIONS), days],
				([timezone, from], cron, laterMs) => {
					const times = timesIn(cron, timezone);
					const fromMs = Date.parse(from);
					let walked = times.next(fromMs, fromMs);
					while (walked !== null && walked <= fromMs + laterMs) walked = times.next(walked, walked);
					expect(times.next(fromMs + laterMs, fromMs)).toBe(walked);
				},
			),
			{ numRuns: 300 },
		);
	});
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseDuration, parseSize, renderDuration, renderElapsed, renderSize } from "./units.js";

describe("durations", () => {
	test.each([
		["500ms", 500],
		["30s", 30_000],
		["5m", 300_000],
		["2h", 7_200_000],
		["1d", 86_400_000],
		["0s", 0],
	])("%s is %i ms", (text, ms) => {
		expect(parseDuration(text)).toBe(ms);
	});

	test.each(["", "30", "1.5s", "-1s", "30 s", "30sec", "s", "1h30m", "999999999999999d"])(
		"%j is not one",
		(text) => {
			expect(parseDuration(text)).toBeNull();
		},
	);

	test("are written in the largest unit that divides them, a minute in seconds", () => {
		expect([0, 500, 2_000, 60_000, 90_000, 300_000, 3_600_000].map(renderDuration)).toEqual([
			"0s",
			"500ms",
			"2s",
			"60s",
			"90s",
			"5m",
			"1h",
		]);
	});

	test("read back as they were written", () => {
		fc.assert(
			fc.property(fc.nat(), (ms) => {
				expect(parseDuration(renderDuration(ms))).toBe(ms);
			}),
		);
	});
});

describe("sizes", () => {
	test("come in powers of 1024", () => {
		expect(["512B", "1KiB", "512MiB", "2GiB", "1TiB"].map(parseSize)).toEqual([
			512,
			1_024,
			2 ** 29,
			2 ** 31,
			2 ** 40,
		]);
		expect(parseSize("2GB")).toBeNull();
	});

	test("read back as they were written", () => {
		expect(renderSize(0)).toBe("0B");
		fc.assert(
			fc.property(fc.nat(), (bytes) => {
				expect(parseSize(renderSize(bytes))).toBe(bytes);
			}),
		);
	});
});

test.each([
	[0, "0s"],
	[527, "527ms"],
	[999.7, "1s"],
	[1_000, "1s"],
	[16_861, "16.9s"],
	[59_940, "59.9s"],
	[59_960, "1m"],
	[260_000, "4m 20s"],
	[3_599_600, "1h"],
	[7_500_000, "2h 5m"],
	[86_400_000, "1d"],
	[273_600_000, "3d 4h"],
])("%d ms of waiting read as %s", (ms, text) => {
	expect(renderElapsed(ms)).toBe(text);
});

import { expect, test } from "vitest";
import { isTooDeep, JSON_DEPTH_MAX } from "./json-depth.js";

const nested = (depth: number): unknown =>
	JSON.parse(`${"[".repeat(depth)}1${"]".repeat(depth)}`) as unknown;

test("a value is too deep when its lists and objects are nested beyond the limit", () => {
	expect([7, null, [[1], 2], { a: { b: [1] } }].map((value) => isTooDeep(value))).toEqual([
		...[false, false, false, false],
	]);
	expect(isTooDeep(nested(JSON_DEPTH_MAX + 1))).toBe(false);
	expect(isTooDeep(nested(JSON_DEPTH_MAX + 2))).toBe(true);
	expect(isTooDeep(nested(50_000))).toBe(true);
});

import { expect, test } from "vitest";
import { toCamelKeys, toSnakeKeys } from "./key-case.js";

test("keys are renamed at every depth, and values are not", () => {
	const outside = { max_attempts: 3, retry_on: [{ exit_code: "exit_code" }] };
	const inside = { maxAttempts: 3, retryOn: [{ exitCode: "exit_code" }] };
	expect(toCamelKeys(outside)).toEqual(inside);
	expect(toSnakeKeys(inside)).toEqual(outside);
});

test("more keys than are remembered are renamed too", () => {
	const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`some_key${n}`, n]));
	expect(Object.keys(toCamelKeys(many))).toHaveLength(2_000);
	expect(toCamelKeys(many)).toMatchObject({ someKey0: 0, someKey1999: 1_999 });
});

import { describe, expect, it } from "vitest";
import { createIds } from "./ordered-id.js";

const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("createIds", () => {
	it("makes UUIDs of version 7 that sort in the order in which they were made", () => {
		const newId = createIds();
		const ids = Array.from({ length: 20_000 }, newId);
		expect(ids.every((id) => UUID_7.test(id))).toBe(true);
		expect(ids.toSorted()).toEqual(ids);
		expect(new Set(ids).size).toBe(ids.length);
	});

	it("never goes back, even if the wall clock does", () => {
		let nowMs = 1_700_000_000_000;
		const newId = createIds(() => nowMs);
		const first = newId();
		nowMs -= 86_400_000;
		const second = newId();
		nowMs += 2 * 86_400_000;
		expect([first, second, newId()].toSorted()).toEqual([first, second, expect.any(String)]);
	});

	it("starts with the time, so that two daemons one after the other agree", () => {
		const early = createIds(() => 1_000)();
		const late = createIds(() => 2_000)();
		expect(early < late).toBe(true);
	});
});

import { expect, test } from "vitest";
import { offsetOfZone } from "./local-calendar.js";

test.each([0, 29_999, 30_000, 59_999])(
	"the offset of a zone does not depend on the seconds of the moment: %i ms into the minute",
	(ms) => {
		const atMs = Date.UTC(2026, 10, 18, 5, 52) + ms;
		expect(offsetOfZone("UTC", atMs)).toBe(0);
		expect(offsetOfZone("Europe/Berlin", atMs)).toBe(60);
		expect(offsetOfZone("America/St_Johns", atMs)).toBe(-210);
		expect(offsetOfZone("Nowhere/Land", atMs)).toBeNull();
	},
);

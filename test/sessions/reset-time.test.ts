import { expect, it } from "vitest";
import { parseResetTime } from "../../src/sessions/reset-time.js";

const NOW = Date.parse("2026-11-16T04:30:00Z");
const ZONES: Readonly<Record<string, number>> = { "America/Bogota": -300, UTC: 0 };
const offsetOf = (zone: string | null) => (zone === null ? 60 : (ZONES[zone] ?? null));
const read = (text: string) => {
	const atMs = parseResetTime(text, NOW, offsetOf);
	return atMs === null ? null : new Date(atMs).toISOString();
};

it.each([
	["You've hit your session limit · resets 3pm (America/Bogota)", "2026-11-16T20:00:00.000Z"],
	["Weekly limit reached · resets Nov 20, 9am (UTC)", "2026-11-20T09:00:00.000Z"],
	["limit reached ∙ resets 12am (UTC)", "2026-11-17T00:00:00.000Z"],
	["resets at 5:30 AM", "2026-11-16T04:30:00.000Z"],
	["resets 4:29am (UTC)", "2026-11-16T04:29:00.000Z"],
	["resets 3:31am (UTC)", "2026-11-16T03:31:00.000Z"],
	["resets 3:29am (UTC)", "2026-11-17T03:29:00.000Z"],
	["resets 11:45pm (America/Bogota)", "2026-11-16T04:45:00.000Z"],
	["try again at Jan 1st, 2099 3:00 PM.", "2099-01-01T14:00:00.000Z"],
	["try again at Jan 5th 3:00 PM", "2027-01-05T14:00:00.000Z"],
	["Please try again in 3 hours 20 minutes", "2026-11-16T07:50:00.000Z"],
	["retry after 30 seconds", "2026-11-16T04:30:30.000Z"],
	["resets in 2h", "2026-11-16T06:30:00.000Z"],
	["Try again in 1 day, 2 hours and 5 minutes.", "2026-11-17T06:35:00.000Z"],
	["Claude AI usage limit reached|1794900000", "2026-11-17T07:20:00.000Z"],
	["resets 2026-11-16T07:00:00Z", "2026-11-16T07:00:00.000Z"],
	["available again at 14:05 (UTC)", "2026-11-16T14:05:00.000Z"],
])("%s: %s", (text, expected) => {
	expect(read(text)).toBe(expected);
});

it.each([
	"You've hit your limit",
	"resets soon",
	"resets 3pm (Middle_Earth/Shire)",
	"resets 99pm (UTC)",
	"it took 3 hours",
])("%s: unknown", (text) => {
	expect(read(text)).toBeNull();
});

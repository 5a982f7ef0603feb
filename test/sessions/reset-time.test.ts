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
	["Please retry in 32.5s.", "2026-11-16T04:30:32.500Z"],
	["resets in 1.5 hours", "2026-11-16T06:00:00.000Z"],
	["Please try again in 1m26.4s", "2026-11-16T04:31:26.400Z"],
	["Please try again in 820ms.", "2026-11-16T04:30:00.820Z"],
	["Try again in about 2 hours", "2026-11-16T06:30:00.000Z"],
	["available again in less than a minute", "2026-11-16T04:31:00.000Z"],
	["quota will reset after 5h12m3s", "2026-11-16T09:42:03.000Z"],
	["Reset in: 02:15:30", "2026-11-16T06:45:30.000Z"],
	["resets at 15:30 UTC", "2026-11-16T15:30:00.000Z"],
	["resets 3pm PST", "2026-11-16T23:00:00.000Z"],
	["resets at 3pm GMT+2", "2026-11-16T13:00:00.000Z"],
	["resets 3pm (GMT-03)", "2026-11-16T18:00:00.000Z"],
	["resets at 6 PM (UTC+5:30)", "2026-11-16T12:30:00.000Z"],
	["resets 18:00 CET", "2026-11-16T17:00:00.000Z"],
	["resets Thursday at 9am (UTC)", "2026-11-19T09:00:00.000Z"],
	["Resets Monday, 9:00 AM (UTC)", "2026-11-16T09:00:00.000Z"],
	["Resets Monday, 1:00 AM (UTC)", "2026-11-23T01:00:00.000Z"],
	["resets tomorrow at 3pm (UTC)", "2026-11-17T15:00:00.000Z"],
	["resets 2026-11-18 15:30 UTC", "2026-11-18T15:30:00.000Z"],
	["You will regain access on 2026-12-01 at 00:00 UTC.", "2026-12-01T00:00:00.000Z"],
	["try again after 18 November 2026, 3:30 PM UTC", "2026-11-18T15:30:00.000Z"],
	["resets 11/18/2026, 3:30 PM UTC", "2026-11-18T15:30:00.000Z"],
	["resets 18/11/2026 15:30 UTC", "2026-11-18T15:30:00.000Z"],
	["until 18.11.2026 09:00 UTC", "2026-11-18T09:00:00.000Z"],
	["limit resets at noon (UTC)", "2026-11-16T12:00:00.000Z"],
	["resets at midnight (UTC)", "2026-11-17T00:00:00.000Z"],
	["Retry-After: 120", "2026-11-16T04:32:00.000Z"],
	["Retry-After: Mon, 16 Nov 2026 05:00:00 GMT", "2026-11-16T05:00:00.000Z"],
	["resets at 1794900000", "2026-11-17T07:20:00.000Z"],
	['{"error":{"type":"usage_limit_reached","resets_at":1794900000}}', "2026-11-17T07:20:00.000Z"],
	['{"resetsAt":1794900000000}', "2026-11-17T07:20:00.000Z"],
	['{"resets_in_seconds": 3600}', "2026-11-16T05:30:00.000Z"],
	['{"resets_in_seconds": 0, "message": "try again in 2h"}', "2026-11-16T06:30:00.000Z"],
	[String.raw`{\"error\":{\"details\":[{\"retryDelay\":\"20.5s\"}]}}`, "2026-11-16T04:30:20.500Z"],
])("%s: %s", (text, expected) => {
	expect(read(text)).toBe(expected);
});

it.each([
	"You've hit your limit",
	"resets soon",
	"resets 3pm (Middle_Earth/Shire)",
	"resets 99pm (UTC)",
	"it took 3 hours",
	"You may 3 times",
	"the limit of 20 requests is reached",
])("%s: unknown", (text) => {
	expect(read(text)).toBeNull();
});

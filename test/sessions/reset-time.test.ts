import { describe, expect, it, test } from "vitest";
import { offsetOfZone } from "../../src/host/local-calendar.js";
import { parseResetTime } from "../../src/sessions/reset-time.js";

const NOW = Date.parse("2026-11-16T04:30:00Z");
/** The clock of the CLI is an hour ahead of UTC. */
const offsetOf = (zone: string | null, atMs: number) =>
	zone === null ? 60 : offsetOfZone(zone, atMs);
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

describe("a length", () => {
	test.each([
		["resets in 2h 5m", "2026-11-16T06:35:00.000Z"],
		["resets in 2h05m", "2026-11-16T06:35:00.000Z"],
		["Resets in: 2 hr 5 min.", "2026-11-16T06:35:00.000Z"],
		["reset in 2 hour(s) 5 minute(s)", "2026-11-16T06:35:00.000Z"],
		["available again in 2 hours & 5 minutes", "2026-11-16T06:35:00.000Z"],
		["Your quota refreshes in 2 hours, 5 minutes", "2026-11-16T06:35:00.000Z"],
		["reset time: 2h 5m", "2026-11-16T06:35:00.000Z"],
		["Time until reset: 2h 5m", "2026-11-16T06:35:00.000Z"],
		["2 hours 5 minutes remaining", "2026-11-16T06:35:00.000Z"],
		["2h 5m left until the limit resets", "2026-11-16T06:35:00.000Z"],
		["You will be back in approx. 2 hours", "2026-11-16T06:30:00.000Z"],
		["Please wait up to 2 hours", "2026-11-16T06:30:00.000Z"],
		["try again in less than 5 minutes", "2026-11-16T04:35:00.000Z"],
		["try again within the next 5 minutes", "2026-11-16T04:35:00.000Z"],
		["resets (2h 5m)", "2026-11-16T06:35:00.000Z"],
		["Try again in 2\nhours", "2026-11-16T06:30:00.000Z"],
		[
			"Please wait for 3 requests to finish, and try again in 5 minutes",
			"2026-11-16T04:35:00.000Z",
		],
		["try again in an hour", "2026-11-16T05:30:00.000Z"],
		["try again in one minute", "2026-11-16T04:31:00.000Z"],
		["try again in 05:30 minutes", "2026-11-16T04:35:30.000Z"],
		["retry_after: 30", "2026-11-16T04:30:30.000Z"],
		["retry-after=30", "2026-11-16T04:30:30.000Z"],
		["Retry in 30.", "2026-11-16T04:30:30.000Z"],
		["请在 2 小时 5 分钟后重试", "2026-11-16T06:35:00.000Z"],
		['{"retryAfterMs": 2000}', "2026-11-16T04:30:02.000Z"],
		['{"retry-after": "120"}', "2026-11-16T04:32:00.000Z"],
		['{"quotaResetDelay":"5h12m3s"}', "2026-11-16T09:42:03.000Z"],
		['{"reset_after_seconds": 90}', "2026-11-16T04:31:30.000Z"],
		['{"x-ratelimit-reset-tokens":"6m0s"}', "2026-11-16T04:36:00.000Z"],
		["2026-11-16T04:29:59Z ERROR usage limit, try again in 2 hours", "2026-11-16T06:30:00.000Z"],
	])("%s: %s", (text, expected) => {
		expect(read(text)).toBe(expected);
	});
});

describe("a date", () => {
	test.each([
		["resets Nov 20, 3am", "2026-11-20T02:00:00.000Z"],
		["resets Nov. 20 at 3 a.m. (UTC)", "2026-11-20T03:00:00.000Z"],
		["resets 20 Nov 03:00 UTC", "2026-11-20T03:00:00.000Z"],
		["resets on the 20th of November at 15:00 UTC", "2026-11-20T15:00:00.000Z"],
		["Your limit resets on December 1, 2026", "2026-11-30T23:00:00.000Z"],
		["Resets Nov. 20 (UTC)", "2026-11-20T00:00:00.000Z"],
		["available again on 2026-12-01", "2026-11-30T23:00:00.000Z"],
		["resets tomorrow", "2026-11-16T23:00:00.000Z"],
		["It will be available again on Thursday.", "2026-11-18T23:00:00.000Z"],
		["resets 11/20 at 3am (UTC)", "2026-11-20T03:00:00.000Z"],
		["3/10 requests used, resets 3pm (UTC)", "2026-11-16T15:00:00.000Z"],
		// The month first, the day first, and either with only one of them ahead.
		["resets 12/01/2026, 15:00 UTC", "2026-12-01T15:00:00.000Z"],
		["resets 01/12/2026, 15:00 UTC", "2026-12-01T15:00:00.000Z"],
		["resets 11/17/26, 3:00 PM UTC", "2026-11-17T15:00:00.000Z"],
		["resets 2026/11/17 5:00:00 UTC", "2026-11-17T05:00:00.000Z"],
		["resets at 2026-11-17T05:00:00", "2026-11-17T04:00:00.000Z"],
		[
			"reset at Tue Nov 17 2026 05:00:00 GMT+0100 (Central European Standard Time)",
			"2026-11-17T04:00:00.000Z",
		],
		["您的限额将在 2026-11-16T15:00:00+08:00 重置", "2026-11-16T07:00:00.000Z"],
		['{"retry-after":"Mon, 16 Nov 2026 05:00:00 GMT"}', "2026-11-16T05:00:00.000Z"],
		["Retry-After: Monday, 16-Nov-26 05:00:00 GMT", "2026-11-16T05:00:00.000Z"],
		['{"reset_at":"2026-11-17 05:00:00"}', "2026-11-17T04:00:00.000Z"],
		['{"anthropic-ratelimit-unified-reset":"1794900000"}', "2026-11-17T07:20:00.000Z"],
		["resets at 1794900000000", "2026-11-17T07:20:00.000Z"],
	])("%s: %s", (text, expected) => {
		expect(read(text)).toBe(expected);
	});
});

describe("a time of day", () => {
	test.each([
		["resets at 3pm (America/New_York)", "2026-11-16T20:00:00.000Z"],
		["resets at 3pm America/New_York", "2026-11-16T20:00:00.000Z"],
		["resets at 15:00", "2026-11-16T14:00:00.000Z"],
		["resets at 15:00:30 (Europe/Berlin)", "2026-11-16T14:00:00.000Z"],
		["resets at 24:00 UTC", "2026-11-17T00:00:00.000Z"],
		["resets at 15:00 +0530", "2026-11-16T09:30:00.000Z"],
		["resets 3:00\u202fPM PST", "2026-11-16T23:00:00.000Z"],
		["resets at midnight Pacific time", "2026-11-16T08:00:00.000Z"],
		["resets 3pm in ET", "2026-11-16T20:00:00.000Z"],
		["Your limit will be lifted at 15:00 SGT", "2026-11-16T07:00:00.000Z"],
		["Access resumes\nat 15:00 UTC", "2026-11-16T15:00:00.000Z"],
		// These are no zones.
		["resets 3pm (Pro)", "2026-11-16T14:00:00.000Z"],
		["resets 3pm. See Settings/Usage.", "2026-11-16T14:00:00.000Z"],
	])("%s: %s", (text, expected) => {
		expect(read(text)).toBe(expected);
	});

	test("after a change of the clocks counts in the zone's new time", () => {
		// New York is 4 hours behind UTC until 1 November 2026, 06:00 UTC, and 5 hours after it.
		const beforeMs = Date.parse("2026-10-31T20:00:00Z");
		const at = (text: string) =>
			new Date(parseResetTime(text, beforeMs, offsetOfZone) ?? 0).toISOString();
		expect(at("resets 5pm (America/New_York)")).toBe("2026-10-31T21:00:00.000Z");
		expect(at("resets 9am (America/New_York)")).toBe("2026-11-01T14:00:00.000Z");
		expect(at("resets Nov 5, 9am (America/New_York)")).toBe("2026-11-05T14:00:00.000Z");
		expect(at("resets Nov 5, 9am ET")).toBe("2026-11-05T14:00:00.000Z");
	});
});

it.each([
	"You've hit your limit",
	"resets soon",
	"resets 3pm (Middle_Earth/Shire)",
	"resets 99pm (UTC)",
	"it took 3 hours",
	"You may 3 times",
	"the limit of 20 requests is reached",
	"You have reached the limit of 500 requests in 24 hours. Try again later.",
	"2026-11-16 09:00:00,123 ERROR limit reached",
	"[2026-11-16T09:00:00Z] limit reached",
	"Request failed after attempt 3/10. Please try again.",
	"Gave up after waiting for 30 seconds",
	"Failed to get a response; retried 5 times (total retry wait time: 52.38 seconds)",
	"已达到 5 小时的使用上限",
])("%s: unknown", (text) => {
	expect(read(text)).toBeNull();
});

import { describe, expect, it } from "vitest";
import { decideActivity, type KnownActivity } from "./activity.js";
import type { AgentSign } from "./sign.js";
import { decideStall } from "./stall.js";
import type { Activity } from "./states.js";

const NOW = 1_000_000;
const nothing: KnownActivity = {
	activity: "unknown",
	source: null,
	atMs: 0,
	failure: null,
	failedTurn: null,
	detail: null,
};
const hook = (activity: Activity, agoMs: number): AgentSign => ({
	source: "hook",
	name: "x",
	atMs: NOW - agoMs,
	activity,
});
const shows = (activity: Activity, besidesLimit = activity) => ({
	activity,
	besidesLimit,
	hidesInput: false,
});
const decide = (signs: readonly AgentSign[], screen: Activity | null, before = nothing) =>
	decideActivity(before, {
		signs,
		hasRecords: true,
		tellsTurnEnds: false,
		nowMs: NOW,
		screen: screen === null ? null : shows(screen),
	});

describe("the activity of an agent", () => {
	it.each([
		["is what its hooks say", [hook("busy", 100)], "busy", "busy", "hook"],
		[
			"is what the last of them says",
			[hook("busy", 900), hook("ready", 100)],
			null,
			"ready",
			"hook",
		],
		["is what the screen shows where no hook says anything", [], "ready", "ready", "screen"],
		[
			"is what a hook just said, although the screen lags",
			[hook("busy", 900)],
			"ready",
			"busy",
			"hook",
		],
		[
			"is read from the screen after an interrupted turn, which no hook reports",
			[hook("busy", 60_000)],
			"ready",
			"ready",
			"screen",
		],
		[
			"is waiting whenever the screen shows a question",
			[hook("busy", 10)],
			"waiting_input",
			"waiting_input",
			"screen",
		],
		["is unknown when no source shows it", [], "unknown", "unknown", null],
		["is unknown if nothing can be observed", [], null, "unknown", null],
		[
			"is unknown after its CLI has reported its exit",
			[hook("unknown", 10)],
			null,
			"unknown",
			"hook",
		],
	] as const)("%s", (_, signs, screen, activity, source) => {
		expect(decide(signs, screen)).toMatchObject({ activity, source });
	});

	it("is unknown, with the reason, while output is missing on the screen", () => {
		const facts = {
			signs: [],
			screen: null,
			hasRecords: false,
			tellsTurnEnds: false,
			nowMs: NOW,
		};
		expect(decideActivity(nothing, { ...facts, lacksOutput: true })).toMatchObject({
			activity: "unknown",
			detail: expect.stringContaining("output was lost"),
		});
	});

	it("is what the screen shows after a report was lost", () => {
		const lost = { ...hook("unknown", 1_000), detail: "a report was lost" };
		expect(decide([hook("busy", 60_000), lost], "ready")).toMatchObject({ activity: "ready" });
		const unseen = decide([hook("busy", 60_000), lost], null);
		expect(unseen).toMatchObject({ activity: "unknown", detail: "a report was lost" });
	});

	it("is the reported one if every end of a turn is reported and the screen looks the same", () => {
		const facts = { signs: [hook("busy", 60_000)], screen: shows("ready"), nowMs: NOW } as const;
		const reported = decideActivity(nothing, { ...facts, hasRecords: true, tellsTurnEnds: true });
		expect(reported).toMatchObject({ activity: "busy", source: "hook" });
	});

	it("is busy while the screen shows a retry of a failed turn, with its details", () => {
		const failure = { cause: "overloaded", resetAtMs: null } as const;
		const failed = { ...hook("ready", 100), failure, detail: "529 Overloaded" };
		const retries = { activity: "busy", source: "screen", detail: "529 Overloaded" };
		expect(decide([failed], "busy")).toMatchObject(retries);
		expect(decide([failed], "ready")).toMatchObject({
			activity: "ready",
			detail: "529 Overloaded",
		});
	});

	it("comes with later reports about it", () => {
		const said: AgentSign = {
			source: "transcript",
			name: "x",
			atMs: NOW - 50,
			detail: "500 oh no",
		};
		expect(decide([hook("busy", 100), said], "busy")).toMatchObject({ detail: "500 oh no" });
		expect(decide([said, hook("busy", 10)], "busy")).toMatchObject({ detail: null });
	});

	it("is rate-limited while a CLI that reports everything waits for a limit by itself", () => {
		const failure = { cause: "usage_limit", resetAtMs: NOW + 1 } as const;
		const facts = {
			hasRecords: true,
			signs: [{ ...hook("rate_limited", 60_000), failure }],
			nowMs: NOW,
		};
		const reported = decideActivity(nothing, {
			...facts,
			screen: shows("busy"),
			tellsTurnEnds: true,
		});
		expect(reported).toMatchObject({ activity: "rate_limited", source: "hook" });
	});

	it("is rate-limited from a turn that hit a limit until it lifts, or a turn succeeds", () => {
		const met = (resetAtMs: number | null, agoMs: number): AgentSign => ({
			...hook("ready", agoMs),
			failure: { cause: "usage_limit", resetAtMs },
		});
		expect(decide([met(NOW + 1, 60_000)], "ready")).toMatchObject({
			activity: "rate_limited",
			source: "hook",
		});
		expect(decide([met(NOW - 1, 60_000)], "ready").activity).toBe("ready");
		expect(decide([met(null, 60_000)], "ready").activity).toBe("rate_limited");
		expect(decide([met(null, 600_000)], "ready").activity).toBe("ready");
		const well = { ...hook("ready", 10), failure: null, failedTurn: null };
		expect(decide([met(NOW + 1, 60_000), well], "ready").activity).toBe("ready");
	});

	it("is rate-limited by the text on its screen only if a record of the CLI confirms it", () => {
		const text = shows("rate_limited", "ready");
		const read = (signs: readonly AgentSign[], hasRecords = true, screen = text) => {
			const facts = { signs, screen, hasRecords, tellsTurnEnds: true, nowMs: NOW };
			return decideActivity(nothing, facts);
		};
		// A program without records has nothing but its screen, which shows no cause.
		expect(read([], false)).toMatchObject({ activity: "rate_limited", failure: null });
		expect(read([])).toMatchObject({ activity: "ready", failure: null });
		const well = { ...hook("ready", 60_000), failure: null, failedTurn: null };
		expect(read([well])).toMatchObject({ activity: "ready", failure: null, failedTurn: null });
		const failed: AgentSign = {
			...hook("ready", 60_000),
			detail: "529",
			failure: { cause: "overloaded", resetAtMs: null },
		};
		expect(read([failed])).toMatchObject({ activity: "ready", failure: "overloaded" });
		expect(read([well, hook("busy", 10)]).activity).toBe("busy");
		const attempt = (cause: "usage_limit" | "overloaded"): AgentSign => ({
			source: "transcript",
			name: "log",
			atMs: NOW - 10,
			attempt: { cause, resetAtMs: null },
		});
		expect(read([well, hook("busy", 10_000), attempt("usage_limit")])).toMatchObject({
			activity: "rate_limited",
			failure: "usage_limit",
		});
		expect(read([well, hook("busy", 10), attempt("overloaded")]).activity).toBe("busy");
		// Old text of a limit that the CLI has reported.
		const limit = {
			...hook("ready", 90_000),
			failure: { cause: "usage_limit", resetAtMs: 1 },
		} as const;
		expect(read([limit, well, hook("busy", 10)]).activity).toBe("busy");
	});

	it("asks a person if it shows the menu of a limit that no record confirms", () => {
		const facts = {
			hasRecords: true,
			tellsTurnEnds: true,
			nowMs: NOW,
			screen: shows("rate_limited"),
		};
		const decideMenu = (signs: readonly AgentSign[]) =>
			decideActivity(nothing, { ...facts, signs });
		expect(decideMenu([hook("ready", 10)])).toMatchObject({
			activity: "waiting_input",
			failure: null,
		});
		const reported = {
			...hook("ready", 10),
			failure: { cause: "usage_limit", resetAtMs: NOW + 1 },
		};
		expect(decideMenu([reported as AgentSign])).toMatchObject({
			activity: "rate_limited",
			failure: "usage_limit",
		});
	});

	it("includes the cause of the last failed turn, from any source, until another one starts", () => {
		const failed: AgentSign = {
			source: "transcript",
			name: "error",
			atMs: NOW - 60_000,
			detail: "no such key",
			failure: { cause: "auth", resetAtMs: null },
		};
		expect(decide([hook("busy", 70_000), failed], "ready")).toMatchObject({
			activity: "ready",
			source: "screen",
			failure: "auth",
			detail: "no such key",
		});
		expect(decide([failed, hook("busy", 10)], "busy")).toMatchObject({
			activity: "busy",
			failure: null,
			failedTurn: null,
			detail: null,
		});
	});

	describe("while its CLI retries requests by itself", () => {
		const asked = (agoMs: number): AgentSign => ({ ...hook("busy", agoMs), prompt: "do it" });
		const attempt = (agoMs: number, cause: "overloaded" | "usage_limit" | null): AgentSign => ({
			source: "transcript",
			name: "log",
			atMs: NOW - agoMs,
			attempt: cause === null ? null : { cause, resetAtMs: null },
			...(cause === null ? {} : { detail: `the service said ${cause}` }),
		});

		it("is busy, with the cause of the last failed request and no failed turn", () => {
			const signs = [asked(90_000), attempt(80_000, "overloaded"), attempt(9_000, "usage_limit")];
			expect(decide(signs, "busy")).toMatchObject({
				activity: "busy",
				failure: null,
				failedTurn: null,
				detail: "retried after 2 failed requests (usage_limit): the service said usage_limit",
				retrying: { cause: "usage_limit", count: 2, sinceMs: NOW - 80_000, lastMs: NOW - 9_000 },
			});
		});

		it.each([
			["a request succeeded", attempt(5_000, null)],
			["another prompt was submitted", asked(5_000)],
			["a tool runs", { ...hook("busy", 5_000), inTool: true }],
		])("is busy as usual once %s", (_, sign) => {
			const signs = [asked(90_000), attempt(80_000, "overloaded"), sign];
			expect(decide(signs, "busy")).toMatchObject({
				activity: "busy",
				detail: null,
				retrying: null,
			});
		});

		it("no longer retries when it is ready", () => {
			const signs = [asked(90_000), attempt(80_000, "overloaded")];
			expect(decide(signs, "ready")).toMatchObject({ activity: "ready", retrying: null });
		});

		const decideWith = (signs: readonly AgentSign[], retrying: string | null) =>
			decideActivity(nothing, {
				signs,
				hasRecords: true,
				tellsTurnEnds: false,
				nowMs: NOW,
				screen: { ...shows("busy"), retrying },
			});

		it("has not failed where its screen confirms that it tries a failed turn again", () => {
			const failure = { cause: "overloaded", resetAtMs: null } as const;
			const failed = { ...hook("ready", 100), failure, detail: "529 Overloaded" };
			expect(decideWith([failed], "Retrying (1/3) in 2s")).toMatchObject({
				activity: "busy",
				failure: null,
				failedTurn: null,
				detail: "retried after a failed request (overloaded): 529 Overloaded",
			});
			expect(decideWith([failed], null)).toMatchObject({ failure: "overloaded" });
		});

		it("has the cause that its screen shows where the record only has the repeated requests", () => {
			const requested = (agoMs: number): AgentSign => ({
				source: "transcript",
				name: "api-request",
				atMs: NOW - agoMs,
				requested: true,
			});
			const line = "✻ 401 invalid x-api-key · Retrying in 13s · attempt 8/10";
			const signs = [asked(50_000), requested(49_000), requested(40_000), requested(9_000)];
			expect(decideWith(signs, line)).toMatchObject({
				detail: `retried after 2 failed requests (auth): ${line}`,
				retrying: { cause: "auth", count: 2, sinceMs: NOW - 40_000 },
			});
			expect(decideWith([asked(50_000), requested(49_000)], null).retrying).toBeNull();
		});

		it("only shows activity that comes from the screen alone: it has no consequences", () => {
			const line = "Reconnecting... 5/5 └ last status: 429 Too Many Requests";
			expect(decideWith([asked(50_000)], line)).toMatchObject({
				activity: "busy",
				failure: null,
				retrying: null,
				detail: `retried (usage_limit): ${line}`,
			});
		});

		it("counts the attempts that one record represents", () => {
			const series = {
				cause: "unknown",
				resetAtMs: null,
				count: 300,
				sinceMs: NOW - 31_000,
			} as const;
			const [last] = [{ ...attempt(1_000, null), attempt: series }];
			expect(decide([asked(90_000), last], "busy").retrying).toEqual({
				cause: "unknown",
				count: 300,
				sinceMs: NOW - 31_000,
				lastMs: NOW - 1_000,
			});
		});
	});

	it("is limited where the end of the turn is on the screen alone", () => {
		const limit = { cause: "usage_limit", resetAtMs: NOW + 60_000 } as const;
		const failed: AgentSign = {
			source: "transcript",
			name: "error",
			atMs: NOW - 20_000,
			failure: limit,
		};
		expect(decide([hook("busy", 30_000), failed], "ready").activity).toBe("rate_limited");
	});

	it("is known since the moment that showed it first", () => {
		const before = {
			activity: "ready",
			source: "screen",
			atMs: NOW - 9_000,
			failure: null,
			failedTurn: null,
			detail: null,
			retrying: null,
		} as const;
		expect(decide([], "ready", before)).toEqual(before);
		expect(decide([hook("busy", 700)], null).atMs).toBe(NOW - 700);
	});

	it("is to wait for a person if something other than its input stays on the screen", () => {
		const hidden = { ...shows("unknown"), hidesInput: true };
		const facts = { hasRecords: true, tellsTurnEnds: true, nowMs: NOW, screen: hidden };
		const decided = (activity: Activity, agoMs: number) =>
			decideActivity(nothing, { ...facts, signs: [hook(activity, agoMs)] }).activity;
		expect(decided("ready", 60_000)).toBe("waiting_input");
		expect(decided("ready", 1_000)).toBe("ready");
		expect(decided("busy", 60_000)).toBe("busy");
	});

	it("is kept during a redraw, but not for long", () => {
		const seen = (agoMs: number) =>
			({ ...nothing, activity: "busy", source: "screen", atMs: NOW - agoMs }) as const;
		expect(decide([], "unknown", seen(1_000)).activity).toBe("busy");
		expect(decide([], "unknown", seen(60_000)).activity).toBe("unknown");
	});
});

describe("a stall", () => {
	const settings = { afterMs: 1_000, steps: ["interrupt", "restart"] } as const;
	const busy = { activity: "busy", progress: false, inTool: false, nowMs: 1_000 } as const;
	const start = { sinceMs: 0, found: 0 };

	it("leads to one step after the other, each after the same time again", () => {
		const first = decideStall(start, busy, settings);
		expect(first.step).toBe("interrupt");
		expect(decideStall(first.state, { ...busy, nowMs: 1_500 }, settings).step).toBeNull();
		const second = decideStall(first.state, { ...busy, nowMs: 2_000 }, settings);
		expect(second.step).toBe("restart");
		expect(decideStall(second.state, { ...busy, nowMs: 9_000 }, settings).step).toBeNull();
	});

	it("is at least reported", () => {
		expect(decideStall(start, busy, { afterMs: 1_000, steps: [] }).step).toBe("notice");
	});

	it.each([
		["progress", { progress: true }],
		["a tool that runs", { inTool: true }],
		["an agent that is ready", { activity: "ready" }],
		["an agent that waits for a person", { activity: "waiting_input" }],
	] as const)("is not %s", (_, facts) => {
		expect(decideStall(start, { ...busy, ...facts }, settings)).toEqual({
			state: { sinceMs: 1_000, found: 0 },
			step: null,
		});
	});
});

it("uses the CLI's text about its own retries as the detail while it is busy", () => {
	const facts = { signs: [], hasRecords: true, tellsTurnEnds: false, nowMs: NOW };
	const retrying = "529 · Retrying in 4s";
	const decided = (activity: Activity) =>
		decideActivity(nothing, { ...facts, screen: { ...shows(activity), retrying } }).detail;
	expect(decided("busy")).toBe(`retried (overloaded): ${retrying}`);
	expect(decided("ready")).toBeNull();
});

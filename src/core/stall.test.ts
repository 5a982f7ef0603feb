import { describe, expect, test } from "vitest";
import { type Connection, decideStall, haveStreamed, haveWorked } from "./stall.js";

const SETTINGS = { afterMs: 1_000, steps: ["nudge", "interrupt"] } as const;
const silent = (nowMs: number) =>
	({ activity: "busy", progress: false, inTool: false, nowMs }) as const;

test("a stall is reported once, then each step follows after the same time again", () => {
	let state = { sinceMs: 0, found: 0 };
	const steps: unknown[] = [];
	for (let nowMs = 0; nowMs <= 6_000; nowMs += 500) {
		const decided = decideStall(state, silent(nowMs), SETTINGS);
		state = decided.state;
		if (decided.step !== null) steps.push([nowMs, decided.step]);
	}
	expect(steps).toEqual([
		[1_000, "nudge"],
		[2_000, "interrupt"],
	]);
});

test("without steps, a stall is only reported", () => {
	const decided = decideStall({ sinceMs: 0, found: 0 }, silent(1_000), {
		afterMs: 1_000,
		steps: [],
	});
	expect(decided.step).toBe("notice");
});

test.each([
	["progress", { progress: true }],
	["a tool that runs", { inTool: true }],
	["an agent that is ready", { activity: "ready" as const }],
])("%s ends a stall", (_, facts) => {
	const decided = decideStall({ sinceMs: 0, found: 1 }, { ...silent(9_000), ...facts }, SETTINGS);
	expect(decided).toEqual({ state: { sinceMs: 9_000, found: 0 }, step: null });
});

test("tools have worked if a process started or exited, or if they used the CPU", () => {
	const before = { processes: "1", cpuMs: 100 };
	expect(haveWorked(before, { processes: "1 2", cpuMs: 100 }, 1_000)).toBe(true);
	expect(haveWorked(before, { processes: "1", cpuMs: 110 }, 1_000)).toBe(true);
	expect(haveWorked(before, { processes: "1", cpuMs: 109 }, 1_000)).toBe(false);
});

describe("an answer has arrived", () => {
	const idle: Connection = { id: "1", sentBytes: 30_000, receivedBytes: 500, segments: 2 };
	const grown = (received: number, segments: number, sent = 0): readonly Connection[] => [
		{
			id: "1",
			sentBytes: idle.sentBytes + sent,
			receivedBytes: idle.receivedBytes + received,
			segments: idle.segments + segments,
		},
	];

	test.each([
		["with one event", grown(131, 1), true],
		["with events of the same length", grown(393, 3), true],
		["with events between keep-alives", grown(131 + 4 * 54, 5), true],
		["while HTTP/2 acknowledges it", grown(262, 2, 40), true],
		["not with nothing", grown(0, 0), false],
		["not with keep-alives", grown(40 * 54, 40), false],
		["not with the response to a new request", grown(2_000, 3, 20_000), false],
		["not on a new connection", [{ ...idle, id: "2", receivedBytes: 9_000 }], false],
	])("%s", (_, now, expected) => {
		expect(haveStreamed([idle], now)).toBe(expected);
	});
});

import { describe, expect, test } from "vitest";
import type { EventMap, EventType, ReeveEvent } from "./events.js";
import { addToHistory, cutHistory, forgetBefore, newHistory } from "./history.js";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

function historyOf(
	events: readonly { [Type in EventType]: readonly [number, Type, EventMap[Type]] }[EventType][],
	fromMs = 0,
) {
	const history = newHistory();
	for (const [atMs, type, data] of events) {
		addToHistory(history, { seq: 1, at: "", agent: "p:a", type, data } as ReeveEvent, {
			atMs,
			fromMs,
		});
	}
	return history;
}

const activity = (
	from: "busy" | "ready" | "waiting_input",
	to: "busy" | "ready" | "waiting_input",
) => ({ from, to, source: null, detail: null }) as const;
const exited = (uptimeMs: number) =>
	({
		code: 1,
		signal: null,
		cause: "crash",
		kind: "transient",
		class: "transient",
		uptime_ms: uptimeMs,
	}) as unknown as EventMap["agent.exited"];
const decided = (action: "restart" | "park" | "halt" | "ask_operator") =>
	({ policy: "healthy", action, after_ms: 1, reason: "" }) as const;

describe("the history of an agent", () => {
	test("has its runs with their ends, and the waits between them", () => {
		const history = historyOf([
			[10 * MINUTE, "agent.exited", exited(9 * MINUTE)],
			[10 * MINUTE, "agent.decided", decided("restart")],
			[11 * MINUTE, "agent.started", { pid: 1, with_continue: false }],
		]);
		expect(cutHistory(history, 0, 20 * MINUTE)).toEqual({
			runs: [{ startMs: MINUTE, endMs: 10 * MINUTE, cause: "crash", class: "transient" }],
			work: [],
			waits: [{ startMs: 10 * MINUTE, endMs: 11 * MINUTE, kind: "restart" }],
			restarts: 1,
		});
	});

	test("has its work, also what began before the window and lasts after it", () => {
		const history = historyOf(
			[
				[5 * MINUTE, "agent.activity", activity("busy", "waiting_input")],
				[8 * MINUTE, "agent.activity", activity("waiting_input", "busy")],
			],
			2 * MINUTE,
		);
		const { work, waits } = cutHistory(history, 2 * MINUTE, 9 * MINUTE);
		expect(work).toEqual([
			{ startMs: 2 * MINUTE, endMs: 5 * MINUTE },
			{ startMs: 8 * MINUTE, endMs: 9 * MINUTE },
		]);
		expect(waits).toEqual([{ startMs: 5 * MINUTE, endMs: 8 * MINUTE, kind: "input" }]);
	});

	test("joins work with short gaps, and is bounded however often it changes", () => {
		const events = Array.from({ length: 20_000 }, (_, n) => {
			const isStart = n % 2 === 0;
			const change = isStart ? activity("ready", "busy") : activity("busy", "ready");
			return [n * 20 * SECOND, "agent.activity", change] as const;
		});
		const { work } = cutHistory(historyOf(events), 0, 20_000 * 20 * SECOND);
		expect(work.length).toBeLessThanOrEqual(301);
		expect(work[0]?.startMs).toBe(0);
		expect(work.at(-1)?.endMs).toBe(19_999 * 20 * SECOND);
	});

	test("ends an open wait when the agent starts or is stopped", () => {
		const history = historyOf([
			[MINUTE, "agent.decided", decided("park")],
			[3 * MINUTE, "agent.desired", { desired: "down", by: "operator" }],
		]);
		const { waits } = cutHistory(history, 0, 9 * MINUTE);
		expect(waits).toEqual([{ startMs: MINUTE, endMs: 3 * MINUTE, kind: "limit" }]);
	});

	test("forgets runs that ended before a time", () => {
		const history = historyOf([
			[MINUTE, "agent.exited", exited(SECOND)],
			[9 * MINUTE, "agent.exited", exited(SECOND)],
		]);
		forgetBefore(history, 5 * MINUTE);
		expect(history.runs).toHaveLength(1);
	});

	test("shows waits for a person and for a limit until they are over", () => {
		const limit = { ...activity("ready", "ready"), to: "rate_limited" as const };
		const history = historyOf([
			[MINUTE, "agent.activity", limit],
			[2 * MINUTE, "agent.activity", activity("ready", "ready")],
			[3 * MINUTE, "agent.decided", decided("ask_operator")],
			[3 * MINUTE + 500, "agent.answered", {} as EventMap["agent.answered"]],
			[4 * MINUTE, "agent.decided", decided("ask_operator")],
			[6 * MINUTE, "agent.removed", {} as EventMap["agent.removed"]],
			[7 * MINUTE, "agent.decided", decided("halt")],
		]);
		// A wait of less than a second is not worth showing.
		expect(cutHistory(history, 0, 9 * MINUTE).waits).toEqual([
			{ startMs: MINUTE, endMs: 2 * MINUTE, kind: "limit" },
			{ startMs: 4 * MINUTE, endMs: 6 * MINUTE, kind: "input" },
		]);
	});

	test("counts the time of tasks as work, and ignores other events", () => {
		const task = (durationMs: number | null) =>
			({ duration_ms: durationMs }) as EventMap["task.changed"];
		const history = historyOf([
			[MINUTE, "task.changed", task(null)],
			[5 * MINUTE, "task.changed", task(2 * MINUTE)],
			[6 * MINUTE, "agent.ready", {} as EventMap["agent.ready"]],
		]);
		const { work } = cutHistory(history, 0, 9 * MINUTE);
		expect(work).toEqual([{ startMs: 3 * MINUTE, endMs: 5 * MINUTE }]);
	});

	test("keeps a bounded number of runs and waits, and never forgets what is open", () => {
		const events = Array.from({ length: 600 }, (_, n) => [
			[n * MINUTE, "agent.exited", exited(SECOND)] as const,
			[n * MINUTE, "agent.decided", decided("restart")] as const,
			[n * MINUTE + 30 * SECOND, "agent.started", { pid: 1, with_continue: false }] as const,
		]).flat();
		const history = historyOf(events);
		expect(history.runs).toHaveLength(500);
		expect(history.waits).toHaveLength(300);
		const open = { startMs: 600 * MINUTE, endMs: null, cause: null, class: null };
		history.runs.push(open);
		expect(cutHistory(history, 900 * MINUTE, 901 * MINUTE).runs).toEqual([open]);
		forgetBefore(history, 900 * MINUTE);
		expect(history).toMatchObject({ runs: [open], work: [], waits: [], restarts: [] });
	});
});

import { describe, expect, test } from "vitest";
import {
	applyPlanEvent,
	decidePlan,
	type FailureMode,
	PLAN_EVENTS,
	PLAN_STATUSES,
	type PlanEventType,
	type PlanStatus,
	type PlanTask,
} from "./plan.js";
import type { TaskStatus } from "./task.js";

const MOVES: Partial<Record<`${PlanStatus} ${PlanEventType}`, PlanStatus>> = {
	"draft submit": "pending",
	"draft fail": "failed",
	"draft cancel": "cancelled",
	"pending start": "running",
	"pending fail": "failed",
	"pending cancel": "cancelled",
	"running succeed": "succeeded",
	"running fail": "failed",
	"running cancel": "cancelled",
};

describe("every plan status with every event", () => {
	const grid = PLAN_STATUSES.flatMap((status) => PLAN_EVENTS.map((event) => ({ status, event })));
	test.each(grid)("$status + $event", ({ status, event }) => {
		const change = applyPlanEvent(status, event);
		const target = MOVES[`${status} ${event}`];
		expect(change).toMatchObject({ status: target ?? status, changed: target !== undefined });
		expect(change.reason).not.toBe("");
	});
});

const task = (status: TaskStatus, dependsOn: string[] = [], released = true): PlanTask => ({
	status,
	dependsOn,
	released,
});

describe("a running plan", () => {
	test("releases a task once all that it depends on has succeeded", () => {
		const tasks = {
			a: task("succeeded"),
			b: task("in_progress"),
			c: task("queued", ["a"], false),
			d: task("queued", ["a", "b"], false),
		};
		expect(decidePlan(tasks, "fail_fast")).toEqual({
			release: ["c"],
			cancel: [],
			end: null,
			reason: "3 of 4 tasks left",
		});
	});

	test("succeeds when all its tasks have", () => {
		expect(decidePlan({ a: task("succeeded"), b: task("succeeded") }, "continue")).toMatchObject({
			end: "succeed",
			reason: "all 2 tasks succeeded",
		});
	});

	test("T11 fails at once on a dead letter, cancelling all that is open, when it fails fast", () => {
		const tasks = {
			a: task("dead_lettered"),
			b: task("in_progress"),
			c: task("queued", ["b"], false),
		};
		expect(decidePlan(tasks, "fail_fast")).toEqual({
			release: [],
			cancel: ["b", "c"],
			end: "fail",
			reason: "task a dead-lettered",
		});
	});

	test("lets independent branches finish first when it continues, and then fails", () => {
		const tasks = {
			a: task("dead_lettered"),
			b: task("in_progress"),
			c: task("queued", ["a"], false),
			d: task("queued", ["c"], false),
		};
		expect(decidePlan(tasks, "continue")).toMatchObject({ cancel: ["c", "d"], end: null });
		const done = { ...tasks, b: task("dead_lettered"), c: task("cancelled"), d: task("cancelled") };
		expect(decidePlan(done, "continue")).toMatchObject({
			end: "fail",
			reason: "tasks a, b dead-lettered",
		});
	});

	test.each<FailureMode>(["fail_fast", "continue"])(
		"is cancelled when a task was cancelled and none is left (%s)",
		(mode) => {
			const tasks = { a: task("cancelled"), b: task("queued", ["a"], false), c: task("succeeded") };
			expect(decidePlan(tasks, mode)).toMatchObject({
				cancel: ["b"],
				end: "cancel",
				reason: "tasks a, b cancelled",
			});
		},
	);

	test("cancels tasks that depend on a task that does not exist, and is cancelled as well", () => {
		const tasks = { a: task("succeeded"), b: task("queued", ["a", "nowhere"], false) };
		expect(decidePlan(tasks, "continue")).toMatchObject({
			release: [],
			cancel: ["b"],
			end: "cancel",
			reason: "task b cancelled",
		});
	});

	test("fails when all that is left waits in a cycle", () => {
		const tasks = { a: task("queued", ["b"], false), b: task("queued", ["a"], false) };
		expect(decidePlan(tasks, "continue")).toEqual({
			release: [],
			cancel: ["a", "b"],
			end: "fail",
			reason: "tasks a, b depend on each other in a cycle",
		});
	});

	test("decides over a chain of thousands in one go", () => {
		const chain = Object.fromEntries(
			Array.from({ length: 20_000 }, (_, n) => [
				`t${n}`,
				task("queued", n === 0 ? [] : [`t${n - 1}`], false),
			]),
		);
		expect(decidePlan(chain, "continue")).toMatchObject({ release: ["t0"], end: null });
	});
});

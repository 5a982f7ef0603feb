import { describe, expect, test } from "vitest";
import {
	applyTaskEvent,
	isEnded,
	newTask,
	TASK_EVENTS,
	TASK_STATUSES,
	TASK_TABLE,
	type TaskEvent,
	type TaskEventType,
	type TaskStatus,
} from "./task.js";

const task = (status: TaskStatus, attempts = 1) => ({ status, attempts, maxAttempts: 3 });

/** The event of this type, from the current attempt if it belongs to one. */
function eventOf(type: TaskEventType): TaskEvent {
	return type === "succeed" || type === "retry" || type === "dead_letter"
		? { type, attempt: 1 }
		: { type };
}

/** Every cell that changes the status. All others keep it. */
const MOVES: Partial<Record<`${TaskStatus} ${TaskEventType}`, TaskStatus>> = {
	"queued dispatch": "dispatched",
	"queued dead_letter": "dead_lettered",
	"queued cancel": "cancelled",
	"dispatched start": "in_progress",
	"dispatched dead_letter": "dead_lettered",
	"dispatched cancel": "cancelled",
	"dispatched requeue": "queued",
	"in_progress succeed": "succeeded",
	"in_progress retry": "retried",
	"in_progress dead_letter": "dead_lettered",
	"in_progress cancel": "cancelled",
	"retried dispatch": "dispatched",
	"retried dead_letter": "dead_lettered",
	"retried cancel": "cancelled",
};

describe("every status with every event", () => {
	const grid = TASK_STATUSES.flatMap((status) => TASK_EVENTS.map((event) => ({ status, event })));
	test.each(grid)("$status + $event", ({ status, event }) => {
		const change = applyTaskEvent(task(status), eventOf(event));
		const target = MOVES[`${status} ${event}`];
		expect(change.task.status).toBe(target ?? status);
		expect(change.changed).toBe(target !== undefined);
		expect(change.reason).not.toBe("");
	});
});

test("T2 nothing leads out of an end", () => {
	for (const status of TASK_STATUSES.filter(isEnded)) {
		for (const cell of Object.values(TASK_TABLE[status])) expect(cell).toHaveProperty("stay");
	}
});

test("T3 an attempt beyond the last is never begun", () => {
	const spent = applyTaskEvent(task("dispatched", 3), { type: "start" });
	expect(spent).toMatchObject({ changed: false, reason: "all 3 attempts are used up" });
	expect(applyTaskEvent(newTask(1), { type: "dispatch" }).task.attempts).toBe(0);
	expect(newTask(0).maxAttempts).toBe(1);
	expect(applyTaskEvent(task("dispatched", 1), { type: "start" })).toMatchObject({
		task: { status: "in_progress", attempts: 2 },
		reason: "attempt 2 of 3",
	});
});

test("a task that cannot be attempted is a dead letter without an attempt", () => {
	const change = applyTaskEvent(newTask(3), { type: "dead_letter", attempt: null });
	expect(change.task).toEqual({ status: "dead_lettered", attempts: 0, maxAttempts: 3 });
});

test("T7 an answer to an earlier attempt changes nothing", () => {
	const late = applyTaskEvent(task("in_progress", 2), { type: "succeed", attempt: 1 });
	expect(late).toMatchObject({
		task: { status: "in_progress" },
		changed: false,
		reason: "attempt 1 is not the current attempt (2)",
	});
	expect(applyTaskEvent(task("in_progress", 2), { type: "succeed", attempt: 2 }).changed).toBe(
		true,
	);
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ReadyQueue, type Waiting } from "./ready-queue.js";

const waiting = (agentId: string, number: number, priority = 0): Waiting => ({
	agentId,
	number,
	priority,
	sinceMs: 0,
	taskId: `${agentId}-${number}`,
});

function drain(queue: ReadyQueue, mayServe = (_: string) => true): string[] {
	const taken: string[] = [];
	for (let next = queue.take(mayServe); next !== null; next = queue.take(mayServe)) {
		taken.push(next.taskId);
	}
	return taken;
}

describe("ReadyQueue", () => {
	it("lets agents take turns, however many tasks one of them has", () => {
		const queue = new ReadyQueue();
		for (const number of [1, 2, 3, 4]) queue.add(waiting("a", number));
		queue.add(waiting("b", 5));
		queue.add(waiting("c", 6));
		expect(drain(queue)).toEqual(["a-1", "b-5", "c-6", "a-2", "a-3", "a-4"]);
	});

	it("passes over an agent that may not be served now and keeps its tasks", () => {
		const queue = new ReadyQueue();
		queue.add(waiting("a", 1));
		queue.add(waiting("b", 2));
		expect(drain(queue, (agent) => agent !== "a")).toEqual(["b-2"]);
		expect(queue.size).toBe(1);
		expect(drain(queue)).toEqual(["a-1"]);
	});

	it("removes the tasks of one agent that are not wanted, and keeps the order of the rest", () => {
		const queue = new ReadyQueue();
		for (const number of [1, 2, 3, 4, 5]) queue.add(waiting("a", number, number));
		queue.add(waiting("b", 6));
		const removed = queue.removeUnless("a", ({ number }) => number % 2 === 0);
		expect(removed.map(({ number }) => number).toSorted()).toEqual([1, 3, 5]);
		expect(queue.size).toBe(3);
		expect(drain(queue)).toEqual(["a-4", "b-6", "a-2"]);
		expect(queue.removeUnless("a", () => false)).toEqual([]);
	});

	it("serves higher priorities first, and equal ones in the order of arrival", () => {
		const one = fc.record({ priority: fc.integer({ min: -5, max: 5 }) });
		fc.assert(
			fc.property(fc.array(one, { maxLength: 60 }), (tasks) => {
				const all = tasks.map(({ priority }, number) => waiting("a", number, priority));
				const queue = new ReadyQueue();
				for (const each of all) queue.add(each);
				const expected = all.toSorted((a, b) => b.priority - a.priority || a.number - b.number);
				expect(drain(queue)).toEqual(expected.map(({ taskId }) => taskId));
				expect(queue.size).toBe(0);
			}),
		);
	});
});

/** The tasks, plans and circuits of the store in memory. */

import { isEnded, type TaskStatus } from "../../src/core/task.js";
import type {
	StoredAttempt,
	StoredBreaker,
	StoredPlan,
	StoredTask,
	TaskInput,
	TaskReads,
	TaskWrites,
} from "../../src/ports/task-store.js";
import type { Journal } from "./memory-journal.js";

export interface MemoryTasks {
	readonly writes: TaskWrites;
	readonly reads: TaskReads;
}

export function createMemoryTasks(journal: Journal): MemoryTasks {
	const tasks = new Map<string, StoredTask>();
	const inputs = new Map<string, TaskInput>();
	const results = new Map<string, unknown>();
	const attempts = new Map<string, StoredAttempt[]>();
	const plans = new Map<string, StoredPlan>();
	const breakers = new Map<string, StoredBreaker>();
	const newestFirst = <T>(
		all: Iterable<T>,
		idOf: (each: T) => string,
		{ before, limit }: { readonly before?: string; readonly limit: number },
		wanted: (each: T) => boolean,
	): T[] => {
		const ordered = [...all].toReversed();
		const from = before === undefined ? 0 : ordered.findIndex((each) => idOf(each) === before) + 1;
		return ordered.slice(from).filter(wanted).slice(0, Math.max(limit, 0));
	};
	return {
		writes: {
			putTask(task) {
				const before = tasks.get(task.taskId);
				if (before !== undefined && isEnded(before.status) && before.status !== task.status) {
					throw new Error(`T2: task ${task.taskId} has ended as ${before.status}`);
				}
				if (task.idempotencyKey !== null) {
					const other = [...tasks.values()].find(
						({ idempotencyKey, taskId }) =>
							idempotencyKey === task.idempotencyKey && taskId !== task.taskId,
					);
					if (other !== undefined) throw new Error(`T5: ${other.taskId} has the same key`);
				}
				journal.set(tasks, task.taskId, copy(task));
			},
			putTaskInput: (taskId, input) => journal.set(inputs, taskId, copy(input)),
			putTaskResult: (taskId, result) => journal.set(results, taskId, copy(result ?? null)),
			putAttempt(attempt) {
				const known = attempts.get(attempt.taskId) ?? [];
				if (known.some(({ n }) => n === attempt.n)) throw new Error(`attempt ${attempt.n} twice`);
				const all = [...known, copy(attempt)].sort((a, b) => a.n - b.n);
				journal.set(attempts, attempt.taskId, all);
			},
			putPlan: (plan) => journal.set(plans, plan.planId, copy(plan)),
			putBreaker: (breaker) => journal.set(breakers, breaker.agentId, copy(breaker)),
		},
		reads: {
			readOpenTasks: () => [...tasks.values()].filter(({ status }) => !isEnded(status)),
			readTask: (taskId) => tasks.get(taskId) ?? null,
			readTasks: (query) =>
				newestFirst(
					tasks.values(),
					({ taskId }) => taskId,
					query,
					(task) =>
						hasPart(task.taskId, query.part) &&
						isInside(task.agentId, query.within) &&
						(query.agent ?? task.agentId) === task.agentId &&
						(query.status ?? task.status) === task.status &&
						(query.plan ?? task.planId) === task.planId &&
						(query.sinceMs ?? 0) <= task.createdAtMs &&
						(query.openLetters !== true ||
							(task.status === "dead_lettered" && task.letter === null)),
				),
			countTasks({ agent, within, plan, sinceMs }) {
				const counts: Partial<Record<TaskStatus, number>> = {};
				for (const task of tasks.values()) {
					const fits =
						(agent ?? task.agentId) === task.agentId &&
						isInside(task.agentId, within) &&
						(plan ?? task.planId) === task.planId &&
						(sinceMs ?? 0) <= task.createdAtMs;
					if (fits) counts[task.status] = (counts[task.status] ?? 0) + 1;
				}
				return counts;
			},
			countLetters() {
				const open = [...tasks.values()].filter(
					({ status, letter }) => status === "dead_lettered" && letter === null,
				);
				return [...new Set(open.map(({ agentId }) => agentId))].map((agentId) => {
					const own = open.filter((task) => task.agentId === agentId);
					const sinceMs = Math.min(...own.map(({ createdAtMs }) => createdAtMs));
					return { agentId, count: own.length, sinceMs };
				});
			},
			readTaskInput: (taskId) => inputs.get(taskId) ?? null,
			readTaskResult: (taskId) => results.get(taskId),
			readAttempts: (taskId) => attempts.get(taskId) ?? [],
			findTask: (key) => [...tasks.values()].find((task) => task.idempotencyKey === key) ?? null,
			readPlan: (planId) => plans.get(planId) ?? null,
			readOpenPlans: () =>
				[...plans.values()].filter(({ status }) => status === "pending" || status === "running"),
			readPlans: (query) =>
				newestFirst(
					plans.values(),
					({ planId }) => planId,
					query,
					(plan) =>
						hasPart(plan.planId, query.part) &&
						(query.status ?? plan.status) === plan.status &&
						(query.sinceMs ?? 0) <= plan.createdAtMs,
				),
			findPlan: (key) => [...plans.values()].find((plan) => plan.idempotencyKey === key) ?? null,
			readBreakers: () => [...breakers.values()],
		},
	};
}

function isInside(agentId: string, within: string | undefined): boolean {
	return within === undefined || agentId === within || agentId.startsWith(`${within}:`);
}

function hasPart(id: string, part = ""): boolean {
	return id.startsWith(part) || id.endsWith(part);
}

/** As if it had been written to disk and read back. */
function copy<T>(value: T): T {
	return JSON.parse(JSON.stringify(value)) as T;
}

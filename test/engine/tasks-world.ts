/**
 * Tasks for scripted agents, in memory and on a manual clock. The daemon can be killed at any moment: from then on, its
 * unfinished operations have no effect.
 */

import type { ActionRequest, Outcome } from "../../src/core/outcome.js";
import { RunningAttempts } from "../../src/engine/tasks/running-attempts.js";
import { Tasks } from "../../src/engine/tasks/tasks.js";
import type { AttemptOrder } from "../../src/engine/tasks/tasks-world.js";
import type { Clock } from "../../src/ports/clock.js";
import type { AttemptEnd } from "../../src/ports/executor.js";
import type { Store } from "../../src/ports/store.js";
import { createManualClock, type ManualClock } from "../../src/testing/manual-clock.js";
import { createMemoryStore, type MemoryStore } from "../support/memory-store.js";
import { fleetOf, NO_TASK_LOG } from "./daemon-world.js";
import { mortal } from "./mortal.js";

/** How an agent handles a request: responds, fails, or holds it until the test decides. */
export type Script = (request: ActionRequest, attempt: RunningAttempt) => AttemptEnd | null;

export interface RunningAttempt {
	readonly order: AttemptOrder;
	readonly aborted: boolean;
	end(end: AttemptEnd): void;
}

export interface TasksHost {
	readonly clock: ManualClock;
	readonly store: MemoryStore;
	tasks: Tasks;
	script: Script;
	/** Currently running. */
	readonly running: ReadonlySet<RunningAttempt>;
	/** All started attempts, by request id. */
	readonly begun: string[];
	/** The maximum number that ever ran at once. */
	readonly peak: { count: number };
	/** Runs that a new daemon was asked to kill. */
	readonly ended: string[];
	readonly errors: unknown[];
	/** Whether processes of an earlier daemon cannot be killed. */
	immortal: boolean;
	/** The reason that calls are refused for the rest of the day. */
	spent: string | null;
	/** Whether the account of every agent waits for the end of a limit. */
	limited: boolean;
	settle(): Promise<void>;
	pass(ms: number): Promise<void>;
	killAndRestart(awayMs?: number): Promise<void>;
}

export const answered = (result: unknown = null): AttemptEnd => ({
	outcome: { ok: true, result },
	log: "",
});

export const failedWith = (
	error: Extract<Outcome, { ok: false }>["error"],
	more: { reason?: string; retryAfterMs?: number } = {},
): AttemptEnd => ({
	outcome: {
		ok: false,
		error,
		reason: more.reason ?? error,
		retryAfterMs: more.retryAfterMs ?? null,
	},
	log: "what it said\n",
});

const NO_JITTER = "retry: { jitter: 0 }";
const TOOL = `tool: { kind: call, command: [tool], ${NO_JITTER} }`;

export async function createTasksHost({
	agents = TOOL,
	concurrency = 16,
	random = () => 0,
}: {
	readonly agents?: string;
	readonly concurrency?: number;
	readonly random?: () => number;
} = {}): Promise<TasksHost> {
	const clock = createManualClock({ steadyMs: 0, wallMs: 1_700_000_000_000 });
	const store = createMemoryStore();
	const specs = new Map(
		fleetOf(`${agents}\nsession: { command: [x] }`).agents.map((spec) => [spec.id, spec]),
	);
	const running = new Set<RunningAttempt>();
	const begun: string[] = [];
	const ended: string[] = [];
	const errors: unknown[] = [];
	const peak = { count: 0 };
	let ids = 0;
	let kill = () => {};

	function perform(order: AttemptOrder, signal: AbortSignal): Promise<AttemptEnd> {
		begun.push(order.request.request_id);
		return new Promise((resolve) => {
			const attempt = {
				order,
				get aborted() {
					return signal.aborted;
				},
				end(end: AttemptEnd) {
					running.delete(attempt);
					resolve(end);
				},
			};
			running.add(attempt);
			peak.count = Math.max(peak.count, running.size);
			signal.addEventListener("abort", () => attempt.end({ outcome: null, log: "" }));
			const end = host.script(order.request, attempt);
			if (end !== null) attempt.end(end);
		});
	}

	function start(): Tasks {
		const life = { alive: true };
		kill = () => {
			life.alive = false;
		};
		const mortalClock: Clock = {
			now: clock.now,
			schedule: (ms, task) => clock.schedule(ms, () => life.alive && task()),
		};
		const performer = mortal({ perform }, life);
		return new Tasks({
			store: mortal(store as Store, life),
			clock: mortalClock,
			...{ random, concurrency: { call: concurrency, worker: concurrency } },
			newId: () => `id-${++ids}`,
			running: new RunningAttempts(),
			agents: {
				specOf: (id) => specs.get(id) ?? null,
				overBudget: () => host.spent,
				mayCall: () => !host.limited,
				perform: (order, signal) => performer.perform(order, signal),
			},
			executor: {
				endLeft: async (runIds) => {
					ended.push(...runIds);
					return host.immortal ? runIds.map((runId) => ({ runId, reason: "it does not die" })) : [];
				},
			},
			log: {
				...NO_TASK_LOG,
				failed: (taskId, error) => errors.push(`task ${taskId}: ${String(error)}`),
			},
		});
	}

	const host: TasksHost = {
		...{ clock, store, running, begun, peak, ended, errors },
		tasks: start(),
		script: () => answered(),
		immortal: false,
		spent: null,
		limited: false,
		async settle() {
			for (let turn = 0; turn < 12; turn++) await new Promise(setImmediate);
		},
		async pass(ms) {
			const step = Math.max(50, ms / 40);
			for (let left = ms; left > 0; left -= step) {
				clock.advance(Math.min(step, left));
				await host.settle();
			}
			await host.settle();
		},
		async killAndRestart(awayMs = 0) {
			kill();
			running.clear();
			await host.settle();
			clock.advance(awayMs);
			host.tasks = start();
			await host.tasks.recover();
			await host.settle();
		},
	};
	await host.tasks.recover();
	return host;
}

/**
 * Chooses which task runs next, runs it, and writes down how that ended. An attempt is recorded as
 * begun before anything is started, so that a daemon that dies in between never tries more often than
 * it may; a delay before the next attempt is a stored deadline, so it outlives the daemon too.
 *
 * Keeps T3, T7 and T9 with the tables in core, T6 with the executor (an attempt ends when its tree is
 * gone), T10 (no more under way than allowed, of one agent and of all), B1 and B2.
 */

import type { Permit } from "../../core/breaker.js";
import { type ActionRequest, classifyProcessFailure, type Outcome } from "../../core/outcome.js";
import { decideRetry } from "../../core/retry.js";
import type { AttemptEnd } from "../../ports/executor.js";
import type { StoredTask } from "../../ports/task-store.js";
import { scheduleLong } from "../waiting.js";
import type { Book, Change } from "./book.js";
import type { Breakers, BreakerWrite } from "./breakers.js";
import { type CallableSpec, type CallsWorld, callable } from "./calls-world.js";
import { advancePlan, type PlanWorld } from "./plan-steps.js";
import { ReadyQueue } from "./ready-queue.js";
import { stepTask, taskErrorOf, untriedError } from "./task-state.js";

/** How long to wait before an outcome that could not be stored is tried to be stored again. */
const STORE_AGAIN_MS = 1_000;
const ACCOUNT_LOOK_MS = 1_000;

interface Running {
	readonly agentId: string;
	readonly abort: AbortController;
}

export class Dispatcher {
	readonly #world: CallsWorld;
	readonly #book: Book;
	readonly #breakers: Breakers;
	readonly #ready = new ReadyQueue();
	readonly #running = new Map<string, Running>();
	readonly #perAgent = new Map<string, number>();
	readonly #delayed = new Map<string, () => void>();
	readonly plans: PlanWorld;
	#number = 0;
	#cancelLook: (() => void) | null = null;
	#closed = false;
	/** The attempts under way are left to the next daemon. */
	#abandoned = false;

	constructor(world: CallsWorld, book: Book, breakers: Breakers) {
		this.#world = world;
		this.#book = book;
		this.#breakers = breakers;
		this.plans = {
			book,
			enqueue: (task) => this.enqueue(task),
			abort: (taskId) => this.#running.get(taskId)?.abort.abort(),
		};
	}

	/** Takes a task that may run, now or when it is due. */
	enqueue(task: StoredTask): void {
		const { taskId, agentId, priority, next } = task;
		if (next !== null) {
			// A wall clock that was set back must not make anybody wait longer than was decided.
			const leftMs = Math.max(0, next.dueAtMs - this.#world.clock.now().wallMs);
			this.#delay(task, Math.min(next.afterMs, leftMs));
			return;
		}
		this.#number += 1;
		this.#ready.add({ taskId, agentId, priority, number: this.#number });
		this.pump();
	}

	get running(): number {
		return this.#running.size;
	}

	/** Starts whatever may start now. */
	pump(): void {
		while (!this.#closed) {
			const waiting = this.#ready.take((agentId) => this.#mayServe(agentId));
			if (waiting === null) return;
			const task = this.#book.task(waiting.taskId);
			// It may have been cancelled while it waited.
			if (task?.status === "queued" || task?.status === "retried") this.#dispatch(task);
		}
	}

	/** Lets attempts end by themselves for a while, then ends them; the next daemon takes them up. */
	async close(graceMs: number): Promise<void> {
		this.#closed = true;
		for (const cancel of this.#delayed.values()) cancel();
		this.#cancelLook?.();
		const untilMs = this.#world.clock.now().steadyMs + graceMs;
		while (this.#running.size > 0 && this.#world.clock.now().steadyMs < untilMs) {
			await new Promise<void>((resolve) => this.#world.clock.schedule(CLOSE_LOOK_MS, resolve));
		}
		this.#abandoned = true;
		for (const { abort } of this.#running.values()) abort.abort();
	}

	#delay(task: StoredTask, afterMs: number): void {
		const { taskId } = task;
		const cancel = scheduleLong(this.#world.clock, afterMs, () => {
			this.#delayed.delete(taskId);
			this.enqueue({ ...task, next: null });
		});
		this.#delayed.set(taskId, cancel);
	}

	#specOf(agentId: string): CallableSpec | null {
		return callable(this.#world.specOf(agentId));
	}

	#mayServe(agentId: string): boolean {
		const { circuit, probing } = this.#breakers.state(agentId);
		// Whatever waits for an agent whose circuit is open fails at once, without taking a place.
		if (circuit === "open") return true;
		if (circuit === "half_open" && probing) return false;
		if (this.#running.size >= this.#world.concurrency) return false;
		const limit = this.#specOf(agentId)?.concurrency ?? 1;
		const underWay = this.#perAgent.get(agentId) ?? 0;
		if (underWay >= limit) return false;
		const may = this.#world.mayCall(agentId, underWay);
		if (!may) this.#lookLater();
		return may;
	}

	/** Nobody tells when an account may go on, so it is asked. */
	#lookLater(): void {
		if (this.#closed) return;
		this.#cancelLook ??= this.#world.clock.schedule(ACCOUNT_LOOK_MS, () => {
			this.#cancelLook = null;
			this.pump();
		});
	}

	#dispatch(task: StoredTask): void {
		const { agentId, taskId } = task;
		const spec = this.#specOf(agentId);
		if (spec === null) {
			this.#giveUp(task, `there is no agent ${agentId} any more that takes requests`);
			return;
		}
		const spent = this.#world.overBudget(agentId);
		if (spent !== null) {
			this.#giveUp(task, `${agentId} is not called: ${spent}`);
			return;
		}
		const admission = this.#breakers.admit(agentId);
		if (admission.permit === null) {
			this.#giveUp(task, `${agentId} is not called: ${admission.reason}`, admission);
			return;
		}
		this.#running.set(taskId, { agentId, abort: new AbortController() });
		this.#perAgent.set(agentId, (this.#perAgent.get(agentId) ?? 0) + 1);
		this.#run(task, spec, admission.permit, admission)
			.catch((error: unknown) => this.#world.onError(`task ${taskId}`, error))
			.finally(() => {
				this.#running.delete(taskId);
				this.#perAgent.set(agentId, (this.#perAgent.get(agentId) ?? 1) - 1);
				this.pump();
			});
	}

	/** Ends a task that cannot be tried. */
	#giveUp(task: StoredTask, why: string, circuit?: BreakerWrite): void {
		this.#book
			.commit((change) => {
				circuit?.write(change.transaction, change.atMs);
				const current = this.#book.task(task.taskId);
				if (current === undefined) return;
				const reason = [why, ...lastErrorOf(current)].join("; ");
				const error = untriedError("agent_unavailable", reason);
				const letter = { type: "dead_letter", attempt: null } as const;
				this.#finish(
					change,
					current,
					stepTask(current, letter, change.atMs, { reason, with: { error } }),
				);
			})
			.catch((error: unknown) => this.#world.onError(`task ${task.taskId}`, error));
	}

	async #run(
		task: StoredTask,
		spec: CallableSpec,
		permit: Permit,
		admission: BreakerWrite,
	): Promise<void> {
		const { store, newId, perform } = this.#world;
		const begun = await this.#begin(task.taskId, newId(), admission);
		if (begun === null) {
			await this.#book.commit(({ transaction, atMs }) =>
				this.#breakers.settle(task.agentId, permit, null).write(transaction, atMs),
			);
			return;
		}
		const { runId } = begun.running ?? { runId: "" };
		const input = store.readTaskInput(task.taskId);
		const request = requestFor(begun, spec, input?.payload ?? null, input?.context ?? null);
		const signal = this.#running.get(task.taskId)?.abort.signal ?? AbortSignal.abort();
		const end = await perform({ spec, runId, request, timeoutMs: begun.timeoutMs }, signal);
		// What was ended although nobody called it off ended with its daemon: the next one decides.
		const left = this.#abandoned || (end.outcome === null && !signal.aborted);
		if (!left) await this.#settleSurely(begun, permit, end);
	}

	/** Records that an attempt begins; null when the task was cancelled in the meantime. */
	#begin(taskId: string, runId: string, admission: BreakerWrite): Promise<StoredTask | null> {
		return this.#book.commit((change) => {
			const { transaction, atMs } = change;
			admission.write(transaction, atMs);
			const current = this.#book.task(taskId);
			if (current === undefined) return null;
			const reason = `its turn with ${current.agentId}`;
			const dispatched = stepTask(current, { type: "dispatch" }, atMs, { reason });
			const started = stepTask(dispatched.task, { type: "start" }, atMs, {
				reason: `attempt ${current.attempts + 1} of ${current.retry.maxAttempts}`,
				with: { running: { runId, startedAtMs: atMs } },
			});
			if (!started.changed) return null;
			const events = [...dispatched.events, ...started.events];
			this.#book.putTask(change, { task: started.task, events });
			const plan = this.#book.plan(current.planId);
			if (plan !== undefined) this.#book.stepPlan(change, plan, "start", "its first task began");
			return started.task;
		});
	}

	/** An outcome is not lost because it cannot be stored just now. */
	async #settleSurely(task: StoredTask, permit: Permit | null, end: AttemptEnd): Promise<void> {
		for (;;) {
			try {
				await this.settle(task.taskId, permit, end);
				return;
			} catch (error) {
				if (this.#closed) throw error;
				this.#world.onError(`task ${task.taskId}`, error);
				await new Promise<void>((resolve) => this.#world.clock.schedule(STORE_AGAIN_MS, resolve));
			}
		}
	}

	/** Writes down how an attempt ended, with all that follows from it. */
	async settle(taskId: string, permit: Permit | null, end: AttemptEnd): Promise<void> {
		await this.#book.commit((change) => {
			const { transaction, atMs } = change;
			const task = this.#book.task(taskId);
			if (permit !== null && task !== undefined) {
				this.#breakers.settle(task.agentId, permit, end.outcome).write(transaction, atMs);
			}
			if (task?.running === undefined || task.running === null) return;
			const durationMs = Math.max(0, atMs - task.running.startedAtMs);
			this.#recordAttempt(change, task, end);
			const { outcome } = end;
			if (outcome === null) {
				const cancelled = { reason: "cancelled while it ran", durationMs };
				this.#finish(change, task, stepTask(task, { type: "cancel" }, atMs, cancelled));
				return;
			}
			this.#decide(change, task, outcome, durationMs);
		});
	}

	#decide(change: Change, task: StoredTask, outcome: Outcome, durationMs: number): void {
		const { attempts: attempt, taskId, idempotent } = task;
		const { atMs } = change;
		const decision = decideRetry(
			{ attempt, outcome, idempotent, random: this.#world.random() },
			task.retry,
		);
		const { reason } = decision;
		this.#world.log(reason, {
			agent: task.agentId,
			task: taskId,
			correlation_id: task.correlationId,
		});
		if (outcome.ok) {
			change.transaction.putTaskResult(taskId, outcome.result);
			this.#book.plan(task.planId)?.results.set(task.name, outcome.result ?? null);
			const step = stepTask(task, { type: "succeed", attempt }, atMs, { reason, durationMs });
			this.#finish(change, task, step);
			return;
		}
		const failed = { reason, durationMs, error: outcome.error };
		const error = taskErrorOf(outcome);
		if (decision.type !== "retry") {
			const letter = { type: "dead_letter", attempt } as const;
			this.#finish(change, task, stepTask(task, letter, atMs, { ...failed, with: { error } }));
			return;
		}
		const { afterMs } = decision;
		const next = { dueAtMs: atMs + afterMs, afterMs };
		const step = stepTask(task, { type: "retry", attempt }, atMs, {
			...failed,
			with: { error, next },
		});
		this.#book.putTask(change, step);
		change.after(() => this.enqueue(step.task));
	}

	#recordAttempt({ transaction, atMs }: Change, task: StoredTask, end: AttemptEnd): void {
		const { taskId, attempts: n, running } = task;
		const { outcome, log } = end;
		const error =
			outcome === null || outcome.ok ? null : { kind: outcome.error, message: outcome.reason };
		const { runId = "", startedAtMs = atMs } = running ?? {};
		transaction.putAttempt({ taskId, n, runId, startedAtMs, endedAtMs: atMs, error, log });
	}

	/** Writes a task's end and lets its plan go on. */
	#finish(change: Change, task: StoredTask, step: ReturnType<typeof stepTask>): void {
		if (!step.changed) return;
		this.#book.putTask(change, step);
		const plan = this.#book.plan(task.planId);
		if (plan !== undefined) advancePlan(this.plans, change, plan);
	}
}

const CLOSE_LOOK_MS = 50;

/** What became of the last attempt, in words, if there was one. */
function lastErrorOf({ attempts, error }: StoredTask): readonly string[] {
	if (attempts === 0 || error === null) return [];
	return [`attempt ${attempts} failed: ${error.kind ?? error.code}: ${error.message}`];
}

/** How an attempt ended with its daemon; `left` says why something of it is not proven to be gone. */
export function interruptedWith(left: string | undefined): AttemptEnd {
	const outcome = classifyProcessFailure(
		left === undefined ? { type: "interrupted" } : { type: "left_alive", detail: left },
	);
	return { outcome, log: "" };
}

const API_VERSION = "v1";

/** The request id is the attempt's own, so that the answer to an earlier attempt is known as late (T7). */
function requestFor(
	task: StoredTask,
	spec: CallableSpec,
	payload: unknown,
	context: unknown,
): ActionRequest {
	return {
		request_id: `${task.taskId}.${task.attempts}`,
		api_version: API_VERSION,
		tool: spec.name,
		action: task.action,
		context: context ?? {},
		payload,
		plan_id: task.planId,
		task_id: task.taskId,
		correlation_id: task.correlationId,
	};
}

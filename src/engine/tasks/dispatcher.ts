/**
 * Selects the next task and runs it; `attempt-ends` records the outcome. The start of an attempt is recorded before
 * anything is started, so that a daemon that dies in between never exceeds the number of attempts; the
 * delay before the next attempt is a stored deadline, so it survives the daemon too.
 *
 * Keeps T3, T7 and T9 with the tables in core, T6 with the executor (an attempt ends when its tree is
 * gone), T10 (limits per agent and in total), B1 and B2.
 */

import type { Permit } from "../../core/breaker.js";
import { longestTaskMs } from "../../core/retry.js";
import { renderElapsed } from "../../core/units.js";
import type { AttemptEnd } from "../../ports/executor.js";
import type { StoredTask, TaskInput } from "../../ports/task-store.js";
import { scheduleLong } from "../waiting.js";
import { beginAttempt, lastErrorOf, requestFor } from "./attempt.js";
import { AttemptEnds } from "./attempt-ends.js";
import type { Book, Change } from "./book.js";
import type { Breakers, BreakerWrite } from "./breakers.js";
import { CircuitGate } from "./circuit-gate.js";
import type { PlanWorld } from "./plan-steps.js";
import { ReadyQueue } from "./ready-queue.js";
import type { RunningAttempts } from "./running-attempts.js";
import { stepTask, type TaskStep, untriedError } from "./task-state.js";
import { type CallableSpec, callable, type TasksWorld } from "./tasks-world.js";

/** The delay before storing an outcome is retried. */
const STORE_AGAIN_MS = 1_000;
const ACCOUNT_POLL_MS = 1_000;

export class Dispatcher {
	readonly #world: TasksWorld;
	readonly #book: Book;
	readonly #breakers: Breakers;
	readonly #gate: CircuitGate;
	readonly #ready = new ReadyQueue();
	readonly #running: RunningAttempts;
	readonly #delayed = new Map<string, () => void>();
	readonly plans: PlanWorld;
	readonly ends: AttemptEnds;
	#number = 0;
	#cancelCheck: (() => void) | null = null;
	#closed = false;
	/** Running attempts are left to the next daemon. */
	#abandoned = false;

	constructor(world: TasksWorld, book: Book, breakers: Breakers) {
		this.#world = world;
		this.#running = world.running;
		this.#book = book;
		this.#breakers = breakers;
		this.#gate = new CircuitGate({
			clock: world.clock,
			breakers,
			isOpen: (taskId) => book.task(taskId) !== undefined,
			look: (agentId) => {
				this.#endOverdue(agentId);
				this.pump();
			},
		});
		this.plans = {
			book,
			enqueue: (task) => this.enqueue(task),
			abort: (taskId) => this.#running.abort(taskId),
		};
		this.ends = new AttemptEnds(world, breakers, this.#gate, this.plans);
	}

	/** Queues a task, now or when it is due. */
	enqueue(task: StoredTask): void {
		const { taskId, agentId, priority, next } = task;
		if (next !== null) {
			// A wall clock that was set back must not extend the decided delay.
			const leftMs = Math.max(0, next.dueAtMs - this.#world.clock.now().wallMs);
			this.#delay(task, Math.min(next.afterMs, leftMs));
			return;
		}
		this.#number += 1;
		// The others wait for the result of the probe.
		const isProbe = this.#gate.isProbe(agentId, taskId);
		this.#ready.add({
			taskId,
			agentId,
			number: this.#number,
			sinceMs: this.#world.clock.now().steadyMs,
			priority: isProbe ? Number.POSITIVE_INFINITY : priority,
		});
		this.pump();
	}

	/** Starts everything that may start now. */
	pump(): void {
		while (!this.#closed) {
			const waiting = this.#ready.take((agentId) => this.#mayDispatch(agentId));
			if (waiting === null) return;
			const task = this.#book.task(waiting.taskId);
			// It may have been cancelled while it waited.
			if (task?.status === "queued" || task?.status === "retried") this.#dispatch(task);
		}
	}

	/** Whether an attempt of this task, or of a task of this plan, is running. */
	isUnderWay(id: string): boolean {
		if (this.#running.has(id)) return true;
		const plan = this.#book.plan(id);
		return (
			plan !== undefined && [...plan.tasks.values()].some((task) => this.#running.has(task.taskId))
		);
	}

	/** How many attempts of an agent run now. */
	runningOf(agentId: string): number {
		return this.#running.ofAgent(agentId);
	}

	get isClosed(): boolean {
		return this.#closed;
	}

	/**
	 * Starts nothing more. Lets attempts finish for a while, then kills them; the next daemon
	 * continues their tasks. Waiting clients get a response before that.
	 */
	async close(graceMs: number): Promise<void> {
		this.#closed = true;
		for (const cancel of this.#delayed.values()) cancel();
		this.#cancelCheck?.();
		this.#gate.close();
		const untilMs = this.#world.clock.now().steadyMs + graceMs;
		while (this.#running.size > 0 && this.#world.clock.now().steadyMs < untilMs) {
			this.#book.answerWaiters((id) => this.isUnderWay(id));
			await new Promise<void>((resolve) => this.#world.clock.schedule(CLOSE_POLL_MS, resolve));
		}
		this.#book.answerWaiters(() => false);
		this.#abandoned = true;
		this.#running.abortAll();
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
		return callable(this.#world.agents.specOf(agentId));
	}

	#mayDispatch(agentId: string): boolean {
		if (!this.#gate.mayStart(agentId)) return false;
		const spec = this.#specOf(agentId);
		const kind = spec?.kind ?? "call";
		if (this.#running.ofKind(kind) >= this.#world.concurrency[kind]) return false;
		const limit = spec?.concurrency ?? 1;
		const underWay = this.#running.ofAgent(agentId);
		if (underWay >= limit) return false;
		const may = this.#world.agents.mayCall(agentId, underWay);
		if (!may) this.#scheduleCheck();
		return may;
	}

	/** There is no notification when an account may continue, so it is polled. */
	#scheduleCheck(): void {
		if (this.#closed) return;
		this.#cancelCheck ??= this.#world.clock.schedule(ACCOUNT_POLL_MS, () => {
			this.#cancelCheck = null;
			this.pump();
		});
	}

	#dispatch(task: StoredTask): void {
		const { agentId, taskId } = task;
		const spec = this.#specOf(agentId);
		if (spec === null) {
			this.#giveUp(task, `${agentId} no longer exists or no longer accepts requests`);
			return;
		}
		const spent = this.#world.agents.overBudget(agentId);
		if (spent !== null) {
			this.#giveUp(task, `${agentId} cannot be called: ${spent}`);
			return;
		}
		const admission = this.#gate.admit(agentId, taskId);
		if (admission.permit === null) {
			this.#delay(task, ACCOUNT_POLL_MS);
			return;
		}
		this.#running.add(taskId, spec);
		this.#untilOver(taskId, this.#run(task, spec, admission.permit, admission));
	}

	/**
	 * Starts a task in the change that accepts it, if it need not wait for its turn, which saves one disk
	 * sync. Null if its turn comes later.
	 */
	beginIn(change: Change, task: StoredTask, input: TaskInput): TaskStep | null {
		const { agentId, taskId } = task;
		// For a circuit that is not closed, admission changes its state before the attempt is recorded.
		if (this.#ready.size > 0 || this.#breakers.state(agentId).circuit !== "closed") return null;
		const spec = this.#closed ? null : this.#specOf(agentId);
		if (spec === null || !this.#mayDispatch(agentId)) return null;
		const { permit } = this.#gate.admit(agentId, taskId);
		if (permit === null) return null;
		const begun = beginAttempt(task, this.#world.newId(), change.atMs);
		if (!begun.changed) return null;
		this.#running.add(taskId, spec);
		change.onRollback(() => this.#running.remove(taskId));
		change.after(() => this.#untilOver(taskId, this.#perform(begun.task, spec, permit, input)));
		return begun;
	}

	#untilOver(taskId: string, attempt: Promise<void>): void {
		attempt
			.catch((error: unknown) => this.#world.log.failed(taskId, error))
			.finally(() => {
				this.#running.remove(taskId);
				this.pump();
			});
	}

	/** Fails the tasks that have waited for their agent's circuit until their deadline. */
	#endOverdue(agentId: string): void {
		const blockedMs = this.#gate.blockedSinceMs(agentId);
		if (blockedMs === null || this.#closed) return;
		const { steadyMs } = this.#world.clock.now();
		const patienceOf = (task: StoredTask) => longestTaskMs(task.retry, task.timeoutMs);
		const overdue = this.#ready.removeUnless(agentId, ({ taskId, sinceMs }) => {
			const task = this.#book.task(taskId);
			return task !== undefined && steadyMs - Math.max(sinceMs, blockedMs) < patienceOf(task);
		});
		for (const { taskId } of overdue) {
			const task = this.#book.task(taskId);
			if (task === undefined) continue;
			const waited = `waited ${renderElapsed(patienceOf(task))} for the circuit of ${agentId}`;
			this.#giveUp(task, `${waited}, which did not close`);
		}
	}

	/** Fails a task that cannot be attempted. */
	#giveUp(task: StoredTask, why: string): void {
		this.#book
			.commit((change) => {
				const current = this.#book.task(task.taskId);
				if (current === undefined) return;
				const reason = [why, ...lastErrorOf(current)].join("; ");
				const error = untriedError("agent_unavailable", reason);
				const letter = { type: "dead_letter", attempt: null } as const;
				this.ends.finish(
					change,
					current,
					stepTask(current, letter, change.atMs, { reason, with: { error } }),
				);
			})
			.catch((error: unknown) => this.#world.log.failed(task.taskId, error));
	}

	async #run(
		task: StoredTask,
		spec: CallableSpec,
		permit: Permit,
		admission: BreakerWrite,
	): Promise<void> {
		const { store, newId } = this.#world;
		const begun = await this.#begin(task.taskId, newId(), admission);
		if (begun === null) {
			await this.#book.commit((change) =>
				this.#breakers.settleIn(change, task.agentId, permit, null),
			);
			return;
		}
		await this.#perform(begun, spec, permit, store.readTaskInput(task.taskId));
	}

	/** Runs an attempt whose start is recorded, and records its outcome. */
	async #perform(
		begun: StoredTask,
		spec: CallableSpec,
		permit: Permit,
		input: TaskInput | null,
	): Promise<void> {
		const { runId } = begun.running ?? { runId: "" };
		const request = requestFor(begun, spec, input?.payload ?? null, input?.context ?? null);
		const signal = this.#running.signalOf(begun.taskId);
		const order = { spec, runId, request, timeoutMs: begun.timeoutMs };
		const end = await this.#world.agents.perform(order, signal);
		// An attempt that was killed without being cancelled ended with its daemon: the next one decides.
		const left = this.#abandoned || (end.outcome === null && !signal.aborted);
		if (!left) await this.#recordEnd(begun, permit, end);
	}

	/** Records the start of an attempt; null if the task was cancelled in the meantime. */
	#begin(taskId: string, runId: string, admission: BreakerWrite): Promise<StoredTask | null> {
		return this.#book.commit((change) => {
			const { transaction, atMs } = change;
			admission.write(transaction, atMs);
			const current = this.#book.task(taskId);
			if (current === undefined) return null;
			const begun = beginAttempt(current, runId, atMs);
			if (!begun.changed) return null;
			this.#book.putTask(change, begun);
			const plan = this.#book.plan(current.planId);
			if (plan !== undefined) this.#book.stepPlan(change, plan, "start", "first task started");
			return begun.task;
		});
	}

	/** An outcome must not be lost because it cannot be stored right now. */
	async #recordEnd(task: StoredTask, permit: Permit | null, end: AttemptEnd): Promise<void> {
		for (;;) {
			try {
				await this.ends.record(task.taskId, permit, end);
				return;
			} catch (error) {
				if (this.#closed) throw error;
				this.#world.log.failed(task.taskId, error);
				await new Promise<void>((resolve) => this.#world.clock.schedule(STORE_AGAIN_MS, resolve));
			}
		}
	}
}

const CLOSE_POLL_MS = 50;

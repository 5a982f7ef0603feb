/**
 * Runs the tasks that this host gets from the queues of the cluster. An attempt is recorded in the shared database
 * before anything is started, and its end is kept until it is stored: an attempt that another host has taken over
 * changes nothing (T7).
 */

import { setTimeout as sleep } from "node:timers/promises";
import { DEFAULT_BREAKER } from "../../core/breaker.js";
import type { Member } from "../../core/cluster.js";
import type { AttemptEnd } from "../../ports/executor.js";
import type {
	ChangedShared,
	DecideShared,
	SharedTasksDatabase,
	SharedWrites,
	Turn,
} from "../../ports/shared-tasks.js";
import type { StoredTask } from "../../ports/task-store.js";
import { interruptedWith, requestFor } from "../tasks/attempt.js";
import { type CallableSpec, callable } from "../tasks/tasks-world.js";
import { beginShared, deferShared, endShared, giveUpShared } from "./decide-shared.js";
import type { SharedWorld } from "./shared-world.js";
import { Wakes } from "./wakes.js";

const STORE_AGAIN_MS = 500;
const SLOT_POLL_MS = 20;
/** A task does not wait longer for a slot here, because another host may have one. */
const SLOT_PATIENCE_MS = 2_000;
const DEFER_MS = 1_000;
/** How often a task asks again whether an attempt of its agent has ended on another host. */
const FULL_POLL_MS = 50;
const FULL_POLL_MS_MAX = 500;
/** After that, it returns to the queue, where one with a higher priority may have arrived. */
const HELD_MS_MAX = 10_000;

/** The database while this host is a member of the cluster. */
export interface Joined {
	readonly member: Member;
	readonly database: SharedTasksDatabase;
}

export interface AttemptsWorld extends SharedWorld {
	/** Null while this host is no member. */
	readonly joined: () => Joined | null;
	/** A change of this host is stored. */
	readonly changed: (writes: SharedWrites) => void;
}

export class SharedAttempts {
	readonly #world: AttemptsWorld;
	/** Tasks that this host took from their queues, and their tickets. */
	readonly #turns = new Map<string, number>();
	/** The runs of their attempts, once these are recorded. */
	readonly #running = new Map<string, string>();
	/** Wakes the tasks of an agent that wait here for another attempt of it to end. */
	readonly #freed = new Wakes();
	#closed = false;

	constructor(world: AttemptsWorld) {
		this.#world = world;
	}

	/** Whether this host works on this ticket of a task. */
	has(taskId: string, ticket: number): boolean {
		return this.#turns.get(taskId) === ticket;
	}

	/** Starts nothing more. */
	close(): void {
		this.#closed = true;
	}

	/** The running attempts of this host. */
	running(): readonly { readonly taskId: string; readonly runId: string }[] {
		return [...this.#running].map(([taskId, runId]) => ({ taskId, runId }));
	}

	/** Kills a running attempt. */
	abort(taskId: string, runId: string): void {
		if (this.#running.get(taskId) === runId) this.#world.running.abort(taskId);
	}

	abortAll(): void {
		for (const taskId of this.#running.keys()) this.#world.running.abort(taskId);
	}

	/** How many tasks this host works on. */
	get size(): number {
		return this.#turns.size;
	}

	get isClosed(): boolean {
		return this.#closed;
	}

	/** Resolves when this host is done with it. Never rejects. */
	async take(turn: Turn): Promise<void> {
		const { taskId, ticket } = turn;
		this.#turns.set(taskId, ticket);
		try {
			await this.#attempt(turn);
		} catch (error) {
			this.#world.log.failed(taskId, error);
			// Its place in the queue is used up: without another one, the task would be lost.
			await this.#store(taskId, deferShared(ticket, DEFER_MS));
		} finally {
			if (this.has(taskId, ticket)) this.#turns.delete(taskId);
		}
	}

	async #attempt(turn: Turn): Promise<void> {
		const { running, freed } = this.#world;
		const { taskId, ticket, agentId } = turn;
		const spec = await this.#slotFor(agentId);
		if (spec === null) {
			await this.#store(taskId, deferShared(ticket, DEFER_MS));
			return;
		}
		const spent = this.#world.agents.overBudget(agentId);
		if (spent !== null) {
			await this.#store(taskId, giveUpShared(ticket, `${agentId} cannot be called: ${spent}`));
			return;
		}
		running.add(taskId, spec);
		try {
			await this.#run(turn, spec);
		} finally {
			running.remove(taskId);
			freed();
		}
	}

	/** The agent, when an attempt of it may start here; null if it may not for a while. */
	async #slotFor(agentId: string): Promise<CallableSpec | null> {
		const { agents, running, concurrency } = this.#world;
		const untilMs = performance.now() + SLOT_PATIENCE_MS;
		while (!this.#closed) {
			const spec = callable(agents.specOf(agentId));
			if (spec === null) return null;
			const isFree = running.ofKind("call") < concurrency;
			if (isFree && agents.mayCall(agentId, running.ofAgent(agentId))) return spec;
			if (performance.now() >= untilMs) return null;
			await sleep(SLOT_POLL_MS);
		}
		return null;
	}

	async #run({ taskId, ticket, agentId }: Turn, spec: CallableSpec): Promise<void> {
		const { newId, running, agents } = this.#world;
		const runId = newId();
		const begun = await this.#begin({ taskId, ticket, agentId }, runId, spec.concurrency);
		const task = begun?.shared.task;
		// Another host has started it, it was cancelled, or its circuit does not admit it.
		if (begun === null || task?.running?.runId !== runId) return;
		const { input } = begun;
		const request = requestFor(task, spec, input?.payload ?? null, input?.context ?? null);
		const order = { spec, runId, request, timeoutMs: task.timeoutMs };
		this.#running.set(taskId, runId);
		const end = await agents.perform(order, running.signalOf(taskId));
		this.#running.delete(taskId);
		await this.#end(task, runId, spec, end);
	}

	/** While enough attempts of its agent run on other hosts, it waits here for a while. */
	async #begin(
		{ taskId, ticket, agentId }: Turn,
		runId: string,
		concurrency: number,
	): Promise<ChangedShared | null> {
		const untilMs = performance.now() + HELD_MS_MAX;
		for (
			let waitMs = FULL_POLL_MS;
			!this.#closed;
			waitMs = Math.min(2 * waitMs, FULL_POLL_MS_MAX)
		) {
			const begin = (member: Member) => beginShared(member, ticket, runId, concurrency);
			const begun = await this.#change(taskId, begin, { withInput: true });
			if (begun?.waits !== true) return begun;
			if (performance.now() >= untilMs) break;
			await Promise.race([sleep(waitMs), this.#freed.wait(agentId)]);
		}
		await this.#store(taskId, deferShared(ticket, this.#closed ? 0 : DEFER_MS));
		return null;
	}

	async #end(task: StoredTask, runId: string, spec: CallableSpec, end: AttemptEnd): Promise<void> {
		const { taskId, agentId, correlationId } = task;
		// The daemon stops: another host continues the task.
		const isStopped = end.outcome === null && this.#closed;
		const known = isStopped ? interruptedWith(undefined) : end;
		// A worker may still be at it (T6).
		await end.over;
		const settings = spec.circuitBreaker ?? DEFAULT_BREAKER;
		const decide = endShared(runId, known, settings, this.#world.random);
		const stored = await this.#store(taskId, decide);
		this.#freed.wake(agentId);
		if (known.outcome?.ok !== false || stored === null) return;
		const ids = { agent: agentId, task: taskId, correlation_id: correlationId };
		this.#world.log.attemptFailed(stored.shared.task.reason, ids);
	}

	#store(taskId: string, decide: DecideShared): Promise<SharedWrites | null> {
		return this.#change(taskId, () => decide);
	}

	#change(
		taskId: string,
		decideAs: (member: Member) => DecideShared,
		options = { withInput: false },
	): Promise<ChangedShared | null> {
		return this.#untilStored(taskId, async ({ member, database }) => {
			const writes = await database.change(member, taskId, decideAs(member), options);
			if (writes !== null) this.#world.changed(writes);
			return writes;
		});
	}

	/** While the database is away, its answer is awaited. */
	async #untilStored<T>(taskId: string, work: (joined: Joined) => Promise<T>): Promise<T> {
		for (;;) {
			const joined = this.#world.joined();
			try {
				if (joined !== null) return await work(joined);
			} catch (error) {
				if (this.#world.joined() === joined) this.#world.log.failed(taskId, error);
			}
			await sleep(STORE_AGAIN_MS);
		}
	}
}

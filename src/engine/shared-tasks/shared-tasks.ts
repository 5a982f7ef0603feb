/**
 * Tasks that the hosts of a cluster share: those of call agents with `placement`. Any host that has the agent up accepts
 * them, and any of them with a free slot runs them. Nothing is acknowledged before the shared database has stored it
 * (T4); without it, requests fail immediately.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { AgentSpec } from "../../config/spec.js";
import { type BreakerState, healthOf, NEW_BREAKER } from "../../core/breaker.js";
import { ReeveError } from "../../core/errors.js";
import type { CircuitState } from "../../core/states.js";
import { isEnded, type TaskStatus } from "../../core/task.js";
import { renderElapsed } from "../../core/units.js";
import type {
	NewSharedTask,
	ServedAgent,
	SharedDetail,
	SharedTasksDatabase,
	SharedWrites,
} from "../../ports/shared-tasks.js";
import type { LetterCount, StoredTask, TaskCountQuery, TaskQuery } from "../../ports/task-store.js";
import {
	fingerprintOf,
	recordTask,
	resubmissionOf,
	type SubmitOptions,
	type TaskSubmission,
} from "../tasks/submission.js";
import { taskEventFields } from "../tasks/task-state.js";
import type { Circuit, TaskDetail } from "../tasks/tasks.js";
import { cancelShared, circuitAt, closeLetter, closeSharedCircuit } from "./decide-shared.js";
import { EventRelay } from "./event-relay.js";
import { type AttemptsWorld, type Joined, SharedAttempts } from "./shared-attempts.js";
import type { PlacedCall, ServingHost, SharedWorld } from "./shared-world.js";
import { Upkeep } from "./upkeep.js";
import { Waiters } from "./waiters.js";

const AGENTS_POLL_MS = 1_000;
const IDLE_POLL_MS = 50;
const SERVE_AGAIN_MS = 5_000;
/** How long circuits and the numbers of dead letters may be out of date on a page. */
const VIEW_MS = 2_000;
/** When the daemon stops: how long attempts may take to finish, and how long to store that they were killed. */
const FINISH_MS_MAX = 5_000;
const STORE_MS_MAX = 3_000;

export class SharedTasks {
	readonly #world: AttemptsWorld;
	readonly #attempts: SharedAttempts;
	readonly #upkeep: Upkeep;
	readonly #relay: EventRelay;
	readonly #waiters: Waiters;
	#joined: Joined | null = null;
	/** Why this member cannot share tasks. */
	#problem: ReeveError | null = null;
	#circuits = new Map<string, BreakerState>();
	#letters: ReadonlyMap<string, LetterCount> = new Map();

	constructor(world: SharedWorld) {
		this.#world = {
			...world,
			joined: () => this.#joined,
			changed: (writes) => this.#changed(writes),
		};
		this.#attempts = new SharedAttempts(this.#world);
		this.#upkeep = new Upkeep(this.#world, this.#attempts);
		this.#relay = new EventRelay(world.store, (error) => world.log.failed("events", error));
		this.#waiters = new Waiters((ids) => this.#reach().database.ended(ids));
	}

	/** Whether the tasks of this agent are shared. */
	has(agentId: string): boolean {
		const spec = this.#world.agents.specOf(agentId);
		return spec?.kind === "call" && spec.placement !== undefined;
	}

	/** The agents whose tasks are shared. */
	agents(): readonly string[] {
		return this.#world.placed().map(({ id }) => id);
	}

	/** Accepts a task, or finds the one that was accepted with the same key. */
	async submit(submission: TaskSubmission, options: SubmitOptions = {}): Promise<StoredTask> {
		const { newTask } = this.#record(submission, options);
		return this.#accept(newTask);
	}

	/** Resolves with the task when it has ended, or with its state after a timeout or when the signal aborts. */
	async wait(taskId: string, withinMs: number, signal?: AbortSignal): Promise<TaskDetail | null> {
		const found = await this.task(taskId);
		if (found === null || isEnded(found.task.status) || withinMs <= 0) return found;
		await this.#waiters.wait(taskId, withinMs, signal);
		return this.task(taskId);
	}

	/** Null if it is no task of the cluster. */
	async task(taskId: string): Promise<TaskDetail | null> {
		const found = await this.#reach().database.read(taskId);
		return found === null || !this.has(found.shared.task.agentId) ? null : detailOf(found);
	}

	async tasks(query: TaskQuery): Promise<readonly TaskDetail[]> {
		return (await this.#reach().database.list(query, this.agents())).map(detailOf);
	}

	async countTasks(query: TaskCountQuery): Promise<Readonly<Partial<Record<TaskStatus, number>>>> {
		return this.#reach().database.count(query, this.agents());
	}

	/** Cancels a task; its running attempt is killed first, on whichever host. */
	async cancel(taskId: string, withinMs: number): Promise<TaskDetail> {
		const found = await this.#find(taskId);
		const { member, database } = this.#reach();
		const writes = await database.change(member, taskId, cancelShared("cancelled by the operator"));
		if (writes === null) {
			const message = `task ${taskId} is already finished: ${found.task.status}`;
			throw new ReeveError("already_ended", message);
		}
		this.#changed(writes);
		return (await this.wait(taskId, withinMs)) ?? found;
	}

	/** Replays a dead letter as a new task that refers to it. */
	async replay(taskId: string): Promise<StoredTask> {
		const letter = await this.#letter(taskId);
		const { task, input } = letter;
		const submission = resubmissionOf(task, input);
		const { correlationId } = task;
		const { newTask } = this.#record(submission, { correlationId }, taskId);
		const close = closeLetter({ type: "replayed", taskId: newTask.shared.task.taskId });
		return this.#accept({
			...newTask,
			replays: {
				taskId,
				decide(state) {
					const writes = close(state);
					if (writes === null) throw notALetter(state.shared.task);
					return writes;
				},
			},
		});
	}

	/** Discards a dead letter. It stays visible. */
	async discard(taskId: string): Promise<void> {
		const { task } = await this.#letter(taskId);
		const { member, database } = this.#reach();
		const writes = await database.change(member, taskId, closeLetter({ type: "discarded" }));
		if (writes === null) throw notALetter(task);
	}

	/** The circuit of an agent, as it was a moment ago. */
	circuit(agentId: string): Circuit {
		const state = circuitAt(this.#circuits.get(agentId) ?? NEW_BREAKER, Date.now());
		return {
			circuit: state.circuit,
			health: healthOf(state),
			consecutiveFailures: state.consecutiveFailures,
			lastFailureAtMs: state.lastFailureAtWallMs,
			lastSuccessAtMs: state.lastSuccessAtWallMs,
			openUntilMs: state.openUntil?.wallMs ?? null,
		};
	}

	/** The open dead letters of an agent, as they were a moment ago. */
	letters(agentId: string): LetterCount | null {
		return this.#letters.get(agentId) ?? null;
	}

	/** The operator closes the circuit of an agent, for all hosts; returns its earlier state. */
	async closeCircuit(agentId: string): Promise<CircuitState> {
		const { member, database } = this.#reach();
		const before = await database.changeCircuit(member, agentId, closeSharedCircuit(agentId));
		await this.#look(database);
		return before.circuit;
	}

	/** Starts nothing more on this host. */
	close(): void {
		this.#attempts.close();
	}

	/** Takes part while this host is a member of the cluster. Never rejects. */
	async run(
		joined: Joined,
		describe: () => Promise<ServingHost | null>,
		signal: AbortSignal,
	): Promise<void> {
		const { member, database } = joined;
		if (!(await this.#prepare(joined, signal))) return;
		this.#joined = joined;
		this.#problem = null;
		database.onEvents((events) => void this.#relay.append(events));
		try {
			await Promise.all([
				this.#relay.follow((seq) => database.eventsAfter(member.home, seq)),
				this.#upkeep.run(joined, signal),
				this.#serve(joined, describe, signal),
				this.#keepView(database, signal),
			]);
			if (this.#attempts.isClosed) await this.#leave();
		} finally {
			if (this.#joined === joined) this.#joined = null;
		}
	}

	/** The daemon stops: another host continues what is not finished soon. */
	async #leave(): Promise<void> {
		await this.#untilIdle(FINISH_MS_MAX);
		this.#attempts.abortAll();
		await this.#untilIdle(STORE_MS_MAX);
	}

	async #untilIdle(withinMs: number): Promise<void> {
		const untilMs = performance.now() + withinMs;
		while (this.#attempts.size > 0 && performance.now() < untilMs) await sleep(IDLE_POLL_MS);
	}

	/** False if the signal has aborted. A host without such agents needs nothing of all this. */
	async #prepare({ member, database }: Joined, signal: AbortSignal): Promise<boolean> {
		while (!signal.aborted) {
			const isNeeded = this.#world.placed().length > 0;
			try {
				if (isNeeded) {
					await database.prepare(member);
					return !signal.aborted;
				}
			} catch (error) {
				this.#problem = error instanceof ReeveError ? error : null;
				if (!signal.aborted) this.#world.log.failed("queues", error);
			}
			const afterMs = isNeeded ? SERVE_AGAIN_MS : AGENTS_POLL_MS;
			await sleep(afterMs, undefined, { signal }).catch(() => {});
		}
		this.#problem = null;
		return false;
	}

	async #serve(
		{ member, database }: Joined,
		describe: () => Promise<ServingHost | null>,
		signal: AbortSignal,
	): Promise<void> {
		const served = async () => {
			const agents = this.#world.placed();
			const host = agents.length === 0 || this.#attempts.isClosed ? null : await describe();
			return host === null || host.draining
				? []
				: agents.filter((agent) => isSuitable(agent, host)).map((agent) => this.#terms(agent));
		};
		while (!signal.aborted) {
			try {
				const agents = await served();
				const wanted = JSON.stringify(agents);
				const changed = new AbortController();
				const until = AbortSignal.any([signal, changed.signal]);
				const watch = async () => {
					while (!until.aborted && JSON.stringify(await served()) === wanted) {
						await sleep(AGENTS_POLL_MS, undefined, { signal: until }).catch(() => {});
					}
					changed.abort();
				};
				const watched = watch().catch(() => changed.abort());
				try {
					if (agents.length > 0) {
						await database.serve(member, agents, (turn) => this.#attempts.take(turn), until);
					}
				} finally {
					if (agents.length > 0) changed.abort();
					await watched;
				}
			} catch (error) {
				if (signal.aborted) return;
				this.#world.log.failed("queues", error);
				await sleep(SERVE_AGAIN_MS, undefined, { signal }).catch(() => {});
			}
		}
	}

	#terms({ id, concurrency }: PlacedCall): ServedAgent {
		return { agent: id, slots: Math.min(concurrency, this.#world.concurrency) };
	}

	async #keepView(database: SharedTasksDatabase, signal: AbortSignal): Promise<void> {
		while (!signal.aborted) {
			await this.#look(database).catch(() => {});
			await sleep(VIEW_MS, undefined, { signal }).catch(() => {});
		}
	}

	async #look(database: SharedTasksDatabase): Promise<void> {
		const agents = this.agents();
		if (agents.length === 0) return;
		const circuits = await database.readCircuits(agents);
		const letters = await database.countLetters(agents);
		this.#circuits = new Map(circuits.map(({ agentId, state }) => [agentId, state]));
		this.#letters = new Map(letters.map((each) => [each.agentId, each]));
	}

	#changed({ shared: { task }, circuit }: SharedWrites): void {
		if (circuit !== undefined) this.#circuits.set(task.agentId, circuit);
		if (isEnded(task.status)) this.#waiters.wake(task.taskId);
	}

	#reach(): Joined {
		if (this.#joined !== null) return this.#joined;
		throw this.#problem ?? this.#world.unavailable();
	}

	#placed(agentId: string): PlacedCall | null {
		return this.#world.placed().find(({ id }) => id === agentId) ?? null;
	}

	#record(submission: TaskSubmission, options: SubmitOptions, replayOf: string | null = null) {
		const { newId, clock, agents } = this.#world;
		const fingerprint = fingerprintOf(submission, options);
		const recorded = recordTask(submission, {
			...{ newId, options, fingerprint, nowMs: clock.now().wallMs },
			specOf: (agentId) => {
				const spec = this.#placed(agentId);
				if (spec === null) throw new ReeveError("agent_not_found", `unknown agent ${agentId}`);
				const spent = agents.overBudget(agentId);
				if (spent === null) return spec;
				throw new ReeveError("over_budget", `${agentId} cannot be called: ${spent}`);
			},
		});
		const task: StoredTask = { ...recorded.task, replayOf };
		const { by = null } = options;
		const { host } = this.#reach().member;
		const data = { action: task.action, name: task.name, replay_of: replayOf, by, host };
		const newTask: NewSharedTask = {
			shared: {
				...{ task, runner: null, ticket: 1, permit: null, takeovers: 0 },
				...{ blockedSinceMs: null, cancelReason: null },
			},
			input: recorded.input,
			events: [{ ...taskEventFields(task), type: "task.accepted", data }],
		};
		return { newTask };
	}

	async #accept(newTask: NewSharedTask): Promise<StoredTask> {
		const { member, database } = this.#reach();
		if (this.#attempts.isClosed) {
			throw new ReeveError("daemon_stopping", "not accepted: the daemon is stopping");
		}
		const { task } = newTask.shared;
		this.#refuseOpenCircuit(task.agentId);
		const earlier = await database.accept(member, newTask);
		if (earlier === null) return task;
		if (earlier.fingerprint === task.fingerprint) return earlier;
		throw new ReeveError(
			"idempotency_conflict",
			`the idempotency key ${task.idempotencyKey} was already used for a different task`,
		);
	}

	/** As of a moment ago; a task that is accepted anyway waits for the circuit. */
	#refuseOpenCircuit(agentId: string): void {
		const { circuit, openUntilMs, consecutiveFailures: count } = this.circuit(agentId);
		if (circuit !== "open" || openUntilMs === null) return;
		const leftMs = Math.max(0, openUntilMs - Date.now());
		const why = count === 1 ? "1 request" : `${count} consecutive requests`;
		throw new ReeveError(
			"agent_unavailable",
			`not accepted: the circuit of ${agentId} is open for another ${renderElapsed(leftMs)}, because ${why} failed`,
			`Try again in ${renderElapsed(leftMs)}, or fix the cause and close the circuit: \`reeve resume ${agentId}\`.`,
			{ agents: [agentId], retry_after_s: Math.max(1, Math.ceil(leftMs / 1_000)) },
		);
	}

	async #find(taskId: string): Promise<TaskDetail> {
		const found = await this.task(taskId);
		if (found !== null) return found;
		throw new ReeveError("task_not_found", `unknown task ${taskId}`);
	}

	async #letter(taskId: string): Promise<TaskDetail> {
		const found = await this.#find(taskId);
		const { status, letter } = found.task;
		if (status === "dead_lettered" && letter === null) return found;
		throw notALetter(found.task);
	}
}

/** The call agents whose tasks the hosts of a cluster share. */
export function placedCalls(specs: readonly AgentSpec[]): readonly PlacedCall[] {
	return specs.flatMap((spec) => {
		if (spec.kind !== "call" || spec.placement === undefined) return [];
		return [{ ...spec, placement: spec.placement }];
	});
}

function notALetter({ taskId, status, letter }: StoredTask): ReeveError {
	const what = letter === null ? status : letter.type;
	return new ReeveError("not_a_dead_letter", `task ${taskId} is ${what}`);
}

function detailOf({ shared, input, result, attempts }: SharedDetail): TaskDetail {
	return { task: shared.task, input, result, attempts };
}

function isSuitable({ placement, adapter, profile }: PlacedCall, host: ServingHost): boolean {
	const hasLabels = Object.entries(placement.labels).every(
		([name, value]) => host.labels[name] === value,
	);
	const needsCli = adapter !== "generic" && profile === null;
	return hasLabels && (!needsCli || host.adapters.includes(adapter));
}

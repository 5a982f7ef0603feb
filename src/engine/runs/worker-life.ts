/**
 * The lifecycle of a worker agent: a pool of processes that serve requests over their pipes. It grows
 * while all of them are busy, shrinks when idle, and replaces exited processes, under the same crash
 * policy as a session. A worker's pipes end with the daemon, so a new daemon kills the remaining
 * workers of the old one and starts its own; the dispatcher decides about their requests.
 *
 * Keeps S2, S8 and S15 like the lifecycle of a session; at most `workers.max` processes are alive (S1).
 */

import type { WorkerSpec } from "../../config/spec.js";
import { decideAfterExit, settle } from "../../core/crash-policy.js";
import { type Asker, type ExitReport, exitReport } from "../../core/exit.js";
import type { ActionRequest } from "../../core/outcome.js";
import type { ProcessState } from "../../core/states.js";
import type { AttemptEnd, Executor, Worker, WorkerEnd } from "../../ports/executor.js";
import type { NewEvent, StoredExit, StoredRun, StoreTransaction } from "../../ports/store.js";
import { createMailbox } from "../mailbox.js";
import { createSignal, type Signal, scheduleLong } from "../waiting.js";
import {
	drainedEvent,
	type PlannedStart,
	policyChange,
	recordExit,
	restOf,
	startEffect,
	startEffectKey,
} from "./agent-record.js";
import type { Agent, AgentSnapshot } from "./agent-state.js";
import { KeptAgent } from "./kept-agent.js";
import type { Life } from "./life.js";
import {
	type LifeWorld,
	NO_CONVERSATION,
	type StartOutcome,
	type StopReport,
} from "./life-world.js";
import { WorkerPool } from "./worker-pool.js";
import { newSlot, type Slot, slotHandle, storedSlot } from "./worker-slot.js";

export interface WorkerWorld extends LifeWorld {
	readonly executor: Executor;
}

export class WorkerLife implements Life {
	readonly #world: WorkerWorld;
	readonly #kept: KeptAgent;
	readonly #inbox = createMailbox();
	readonly #pool: WorkerPool;
	#lastExit: StoredExit | null;
	#ready = false;
	#stopping = false;
	/** The daemon exits, and its workers with it; the next one records their end. */
	#gone = false;
	#asked: Signal<StartOutcome> | null = null;
	#nextStartAtMs: number | null = null;
	#cancelStart = () => {};

	constructor(agent: Agent, lastExit: StoredExit | null, world: WorkerWorld) {
		this.#kept = new KeptAgent(agent, world);
		this.#lastExit = lastExit;
		this.#world = world;
		this.#pool = new WorkerPool({
			clock: world.clock,
			spec: () => this.#spec,
			refused: () => this.#explainRefusal(),
			wantMore: () => world.wantsToStart(agent.id),
		});
	}

	get id(): string {
		return this.#kept.now.id;
	}

	get wantsToLaunch(): boolean {
		return (
			!this.#stopping &&
			this.#nextStartAtMs === null &&
			this.#pool.isShort &&
			this.#refused() === null
		);
	}

	snapshot(): AgentSnapshot {
		const slots = [...this.#pool.slots.values()];
		const alive = slots.filter(({ gone }) => gone === null);
		const first = alive[0] ?? slots[0];
		return {
			agent: this.#kept.now,
			process: this.#processState(),
			run: first === undefined ? null : { runId: first.runId, handle: slotHandle(first) },
			processes: alive.length,
			ready: this.#ready && alive.length > 0,
			gone: first?.gone ?? null,
			known: null,
			lastExit: this.#lastExit,
			nextStartAtMs: this.#nextStartAtMs,
		};
	}

	/** Sends a request to one of the processes. Never rejects. */
	ask(request: ActionRequest, timeoutMs: number, signal: AbortSignal): Promise<AttemptEnd> {
		return this.#pool.ask(request, timeoutMs, signal);
	}

	launch(): Promise<void> {
		return this.#inbox.run(() => this.#launch());
	}

	/** Its processes report to it directly; no backend holds them. */
	/** No backend holds its processes. */
	hasRun(): boolean {
		return false;
	}

	async exited(): Promise<void> {}

	recover(runs: readonly StoredRun[], planned: PlannedStart | null): Promise<void> {
		return this.#inbox.run(async () => {
			if (runs.length > 0) await this.#world.executor.endLeft(runs.map(({ runId }) => runId));
			for (const run of runs) await this.#endLeft(run);
			if (this.#refused() !== null) return;
			this.#pool.fill();
			if (planned === null) this.#world.wantsToStart(this.id);
			else this.#planStart(restOf(planned, this.#nowMs()).afterMs);
		});
	}

	held(): null {
		return null;
	}

	forbidden(): StartOutcome | null {
		return this.#pool.slots.size > 0 ? "already_running" : this.#refused();
	}

	askToStart(): Promise<StartOutcome> {
		this.#cancelStart();
		this.#nextStartAtMs = null;
		this.#pool.fill();
		// Without processes to start, it is up as soon as it accepts requests.
		if (!this.#pool.isShort) return Promise.resolve("started");
		this.#asked ??= createSignal();
		const { promise } = this.#asked;
		this.#world.wantsToStart(this.id);
		return promise;
	}

	record(
		change: (agent: Agent) => readonly [changes: Partial<Agent>, events: readonly NewEvent[]],
		also?: (transaction: StoreTransaction) => void,
	): Promise<void> {
		return this.#inbox.run(async () => {
			const [changes, events] = change(this.#kept.now);
			await this.#kept.save(changes, events, also);
			if (changes.spec !== undefined) this.#replaceAll();
			this.#pool.notify();
		});
	}

	async stop(by: Asker, timeoutMs: number | undefined): Promise<StopReport> {
		const { clock, store } = this.#world;
		const sinceMs = clock.now().steadyMs;
		this.#stopping = true;
		const slots = await this.#inbox
			.run(() => this.#suppressStarts(by))
			.catch((error: unknown) => {
				this.#stopping = false;
				throw error;
			});
		const graceMs = timeoutMs ?? this.#spec.drain.timeoutMs;
		const ends = await Promise.all(
			slots.map(async ({ worker, ended }) => {
				const end = await worker?.stop(graceMs);
				await ended.promise;
				return end;
			}),
		);
		this.#stopping = false;
		const durationMs = clock.now().steadyMs - sinceMs;
		const killed = ends.includes("timed_out_killed") ? "timed_out_killed" : "graceful";
		const outcome = ends.length === 0 ? "already_stopped" : killed;
		const report: StopReport = { outcome, durationMs, reason: null, killed: [] };
		await store.commit((transaction) =>
			transaction.appendEvent(drainedEvent(this.id, report), this.#nowMs()),
		);
		return report;
	}

	letGo(): void {
		this.#gone = true;
		this.#stopping = true;
		this.#cancelStart();
		for (const slot of this.#pool.slots.values()) slot.letGo();
		this.#pool.notify();
	}

	/** Replaces the processes that were started with earlier settings. */
	#replaceAll(): void {
		for (const slot of this.#pool.slots.values()) {
			slot.askedBy = "reeve";
			void slot.worker?.stop(this.#spec.drain.timeoutMs);
		}
	}

	get #spec(): WorkerSpec {
		return this.#kept.now.spec as WorkerSpec;
	}

	#nowMs(): number {
		return this.#world.clock.now().wallMs;
	}

	#processState(): ProcessState {
		const all = [...this.#pool.slots.values()];
		const slots = all.filter(({ gone }) => gone === null);
		if (all.length > 0 && slots.length === 0) return "stopped";
		if (slots.some(({ worker, askedBy }) => worker !== null && askedBy === null)) return "running";
		if (slots.some(({ askedBy }) => askedBy !== null)) return "stopping";
		return slots.length > 0 || this.wantsToLaunch ? "starting" : "stopped";
	}

	/** Why no process may be started. */
	#refused(): StartOutcome | null {
		const { desired, crash, waiting } = this.#kept.now;
		if (desired === "down") return "stopped";
		if (crash.policy === "halted") return "halted";
		return waiting ? "waiting" : null;
	}

	#explainRefusal(): string | null {
		const refused = this.#refused();
		if (refused === null) return null;
		if (refused === "stopped")
			return `${this.id} is stopped: start it with \`reeve up ${this.id}\``;
		return `${this.id} is ${refused}: ${this.#kept.now.reason}`;
	}

	#planStart(afterMs: number): void {
		this.#cancelStart();
		this.#nextStartAtMs = this.#nowMs() + afterMs;
		this.#cancelStart = scheduleLong(this.#world.clock, afterMs, () => {
			this.#nextStartAtMs = null;
			this.#world.wantsToStart(this.id);
		});
	}

	async #launch(): Promise<void> {
		if (!this.wantsToLaunch) return this.#answerAsked(this.forbidden() ?? "stopped");
		const slot = newSlot(this.#world.newRunId(), this.#nowMs());
		await this.#kept.save({ reason: "starting" }, [], (transaction) => {
			transaction.putRun(storedSlot(this.id, slot, "intended"));
			transaction.removeEffect(startEffectKey(this.id));
		});
		this.#pool.slots.set(slot.runId, slot);
		const prepared = await this.#world.prepare(this.#spec, NO_CONVERSATION);
		if (!prepared.ok) return this.#failedToStart(slot, true, prepared.detail);
		const { request } = prepared;
		const started = await this.#world.executor.startWorker({
			runId: slot.runId,
			logDir: request.logDir,
			program: { ...request, extraOutput: this.#spec.extraOutput },
		});
		if (!started.ok) {
			return this.#failedToStart(slot, started.failure.permanent, started.failure.detail);
		}
		await this.#began(slot, started.worker);
		this.#answerAsked("started");
	}

	async #failedToStart(slot: Slot, permanent: boolean, detail: string): Promise<void> {
		const report = exitReport({ uptimeMs: 0, cause: "spawn_error", permanent, detail });
		await this.#end(slot, report, this.#nowMs());
		this.#answerAsked("failed");
	}

	#answerAsked(outcome: StartOutcome): void {
		this.#asked?.resolve(outcome);
		this.#asked = null;
	}

	async #began(slot: Slot, worker: Worker): Promise<void> {
		const { clock, watchReady } = this.#world;
		slot.worker = worker;
		slot.startedSteadyMs = clock.now().steadyMs;
		const data = { pid: worker.process.pid, with_continue: false };
		const event: NewEvent = {
			...{ type: "agent.started", agent: this.id, run_id: slot.runId, data },
		};
		await this.#kept.save({ reason: "running" }, [event], (transaction) =>
			transaction.putRun(storedSlot(this.id, slot, "running")),
		);
		worker.ended
			.then((end) => {
				slot.gone = end;
				return this.#inbox.run(async () => this.#gone || (await this.#ended(slot, end)));
			})
			.catch((error: unknown) => this.#world.onError(this.id, error));
		const sinceMs = slot.startedSteadyMs;
		slot.watch(
			watchReady(this.#spec, () => {
				void this.#inbox.run(() => this.#becameReady(slot, clock.now().steadyMs - sinceMs));
			}),
		);
		slot.watch(
			scheduleLong(clock, this.#spec.crashPolicy.windowMs, () => {
				void this.#inbox.run(() => this.#becameStable(slot));
			}),
		);
		this.#pool.notify();
		if (this.wantsToLaunch) this.#world.wantsToStart(this.id);
	}

	async #becameReady(slot: Slot, afterMs: number): Promise<void> {
		if (this.#ready || !this.#pool.slots.has(slot.runId)) return;
		const data = { after_ms: afterMs };
		const about = { agent: this.id, run_id: slot.runId };
		await this.#kept.save({}, [{ ...about, type: "agent.ready", data }]);
		this.#ready = true;
		this.#world.changed();
	}

	async #becameStable(slot: Slot): Promise<void> {
		const { crash } = this.#kept.now;
		const { crashPolicy } = this.#spec;
		if (!this.#pool.slots.has(slot.runId)) return;
		const settled = settle(crash, crashPolicy.windowMs, crashPolicy);
		const events = policyChange(this.id, crash, settled, "stable for a whole window");
		if (events.length > 0) await this.#kept.save({ crash: settled }, events);
	}

	/** Processes that were killed because of a cancelled request do not count as failed. */
	#ended(slot: Slot, end: WorkerEnd): Promise<void> {
		if (end.cause === "called_off") slot.askedBy ??= "reeve";
		const upMs = this.#world.clock.now().steadyMs - (slot.startedSteadyMs ?? 0);
		const report = exitReport({
			code: end.code,
			signal: end.signal,
			cause: end.outOfMemory ? "out_of_memory" : "unknown",
			askedBy: slot.askedBy,
			uptimeMs: Math.max(0, upMs),
			detail: end.cause === "exited" || end.cause === "stopped" ? null : end.reason,
		});
		return this.#end(slot, report, end.atMs);
	}

	/** A worker of a dead daemon: it could not serve requests any more, so it was killed. */
	#endLeft(run: StoredRun): Promise<void> {
		const slot = { ...newSlot(run.runId, run.intendedAtMs), askedBy: "reeve" as const };
		const uptimeMs = Math.max(0, this.#nowMs() - run.intendedAtMs);
		const detail = "its daemon stopped";
		return this.#end(slot, exitReport({ askedBy: "reeve", uptimeMs, detail }), this.#nowMs());
	}

	async #end(slot: Slot, report: ExitReport, atMs: number): Promise<void> {
		const agent = this.#kept.now;
		const decision = decideAfterExit(agent.crash, report, {
			settings: this.#spec.crashPolicy,
			onCleanExit: "restart",
			random: this.#world.random(),
		});
		const record = recordExit(agent, slot.runId, report, decision, { atMs, nowMs: this.#nowMs() });
		const { planned, exit } = record;
		await this.#kept.save(record.changes, record.events, (transaction) => {
			transaction.putRun(storedSlot(this.id, slot, "ended"));
			transaction.putExit(exit);
			if (planned !== null) transaction.putEffect(startEffect(this.id, planned));
		});
		this.#lastExit = exit;
		this.#pool.slots.delete(slot.runId);
		slot.letGo();
		slot.ended.resolve();
		if (this.#pool.slots.size === 0) this.#ready = false;
		if (planned !== null) this.#planStart(planned.afterMs);
		else if (this.wantsToLaunch) this.#world.wantsToStart(this.id);
		this.#pool.notify();
		this.#world.changed();
	}

	/**
	 * Prevents further starts, and records who requested the stop before the processes are asked to exit.
	 */
	async #suppressStarts(by: Asker): Promise<readonly Slot[]> {
		const slots = [...this.#pool.slots.values()];
		await this.#kept.save({}, [], (transaction) => {
			transaction.removeEffect(startEffectKey(this.id));
			for (const slot of slots) {
				transaction.putRun({ ...storedSlot(this.id, slot, "running"), askedBy: by });
			}
		});
		// A stop that could not be stored was rejected, and changes nothing.
		for (const slot of slots) slot.askedBy = by;
		this.#cancelStart();
		this.#nextStartAtMs = null;
		this.#pool.empty();
		this.#answerAsked("stopped");
		return slots;
	}
}

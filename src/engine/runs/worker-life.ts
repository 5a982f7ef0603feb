/**
 * The lifecycle of a worker agent: a pool of processes that serve requests over their pipes. It grows
 * while all of them are busy, shrinks when idle, and replaces exited processes. A worker's pipes end with
 * the daemon, so a new daemon kills the remaining workers of the old one and starts its own; the
 * dispatcher decides about their requests.
 *
 * At most `workers.max` processes are alive (S1).
 */

import type { WorkerSpec } from "../../config/spec.js";
import { type Asker, type ExitReport, exitReport } from "../../core/exit.js";
import type { ActionRequest } from "../../core/outcome.js";
import type { ProcessState } from "../../core/states.js";
import type { AttemptEnd, Executor, Worker, WorkerEnd } from "../../ports/executor.js";
import type { NewEvent, StoredRun } from "../../ports/store.js";
import { AgentLife } from "./agent-life.js";
import { type PlannedStart, restOf } from "./agent-record.js";
import type { Agent, AgentSnapshot } from "./agent-state.js";
import { type HealthWatch, NO_HEALTH_WATCH, watchHealth } from "./health-watch.js";
import {
	type LifeWorld,
	NOTHING_STOPPED,
	type StartOutcome,
	type StopReport,
} from "./life-world.js";
import type { PersistedAgent } from "./persisted-agent.js";
import { HELD_BY_DAEMON } from "./run.js";
import { watchRun } from "./run-watch.js";
import { NO_CONVERSATION } from "./session-world.js";
import { newWorkerRun, WorkerPool, type WorkerRun } from "./worker-pool.js";

export class WorkerLife extends AgentLife<WorkerRun> {
	readonly #executor: Executor;
	readonly #pool: WorkerPool;
	#health = NO_HEALTH_WATCH;
	#stopping = false;
	/** The daemon exits, and its workers with it; the next one records their end. */
	#gone = false;

	constructor(agent: PersistedAgent, world: LifeWorld, executor: Executor) {
		super(agent, world);
		this.#executor = executor;
		this.#pool = new WorkerPool({
			clock: world.clock,
			spec: () => this.spec,
			refused: () => this.#explainRefusal(),
			wantMore: () => world.gate.ask(this.id),
		});
	}

	protected override get spec(): WorkerSpec {
		return super.spec as WorkerSpec;
	}

	get wantsStart(): boolean {
		return (
			!this.#stopping &&
			this.next.plannedAtMs === null &&
			this.#pool.isShort &&
			this.#refused() === null
		);
	}

	snapshot(): AgentSnapshot {
		const runs = this.openRuns();
		const alive = runs.filter(({ gone }) => gone === null);
		const first = alive[0] ?? runs[0];
		return {
			agent: this.agent.now,
			process: this.#processState(),
			run: first ?? null,
			processes: alive.length,
			ready: this.ready && alive.length > 0,
			gone: first?.gone ?? null,
			known: null,
			hibernation: null,
			health: alive.length > 0 ? this.#health.view() : null,
			lastExit: this.agent.lastExit,
			nextStartAtMs: this.next.plannedAtMs,
		};
	}

	/** Sends a request to one of the processes. Never rejects. */
	ask(request: ActionRequest, timeoutMs: number, signal: AbortSignal): Promise<AttemptEnd> {
		return this.#pool.ask(request, timeoutMs, signal);
	}

	start(): Promise<void> {
		return this.agent.serialize(() => this.#startOne());
	}

	recover(runs: readonly StoredRun[], planned: PlannedStart | null): Promise<void> {
		return this.agent.serialize(async () => {
			if (runs.length > 0) await this.#executor.endLeft(runs.map(({ runId }) => runId));
			for (const run of runs) await this.#endLeft(run);
			if (this.#refused() !== null) return;
			this.#pool.fill();
			if (planned === null) this.world.gate.ask(this.id);
			else this.next.plan(restOf(planned, this.nowMs()));
		});
	}

	forbidden(): StartOutcome | null {
		return this.#pool.runs.size > 0 ? "already_running" : this.#refused();
	}

	override requestStart(withContinue: boolean): Promise<StartOutcome> {
		const refused = this.forbidden();
		if (refused !== null) return Promise.resolve(refused);
		this.#pool.fill();
		if (this.#pool.isShort) return super.requestStart(withContinue);
		// Without processes to start, it is up as soon as it accepts requests.
		this.next.refuse("started");
		return Promise.resolve("started");
	}

	/** Replaces the processes that were started with earlier settings. */
	override recorded({ spec }: Partial<Agent>): void {
		if (spec !== undefined) {
			for (const run of this.openRuns()) {
				run.askedBy = "reeve";
				void run.worker?.stop(this.spec.drain.timeoutMs);
			}
		}
		this.#pool.notify();
	}

	override async stop(
		by: Asker,
		timeoutMs: number | undefined,
		why: string | null = null,
	): Promise<StopReport> {
		this.#stopping = true;
		try {
			return await super.stop(by, timeoutMs, why);
		} finally {
			this.#stopping = false;
		}
	}

	release(): void {
		this.#gone = true;
		this.#stopping = true;
		this.next.release();
		this.#health.stop();
		for (const run of this.openRuns()) unwatch(run);
		this.#pool.notify();
	}

	protected openRuns(): readonly WorkerRun[] {
		return [...this.#pool.runs.values()];
	}

	protected override startsSuppressed(): void {
		this.#pool.empty();
	}

	protected async drain(
		runs: readonly WorkerRun[],
		graceMs: number,
	): Promise<Omit<StopReport, "durationMs">> {
		const ends = await Promise.all(
			runs.map(async ({ worker, ended }) => {
				const end = await worker?.stop(graceMs);
				await ended.promise;
				return end;
			}),
		);
		this.#stopping = false;
		const stops = ends.filter((end) => end !== undefined);
		const unproven = stops.find(({ outcome }) => outcome === "not_proven");
		if (unproven !== undefined) return unproven;
		if (ends.length === 0) return NOTHING_STOPPED;
		const killed = stops.flatMap((stop) => stop.killed);
		const isGraceful = stops.every(({ outcome }) => outcome === "graceful");
		return { outcome: isGraceful ? "graceful" : "timed_out_killed", reason: null, killed };
	}

	#processState(): ProcessState {
		const all = this.openRuns();
		const alive = all.filter(({ gone }) => gone === null);
		if (all.length > 0 && alive.length === 0) return "stopped";
		if (alive.some(({ worker, askedBy }) => worker !== null && askedBy === null)) return "running";
		if (alive.some(({ askedBy }) => askedBy !== null)) return "stopping";
		return alive.length > 0 || this.wantsStart ? "starting" : "stopped";
	}

	/** Why no process may be started. */
	#refused(): StartOutcome | null {
		const { desired, crash, waiting } = this.agent.now;
		if (desired === "down") return "stopped";
		if (crash.policy === "halted") return "halted";
		return waiting ? "waiting" : null;
	}

	#explainRefusal(): string | null {
		const refused = this.#refused();
		if (refused === null) return null;
		if (refused === "stopped")
			return `${this.id} is stopped: start it with \`reeve up ${this.id}\``;
		return `${this.id} is ${refused}: ${this.agent.now.reason}`;
	}

	async #startOne(): Promise<void> {
		if (!this.wantsStart) return this.#reportStart(this.forbidden() ?? "stopped");
		const run = newWorkerRun(this.world.newRunId(), this.agent.now.revision ?? 0, this.nowMs());
		await this.recordIntent(run);
		this.#pool.runs.set(run.runId, run);
		const prepared = await this.world.sessions.prepare(this.spec, NO_CONVERSATION);
		if (!prepared.ok) return this.#failedToStart(run, true, prepared.detail);
		const { request } = prepared;
		const started = await this.#executor.startWorker({
			runId: run.runId,
			logDir: request.logDir,
			program: { ...request, extraOutput: this.spec.extraOutput },
		});
		if (!started.ok) {
			return this.#failedToStart(run, started.failure.permanent, started.failure.detail);
		}
		await this.#began(run, started.worker);
		this.#reportStart("started");
	}

	async #failedToStart(run: WorkerRun, permanent: boolean, detail: string): Promise<void> {
		const report = exitReport({ uptimeMs: 0, cause: "spawn_error", permanent, detail });
		await this.#end(run, report, this.nowMs());
		this.#reportStart("failed");
	}

	#reportStart(outcome: StartOutcome): void {
		this.next.take()?.outcome.resolve(outcome);
	}

	async #began(run: WorkerRun, worker: Worker): Promise<void> {
		const { runId } = run;
		const { process, startedAtMs, outputFrom } = worker;
		run.worker = worker;
		run.startedSteadyMs = this.world.clock.now().steadyMs;
		const data = { pid: process.pid, with_continue: false };
		const event: NewEvent = { type: "agent.started", agent: this.id, run_id: runId, data };
		const place = { backend: HELD_BY_DAEMON, runId, process };
		const handle = { ...place, startedAtMs, outputFrom, data: {} };
		await this.recordRunning(run, handle, [event]);
		worker.ended
			.then((end) => {
				run.gone = end;
				return this.agent.serialize(async () => this.#gone || (await this.#ended(run, end)));
			})
			.catch((error: unknown) => this.world.onError(this.id, error));
		const ifOpen = (task: () => Promise<void>) =>
			void this.agent.serialize(async () => this.#pool.runs.has(runId) && task());
		const watch = watchRun(this.world, this.spec, run, false, {
			onReady: (afterMs) => ifOpen(() => this.recordReady(run, afterMs)),
			onStable: () => ifOpen(() => this.recordStable()),
		});
		run.unwatch = () => watch.stop();
		if (this.#health === NO_HEALTH_WATCH) this.#health = this.#watchHealth();
		this.#pool.notify();
		this.world.gate.ask(this.id);
	}

	/** One check for all processes: it asks what the agent serves, not a process of the pool. */
	#watchHealth(): HealthWatch {
		const { clock, store } = this.world;
		const sinceMs = clock.now().steadyMs;
		return watchHealth(this.spec, {
			...this.world,
			look: () => ({
				...{ isReady: this.ready, upMs: clock.now().steadyMs - sinceMs },
				...{ activity: null, isDelivering: false },
			}),
			note: (event) => store.commit((transaction) => transaction.appendEvent(event, this.nowMs())),
			onRestart: (detail) => void this.agent.serialize(async () => this.#replaceUnhealthy(detail)),
			onError: (error) => this.world.onError(this.id, error),
		});
	}

	/** Stops all processes, each after its requests. The crash policy counts them as one failure. */
	#replaceUnhealthy(detail: string): void {
		this.#stopHealth();
		const running = this.openRuns().filter(({ worker, askedBy }) => worker && askedBy === null);
		for (const [index, run] of running.entries()) {
			if (index === 0) run.failing = { cause: "unhealthy", detail };
			else run.askedBy = "reeve";
			void run.worker?.stop(this.spec.drain.timeoutMs);
		}
		this.#pool.notify();
	}

	#stopHealth(): void {
		this.#health.stop();
		this.#health = NO_HEALTH_WATCH;
	}

	/** Processes that were killed because of a cancelled request do not count as failed. */
	#ended(run: WorkerRun, end: WorkerEnd): Promise<void> {
		if (end.cause === "called_off") run.askedBy ??= "reeve";
		const upMs = this.world.clock.now().steadyMs - (run.startedSteadyMs ?? 0);
		const report = exitReport({
			code: end.code,
			signal: end.signal,
			cause: end.outOfMemory ? "out_of_memory" : (run.failing?.cause ?? "unknown"),
			askedBy: run.askedBy,
			uptimeMs: Math.max(0, upMs),
			detail: run.failing?.detail ?? run.askedWhy ?? (isOrdinary(end) ? null : end.reason),
		});
		return this.#end(run, report, end.atMs);
	}

	/** A worker of a dead daemon: it could no longer serve requests, so it was killed. */
	#endLeft({ runId, revision, intendedAtMs }: StoredRun): Promise<void> {
		const run = {
			...newWorkerRun(runId, revision ?? null, intendedAtMs),
			askedBy: "reeve" as const,
		};
		const uptimeMs = Math.max(0, this.nowMs() - intendedAtMs);
		const detail = "its daemon stopped";
		return this.#end(run, exitReport({ askedBy: "reeve", uptimeMs, detail }), this.nowMs());
	}

	async #end(run: WorkerRun, report: ExitReport, atMs: number): Promise<void> {
		const { planned } = await this.recordEnd(run, report, atMs);
		this.#pool.runs.delete(run.runId);
		unwatch(run);
		run.ended.resolve();
		if (this.#pool.runs.size === 0) {
			this.ready = false;
			this.#stopHealth();
		}
		if (planned !== null) this.next.plan(planned);
		this.#pool.notify();
		this.world.gate.ask(this.id);
	}
}

const isOrdinary = ({ cause }: WorkerEnd) => cause === "exited" || cause === "stopped";

function unwatch(run: WorkerRun): void {
	run.cancelIdle();
	run.unwatch();
}

/**
 * The lifecycle of an agent's runs, for sessions and workers alike: intended → running → ready → stable
 * → ended, with the commit of each step. A kind of agent adds how its processes start, report and stop.
 *
 * Keeps S2 (nothing starts while the agent is wanted down), S8 (one start and one exit per run) and S15
 * (halted is never left by an exit).
 */

import type { SessionSpec, WorkerSpec } from "../../config/spec.js";
import { decideAfterExit } from "../../core/crash-policy.js";
import type { CrashAction } from "../../core/crash-state.js";
import type { Asker, ExitReport } from "../../core/exit.js";
import type { RunHandle } from "../../ports/backend.js";
import type { NewEvent, StoredRun, StoreTransaction } from "../../ports/store.js";
import type { Parked } from "../limits/accounts.js";
import {
	drainedEvent,
	type PlannedStart,
	recordExit,
	settledAgent,
	startEffect,
	startEffectKey,
} from "./agent-record.js";
import type { Agent, AgentSnapshot } from "./agent-state.js";
import type { LifeWorld, StartOutcome, StopReport } from "./life-world.js";
import { NextStart } from "./next-start.js";
import type { PersistedAgent } from "./persisted-agent.js";
import { type Run, toStoredRun } from "./run.js";

/** Why an agent does not run whose start is recorded. */
const STARTING = "starting";

/** A run that was admitted to start immediately after the exit before it. */
export interface Successor<R> {
	readonly run: R;
	/** Called when its start has finished. */
	readonly leave: () => void;
}

/** Additions of a kind of agent to the record of an exit. */
export interface ExitConsequences {
	/** The account that holds the agent from now on; null if none does. */
	readonly park: (action: CrashAction) => Parked | null;
	readonly changes: Partial<Agent>;
	readonly events: readonly NewEvent[];
}

const NO_CONSEQUENCES: ExitConsequences = { park: () => null, changes: {}, events: [] };

/** The start that follows an exit, if any. */
interface NextRun<R> {
	/** The restart that the policy decided on; null if there is none, or if it is recorded as a run already. */
	readonly planned: PlannedStart | null;
	/** The run that follows at once; recorded as intended. */
	readonly successor: Successor<R> | null;
	/** The agent waits for its account, which decides when it starts again. */
	readonly isParked: boolean;
}

export abstract class AgentLife<R extends Run = Run> {
	protected readonly agent: PersistedAgent;
	protected readonly world: LifeWorld;
	protected readonly next: NextStart;
	protected ready = false;

	constructor(agent: PersistedAgent, world: LifeWorld) {
		this.agent = agent;
		this.world = world;
		this.next = new NextStart(world.clock, () => void this.#ask(true));
	}

	get id(): string {
		return this.agent.now.id;
	}

	/** Whether it waits for permission to start. */
	abstract get wantsStart(): boolean;
	abstract snapshot(): AgentSnapshot;
	/** Starts the requested run, if nothing has changed since. The gate calls it. */
	abstract start(): Promise<void>;
	/** Whether anything forbids a start now: S1, S2 and S15 are enforced here. */
	abstract forbidden(): StartOutcome | null;
	/** Continues the work of an earlier daemon: its open runs, or its planned start. */
	abstract recover(runs: readonly StoredRun[], planned: PlannedStart | null): Promise<void>;
	/** Cancels its timers; running processes are not affected. */
	abstract release(): void;
	/** Its runs that have not ended. */
	protected abstract openRuns(): readonly R[];
	/** Stops the processes of these runs. */
	protected abstract drain(
		runs: readonly R[],
		graceMs: number,
	): Promise<Omit<StopReport, "durationMs">>;
	protected abstract startsSuppressed(): void;

	/** A change of its record has been made. */
	recorded(_changes: Partial<Agent>): void {}

	/** The outcome of the start, which happens when the gate admits it; or why it is forbidden. */
	requestStart(withContinue: boolean): Promise<StartOutcome> {
		const refused = this.forbidden();
		return refused === null ? this.#ask(withContinue) : Promise.resolve(refused);
	}

	#ask(withContinue: boolean): Promise<StartOutcome> {
		const outcome = this.next.ask(withContinue);
		this.world.gate.ask(this.id);
		return outcome;
	}

	/** Whether it runs, or is about to. A start that is being made is waited for. */
	activity(): Promise<"running" | "starting" | "none"> {
		return this.agent.serialize(async () => {
			if (this.openRuns().length > 0) return "running";
			return this.wantsStart || this.next.plannedAtMs !== null ? "starting" : "none";
		});
	}

	async stop(
		by: Asker,
		timeoutMs: number | undefined,
		why: string | null = null,
	): Promise<StopReport> {
		const { clock, store } = this.world;
		const sinceMs = clock.now().steadyMs;
		const graceMs = timeoutMs ?? this.spec.drain.timeoutMs;
		const runs = await this.agent.serialize(() => this.#suppressStarts(by, why));
		const drained = await this.drain(runs, graceMs);
		const report = { ...drained, durationMs: clock.now().steadyMs - sinceMs };
		await store.commit((transaction) =>
			transaction.appendEvent(drainedEvent(this.id, report), this.nowMs()),
		);
		return report;
	}

	protected get spec(): SessionSpec | WorkerSpec {
		const { spec } = this.agent.now;
		if (spec.kind === "call") throw new Error(`${spec.id} is a call agent and has no runs`);
		return spec;
	}

	protected nowMs(): number {
		return this.world.clock.now().wallMs;
	}

	/** The intent is recorded before the start, so that a start that was never confirmed is found. */
	protected recordIntent(run: R): Promise<void> {
		const { now, lastExit } = this.agent;
		// A parked agent counts its restart when it starts.
		const restarts = now.restarts + (lastExit?.cause === "usage_limit" ? 1 : 0);
		return this.agent.save({ reason: STARTING, restarts }, [], (transaction) =>
			this.#putIntended(transaction, run),
		);
	}

	/** The run is known to be alive, because it was just started or found running. */
	protected recordRunning(run: R, handle: RunHandle, events: readonly NewEvent[]): Promise<void> {
		run.handle = handle;
		return this.agent.save({ reason: "running" }, events, this.#putRunning(run));
	}

	protected async recordReady(run: R, afterMs: number): Promise<void> {
		if (this.ready) return;
		run.ready = true;
		const about = { agent: this.id, run_id: run.runId };
		const event: NewEvent = { ...about, type: "agent.ready", data: { after_ms: afterMs } };
		await this.agent.save({}, [event], this.#putRunning(run));
		this.ready = true;
		this.world.gate.startWaiting();
	}

	/** The run lasted a whole window of the crash policy. */
	protected async recordStable(): Promise<void> {
		const settled = settledAgent(this.agent.now);
		if (settled !== null) await this.agent.save({ crash: settled.crash }, settled.events);
	}

	/**
	 * The exit, the policy's decision and the planned restart, in one commit. A restart without a delay is recorded as
	 * the run that follows, so that nothing lies between an exit and the next start but one wait for the disk.
	 */
	protected async recordEnd(
		run: R,
		report: ExitReport,
		atMs: number,
		{ park, changes, events }: ExitConsequences = NO_CONSEQUENCES,
	): Promise<NextRun<R>> {
		const { spec, agent } = this;
		const decision = decideAfterExit(agent.now.crash, report, {
			settings: spec.crashPolicy,
			onCleanExit: spec.kind === "session" ? spec.onCleanExit : "restart",
			random: this.world.random(),
		});
		const parked = park(decision.action);
		const times = { atMs, nowMs: this.nowMs() };
		const record = recordExit(agent.now, run, report, decision, times, parked);
		const isDirect = record.planned?.afterMs === 0 && !run.exitRecorded && isUp(record.changes);
		const successor = isDirect ? this.succeed() : null;
		const planned = successor === null ? record.planned : null;
		const starting = successor === null ? {} : { reason: STARTING };
		try {
			await agent.save(
				{ ...record.changes, ...changes, ...starting },
				[...record.events, ...events],
				(transaction) => {
					const state = run.exitRecorded ? "running" : "ended";
					transaction.putRun(toStoredRun(this.id, run, state));
					transaction.putExit(record.exit);
					parked?.write(transaction);
					if (planned !== null) transaction.putEffect(startEffect(this.id, planned));
					if (successor !== null) this.#putIntended(transaction, successor.run);
				},
			);
		} catch (error) {
			successor?.leave();
			throw error;
		}
		agent.lastExit = record.exit;
		return { planned, successor, isParked: parked !== null };
	}

	/** The run that follows an exit at once, if it is admitted. */
	protected succeed(): Successor<R> | null {
		return null;
	}

	/** Prevents further starts, and records who requested the stop before the agent is asked to exit. */
	async #suppressStarts(by: Asker, why: string | null): Promise<readonly R[]> {
		const runs = this.openRuns();
		await this.agent.save({}, [], (transaction) => {
			transaction.removeEffect(startEffectKey(this.id));
			for (const run of runs) {
				transaction.putRun(toStoredRun(this.id, { ...run, ...askedOf(run, by, why) }, "running"));
			}
		});
		// A stop that could not be stored was rejected, and changes nothing.
		for (const run of runs) Object.assign(run, askedOf(run, by, why));
		this.next.refuse();
		this.startsSuppressed();
		return runs;
	}

	#putIntended(transaction: StoreTransaction, run: R): void {
		transaction.putRun(toStoredRun(this.id, run, "intended"));
		transaction.removeEffect(startEffectKey(this.id));
	}

	#putRunning(run: R): (transaction: StoreTransaction) => void {
		return (transaction) => transaction.putRun(toStoredRun(this.id, run, "running"));
	}
}

/** A stop that an earlier daemon had begun keeps its reason. */
const askedOf = (run: Run, by: Asker, why: string | null) => ({
	askedBy: by,
	askedWhy: why ?? (run.askedBy === by ? run.askedWhy : null),
});

/** The agent may start after the exit (S2, S15). */
const isUp = ({ desired, waiting, crash }: Partial<Agent>) =>
	desired === "up" && waiting === false && crash?.policy !== "halted";

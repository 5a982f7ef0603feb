/**
 * The lifecycle of a session agent: one run at a time, held by a backend, so that it outlives the
 * daemon. A new daemon looks for the run of the old one and adopts it.
 *
 * Keeps S1 (a run is started only if none is open), S13 (adoption changes no counter) and S18 (its
 * process tree is gone before a successor starts), besides those of every lifecycle.
 */

import { type Asker, type ExitReport, exitReport } from "../../core/exit.js";
import type { WakeCause } from "../../core/hibernation.js";
import type { Backend, Deadline, RunExit, RunHandle, StartFailure } from "../../ports/backend.js";
import type { NewEvent, StoredRun } from "../../ports/store.js";
import { scheduleLong } from "../waiting.js";
import { AgentLife, type Successor } from "./agent-life.js";
import { createLimitsReporter, type PlannedStart, reportOf, restOf } from "./agent-record.js";
import { type AgentSnapshot, snapshotOfRun } from "./agent-state.js";
import { classifyRun } from "./classify-run.js";
import {
	askToExit,
	type Drained,
	type DrainSteps,
	drainResult,
	drainRun,
	drainStepsOf,
} from "./drain.js";
import { isTreeGone } from "./end-tree.js";
import { failStart, killFailing, recordUnhealthy } from "./fail-run.js";
import { Hibernation } from "./hibernation.js";
import { launchRun } from "./launch-run.js";
import { forgetRun, LeftTree, recordTreeGone } from "./left-tree.js";
import {
	type LifeWorld,
	NOTHING_STOPPED,
	type StartOutcome,
	type StopReport,
} from "./life-world.js";
import type { PersistedAgent } from "./persisted-agent.js";
import {
	continuesConversation,
	isOutdated,
	newSessionRun,
	recoveredRun,
	type SessionRun,
	toStoredRun,
} from "./run.js";
import {
	bindConversation,
	endConversation,
	recordConversation,
	releaseConversation,
} from "./run-conversation.js";
import { isReadyByStart, type RunWatch, watchRun } from "./run-watch.js";

const RECOVER_AGAIN_MS = 1_000;
const INTENT_AGAIN_MS = 1_000;
const SETTINGS_CHANGED = "its settings have changed";
const UNSEEN = { code: null, signal: null, outOfMemory: false };

type Begun = Pick<Extract<NewEvent, { type: "agent.started" | "agent.adopted" }>, "type" | "data">;

/** The operations of the agent that its own run causes. */
export interface Operations {
	/** Completes a stop or restart that an earlier daemon had begun, or that its run needs. */
	finishStop(by: Asker, why?: string): Promise<void>;
	/** Stops a run whose hibernation is recorded. */
	finishHibernation(runId: string): Promise<void>;
	/** Starts an agent that hibernates if something has come for it in the meantime. */
	wakeIfNeeded(): Promise<void>;
}

export class SessionLife extends AgentLife<SessionRun> {
	readonly #operations: Operations;
	readonly #hibernation: Hibernation;
	#run: SessionRun | null = null;
	readonly #limitsNews = createLimitsReporter();
	#cancelRecovery = () => {};
	#watch: RunWatch | null = null;
	/** The run that is being stopped, with all its processes. */
	#draining: SessionRun | null = null;
	/** Processes that outlived the last run's own process (S18). */
	#left: LeftTree | null = null;

	constructor(agent: PersistedAgent, world: LifeWorld, operations: Operations) {
		super(agent, world);
		this.#operations = operations;
		this.#hibernation = new Hibernation(agent, world, operations, () => this.#run);
	}

	get wantsStart(): boolean {
		return this.next.isWanted && this.#left === null;
	}

	snapshot(): AgentSnapshot {
		const isEnding = this.#draining !== null || this.#left !== null;
		const facts = { wantsToStart: this.next.isWanted, isEnding };
		const now = snapshotOfRun(this.#run, facts, this.ready, this.#watch);
		return {
			agent: this.agent.now,
			process: now.process,
			run: now.run,
			processes: now.processes,
			ready: now.ready,
			gone: now.gone,
			known: now.known,
			health: now.health,
			hibernation: now.hibernation,
			lastExit: this.agent.lastExit,
			nextStartAtMs: this.next.plannedAtMs,
		};
	}

	start(): Promise<void> {
		return this.agent.serialize(async () => {
			if (this.#left !== null) return;
			const wanted = this.next.take();
			if (wanted === null) return;
			const refused = this.forbidden();
			if (refused !== null) return wanted.outcome.resolve(refused);
			const run = this.#newRun(wanted.withContinue);
			await this.recordIntent(run).catch((error: unknown) => {
				// Nothing has started. The agent is still wanted up, so it is retried.
				wanted.outcome.resolve("failed");
				this.next.plan({ afterMs: INTENT_AGAIN_MS, dueAtMs: this.nowMs() + INTENT_AGAIN_MS });
				throw error;
			});
			await this.#startRun(run, wanted.outcome.resolve);
		});
	}

	/** The backend reports the exit of a run of this agent. */
	exited(exit: RunExit): Promise<void> {
		// Shown immediately: recording it may have to wait for the store.
		if (this.#run?.runId === exit.runId) this.#run.gone = exit;
		return this.agent.serialize(async () => {
			const run = this.#run;
			if (run?.runId !== exit.runId) return;
			run.exitSeen = true;
			await this.#end(run, this.#report(run, exit), exit.atMs);
			if (exit.replaced !== undefined || exit.atDeadline === true) this.#resumeStart(null);
		});
	}

	recover([stored]: readonly StoredRun[], planned: PlannedStart | null): Promise<void> {
		return this.agent.serialize(async () => {
			if (stored === undefined) this.#resumeStart(planned);
			else if (stored.exitRecorded) {
				this.#endLeft(recoveredRun(stored, this.world.backends.get(stored.backend)));
				this.#resumeStart(planned);
			} else await this.#recover(stored);
		});
	}

	/** The backend and the handle of its run; null while none is known to be alive. */
	held(): { readonly backend: Backend; readonly handle: RunHandle } | null {
		const { backend, handle = null } = this.#run ?? {};
		return handle === null || backend === undefined ? null : { backend, handle };
	}

	release(): void {
		this.next.release();
		this.#cancelRecovery();
		this.#watch?.stop();
		this.#left?.release();
	}

	forbidden(): StartOutcome | null {
		if (this.#run !== null) return "already_running";
		if (typeof this.#left?.stuck === "string") return "not_gone";
		const { desired, crash, waiting } = this.agent.now;
		if (desired === "down") return "stopped";
		if (this.agent.now.hibernation) return "hibernated";
		if (crash.policy === "halted") return "halted";
		if (this.world.usage.held(this.spec) !== null) return "over_budget";
		return waiting ? "waiting" : null;
	}

	protected openRuns(): readonly SessionRun[] {
		return this.#run === null ? [] : [this.#run];
	}

	/** Replaces the current run. */
	#keep(run: SessionRun | null): void {
		const { ownersOfRuns } = this.world;
		if (this.#run !== null) ownersOfRuns.delete(this.#run.runId);
		if (run !== null) ownersOfRuns.set(run.runId, this);
		this.#run = run;
	}

	#newRun(withContinue: boolean): SessionRun {
		const { newRunId, backends } = this.world;
		const backend = backends.get(backends.choose(this.spec).name);
		const { revision = 0 } = this.agent.now;
		return newSessionRun(newRunId(), backend, withContinue, revision, this.nowMs());
	}

	/** Starts a run that is recorded as intended. */
	async #startRun(run: SessionRun, report: (outcome: StartOutcome) => void): Promise<void> {
		this.#keep(run);
		const launched = await launchRun(this.world, this.agent, run);
		switch (launched.outcome) {
			case "unknown":
				// It may have started or not; only a search for it shows which.
				report("failed");
				return this.#recover(toStoredRun(this.id, run, "intended"));
			case "lease_lost":
				await this.#neverStarted(run);
				report("waiting");
				return void this.requestStart(run.withContinue);
			case "failed":
				await this.#failedToStart(run, launched.failure);
				return report("failed");
			case "started": {
				run.startedSteadyMs = this.world.clock.now().steadyMs;
				const { pid } = launched.handle.process;
				const data = { pid, with_continue: continuesConversation(run, this.agent.lastExit) };
				await this.#began(run, launched.handle, { type: "agent.started", data });
				return report("started");
			}
		}
	}

	async #failedToStart(run: SessionRun, { permanent, detail }: StartFailure): Promise<void> {
		const report = exitReport({ uptimeMs: 0, cause: "spawn_error", permanent, detail });
		await this.#end(run, report, this.nowMs());
	}

	/** A start that others wait for is not taken: it goes through the gate. */
	protected override succeed(): Successor<SessionRun> | null {
		const { gate, usage } = this.world;
		if (this.next.isWanted || usage.held(this.spec) !== null) return null;
		const leave = gate.admit(this.spec);
		return leave === null ? null : { run: this.#newRun(true), leave };
	}

	async #began(run: SessionRun, handle: RunHandle, event: Begun): Promise<void> {
		const { sessions } = this.world;
		const holds = await bindConversation(sessions, run.conversation?.lease, handle.process);
		const about = { agent: this.id, run_id: run.runId };
		const events = [{ ...about, ...event } as NewEvent, ...this.#limitsNews.of(handle, about)];
		if (event.type === "agent.started" && isReadyByStart(this.world, this.spec)) {
			// In the same commit.
			run.ready = true;
			events.push({ ...about, type: "agent.ready", data: { after_ms: 0 } });
		}
		await this.recordRunning(run, handle, events);
		// Another holder has the conversation by now: two processes would damage it.
		if (!holds) run.askedBy ??= "reeve";
		if (this.#hibernation.isOf(run)) this.#settleHibernation(run);
		else if (run.askedBy !== null) this.#finishStop(run.askedBy);
		// The earlier daemon died after it had recorded a `down`, and before it had recorded the stop (S2).
		else if (event.type === "agent.adopted" && this.agent.now.desired === "down") {
			this.#finishStop("operator");
		} else if (run.failing !== null) this.#endFailing(run);
		// The earlier daemon died after it had recorded new settings, and before it had replaced this run.
		else if (isOutdated(run, this.agent.now)) this.#finishStop("reeve", SETTINGS_CHANGED);
		const ifCurrent = (task: () => Promise<void>) =>
			void this.agent.serialize(async () => this.#run === run && task());
		this.#watch = watchRun(this.world, this.spec, run, event.type === "agent.adopted", {
			onReady: (afterMs) => ifCurrent(() => this.recordReady(run, afterMs)),
			onStable: () => ifCurrent(() => this.recordStable()),
			onConversation: (id) => ifCurrent(() => recordConversation(sessions, this.agent, run, id)),
			onUnhealthy: (detail) =>
				ifCurrent(async () => {
					if (await recordUnhealthy(this.agent, run, detail)) this.#endFailing(run);
				}),
			onStartTimeout: (afterMs, screen) =>
				ifCurrent(() => failStart(this.agent, run, afterMs, screen)),
			onRestart: () => this.#finishStop("reeve"),
			onHibernate: (idleMs, memoryBytes) =>
				this.agent.serialize(() => this.#hibernation.begin(run, idleMs, memoryBytes)),
		});
		if (!this.#watch.readyAtOnce) return;
		this.ready = true;
		this.world.gate.startWaiting();
	}

	/**
	 * An earlier daemon died between its decision and the exit. If it had asked the agent to exit, that completes within
	 * the time of a drain; otherwise the agent keeps running, since it may have work by now.
	 */
	#settleHibernation(run: SessionRun): void {
		this.#cancelRecovery = scheduleLong(this.world.clock, this.spec.drain.timeoutMs, () => {
			if (run.gone !== null || !this.#hibernation.isOf(run)) return;
			this.endHibernation("not_stopped").catch((error: unknown) =>
				this.world.onError(this.id, error),
			);
		});
	}

	/** Wakes the agent; it starts with its next start, unless it was not asked to exit yet. */
	endHibernation(by: WakeCause): Promise<void> {
		return this.agent.serialize(async () => {
			const run = await this.#hibernation.end(by);
			if (run !== null && isOutdated(run, this.agent.now)) {
				this.#finishStop("reeve", SETTINGS_CHANGED);
			}
		});
	}

	/** Gives an agent that was working the time of a drain, then kills it. */
	#endFailing(run: SessionRun): void {
		const { timeoutMs } = this.spec.drain;
		askToExit(run, timeoutMs, this.world.clock, this.#drainSteps(run.runId))
			.then(() => this.agent.serialize(() => killFailing(this.agent, run)))
			.catch((error: unknown) => this.world.onError(this.id, error));
	}

	#finishStop(by: Asker, why?: string): void {
		this.#operations
			.finishStop(by, why)
			.catch((error: unknown) => this.world.onError(this.id, error));
	}

	/** Records the exit of a run with the decision of the policy, and performs it. */
	async #end(run: SessionRun, facts: ExitReport, atMs: number): Promise<void> {
		const { sessions, inbox, accounts } = this.world;
		run.gone = facts;
		// Before the commit: a daemon that is killed here must leave the run open for the next one.
		run.exitRecorded = !(await isTreeGone(run));
		const classified = await classifyRun(sessions, this.spec, run, facts, atMs);
		const { savesPromptsLater } = sessions.adapterOf(this.spec).profile;
		await inbox.settle(this.id, classified.signs, savesPromptsLater);
		const { report } = classified;
		const conversation = await endConversation(sessions, this.agent.now, run, classified);
		const hibernated = this.#hibernation.endedBy(run);
		const { planned, successor, isParked } = await this.recordEnd(run, report, atMs, {
			changes: { ...conversation.changes, ...hibernated.changes },
			events: [...conversation.events, ...hibernated.events],
			park: (action) => accounts.ended(this.spec, action, report, atMs),
		});
		this.#keep(successor?.run ?? null);
		this.ready = false;
		this.#watch?.stop();
		run.ended.resolve();
		if (!run.exitRecorded) forgetRun(run);
		else if (this.#draining !== run) this.#endLeft(run);
		if (this.agent.now.hibernation?.runId === run.runId) {
			this.#operations.wakeIfNeeded().catch((error) => this.world.onError(this.id, error));
		}
		if (planned !== null) this.next.plan(planned);
		if (isParked) void this.requestStart(true);
		this.world.gate.startWaiting();
		if (successor !== null) await this.#startRun(successor.run, () => {}).finally(successor.leave);
	}

	/** Kills the processes that outlived the agent. The agent does not start before that is done. */
	#endLeft(run: SessionRun): void {
		this.#left = new LeftTree(run, this.world, this.agent, {
			onGone: (wasStuck) => {
				this.#left = null;
				if (wasStuck) this.#resumeStart(null);
				this.world.gate.ask(this.id);
			},
			onStuck: () => this.next.refuse("not_gone"),
		});
		this.#left
			.end(this.spec.drain.timeoutMs)
			.catch((error: unknown) => this.world.onError(this.id, error));
	}

	#report(run: SessionRun, exit: Omit<RunExit, "runId">): ExitReport {
		run.treeGone = exit.treeGone ?? false;
		if (exit.atDeadline === true) {
			run.askedBy ??= "reeve";
			run.askedWhy ??= "its lease was not renewed in time";
		}
		return reportOf(run, exit, this.world.clock.now().steadyMs);
	}

	/** The end of a run whose exit was not observed. */
	#endUnseen(run: SessionRun): Promise<void> {
		const exit = { ...UNSEEN, atMs: this.nowMs() };
		return this.#end(run, this.#report(run, exit), exit.atMs);
	}

	protected override startsSuppressed(): void {
		this.#cancelRecovery();
	}

	protected drain(
		[run]: readonly SessionRun[],
		graceMs: number,
	): Promise<Omit<StopReport, "durationMs">> {
		return run === undefined ? this.#drainLeft(graceMs) : this.#drainRun(run, graceMs);
	}

	async #drainRun(run: SessionRun, graceMs: number): Promise<Drained> {
		this.#draining = run;
		run.isAsked = true;
		const steps = this.#drainSteps(run.runId);
		const drained = await drainRun(run, graceMs, this.world.clock, steps).finally(() => {
			this.#draining = null;
		});
		await this.agent.serialize(async () => {
			const isProven = drained.outcome !== "not_proven";
			// The process is gone; an exit that was not reported by now never will be.
			if (this.#run === run && !isProven)
				return run.isUnknown ? this.#recoverLater(run) : undefined;
			if (this.#run === run) return this.#endUnseen(run);
			if (!run.exitRecorded) return;
			return isProven ? recordTreeGone(this.agent, run, []) : this.#endLeft(run);
		});
		return drained;
	}

	/** The agent itself does not run, but processes that it left behind may. */
	async #drainLeft(graceMs: number): Promise<Omit<StopReport, "durationMs">> {
		if (this.#left !== null) return drainResult(await this.#left.end(graceMs));
		return NOTHING_STOPPED;
	}

	#drainSteps(runId: string): DrainSteps {
		const { drain } = this.world.sessions.adapterOf(this.spec).profile;
		const activity = () => this.#watch?.known()?.activity ?? "unknown";
		return drainStepsOf(drain, activity, { agent: this.id, run_id: runId }, (event) =>
			this.agent.save({}, [event]),
		);
	}

	async #recover(stored: StoredRun): Promise<void> {
		const backend = this.world.backends.get(stored.backend);
		const run = recoveredRun(stored, backend);
		this.#keep(run);
		// A failed lookup proves nothing, and is repeated like an unknown result.
		const found = await backend
			.recover(stored.runId, stored.handle)
			.catch((error: Error) => ({ state: "unknown", reason: error.message }) as const);
		run.isUnknown = found.state === "unknown";
		switch (found.state) {
			case "unknown":
				// Unknown is not stopped: nothing is started until the state is known.
				this.agent.show(found.reason);
				return this.#recoverLater(run);
			case "running": {
				const data = { pid: found.handle.process.pid };
				return this.#began(run, found.handle, { type: "agent.adopted", data });
			}
			case "exited":
				await this.#end(run, this.#report(run, found.exit), found.exit.atMs);
				break;
			case "gone":
				await this.#recordGone(run, stored, found.rebooted);
		}
		if (this.next.plannedAtMs === null) this.#resumeStart(null);
	}

	/** Also after a stop without proof, which had cancelled the lookup. */
	#recoverLater(run: SessionRun): void {
		const stored = toStoredRun(this.id, run, run.handle === null ? "intended" : "running");
		this.#cancelRecovery = scheduleLong(this.world.clock, RECOVER_AGAIN_MS, () => {
			void this.agent.serialize(() => this.#recover(stored));
		});
	}

	async #recordGone(run: SessionRun, stored: StoredRun, rebooted: boolean): Promise<void> {
		if (stored.state === "intended") return this.#neverStarted(run);
		if (rebooted) run.askedBy ??= "host";
		await this.#endUnseen(run);
	}

	/** There is no exit to classify. */
	async #neverStarted(run: SessionRun): Promise<void> {
		await this.agent.save({}, [], (transaction) =>
			transaction.putRun(toStoredRun(this.id, run, "ended")),
		);
		await releaseConversation(this.world.sessions, run);
		this.#keep(null);
	}

	/** The lease of the agent was renewed. */
	extend(deadline: Deadline): void {
		const held = this.held();
		held?.backend.setDeadline(held.handle, deadline);
	}

	/** Continues where an earlier daemon stopped: at the planned time, or immediately. */
	#resumeStart(planned: PlannedStart | null): void {
		if (planned === null) void this.requestStart(true);
		else if (this.forbidden() === null) this.next.plan(restOf(planned, this.nowMs()));
	}
}

/**
 * The lifecycle of one agent: starts it when it may run, passes its exits to the crash policy, and
 * performs the decisions. All changes of the agent go through one mailbox, so they never overtake each
 * other.
 *
 * Keeps S1 (a run is started only if none is open), S2 (nothing starts while the agent is wanted down),
 * S8 (one start and one exit per run) and S13 (adoption changes no counter).
 */

import { type Asker, type ExitReport, exitReport } from "../../core/exit.js";
import type { Backend, RunExit, RunHandle, StartFailure } from "../../ports/backend.js";
import type { NewEvent, StoredExit, StoredRun, StoreTransaction } from "../../ports/store.js";
import { createMailbox } from "../mailbox.js";
import { scheduleLong } from "../waiting.js";
import {
	createLimitsNews,
	drainedEvent,
	graceOf,
	type PlannedStart,
	reportOf,
	restOf,
	startEffectKey,
	toStoredRun,
} from "./agent-record.js";
import {
	type Agent,
	type AgentSnapshot,
	type LiveRun,
	newRun,
	recoveredRun,
	snapshotOfRun,
} from "./agent-state.js";
import { type Drained, type DrainWays, drainedAs, drainRun, drainWaysOf } from "./drain.js";
import { recordEnd, type Successor } from "./end-run.js";
import { KeptAgent } from "./kept-agent.js";
import { launchRun, recordIntent, startedEvent } from "./launch-run.js";
import { forgetRun, LeftTree, recordTreeGone } from "./left-tree.js";
import type { Life } from "./life.js";
import type { LifeWorld, StartOutcome, StopReport } from "./life-world.js";
import { NextStart } from "./next-start.js";
import { bindConversation, releaseConversation } from "./run-conversation.js";
import { recordNews, recordReady } from "./run-news.js";
import { type RunWatch, watchRun } from "./run-watch.js";

const RECOVER_AGAIN_MS = 1_000;
const INTENT_AGAIN_MS = 1_000;
const UNSEEN = { code: null, signal: null, outOfMemory: false };

export class AgentLife implements Life {
	readonly #world: LifeWorld;
	readonly #inbox = createMailbox();
	readonly #kept: KeptAgent;
	#run: LiveRun | null = null;
	#lastExit: StoredExit | null;
	readonly #limitsNews = createLimitsNews();
	#ready = false;
	readonly #next: NextStart;
	#cancelLook = () => {};
	#watch: RunWatch | null = null;
	/** The run that is being stopped, with all its processes. */
	#draining: LiveRun | null = null;
	/** Processes that outlived the last run's own process (S18). */
	#left: LeftTree | null = null;

	constructor(agent: Agent, lastExit: StoredExit | null, world: LifeWorld) {
		this.#kept = new KeptAgent(agent, world);
		this.#lastExit = lastExit;
		this.#world = world;
		this.#next = new NextStart(world.clock, () => world.wantsToStart(this.id));
	}

	get id(): string {
		return this.#kept.now.id;
	}

	get wantsToLaunch(): boolean {
		return this.#next.isWanted && this.#left === null;
	}

	snapshot(): AgentSnapshot {
		const isEnding = this.#draining !== null || this.#left !== null;
		const facts = { wantsToStart: this.#next.isWanted, isEnding };
		return {
			agent: this.#kept.now,
			...snapshotOfRun(this.#run, facts, this.#ready, this.#watch),
			lastExit: this.#lastExit,
			nextStartAtMs: this.#next.plannedAtMs,
		};
	}

	launch(): Promise<void> {
		return this.#inbox.run(() => this.#launch());
	}

	hasRun(runId: string): boolean {
		return this.#run?.runId === runId;
	}

	exited(exit: RunExit): Promise<void> {
		// Shown immediately: recording it may have to wait for the store.
		if (this.#run?.runId === exit.runId) this.#run.gone = exit;
		return this.#inbox.run(async () => {
			const live = this.#run;
			if (live?.runId !== exit.runId) return;
			live.exitSeen = true;
			await this.#end(live, this.#report(live, exit), exit.atMs);
			if (exit.replaced !== undefined) this.#takeUp(null);
		});
	}

	recover([stored]: readonly StoredRun[], planned: PlannedStart | null): Promise<void> {
		return this.#inbox.run(async () => {
			if (stored === undefined) this.#takeUp(planned);
			else if (stored.exitRecorded) {
				this.#endLeft(recoveredRun(stored, this.#world.backendNamed(stored.backend)));
				this.#takeUp(planned);
			} else await this.#recover(stored);
		});
	}

	held(): { readonly backend: Backend; readonly handle: RunHandle } | null {
		const handle = this.#run?.handle ?? null;
		const { backend } = this.#run ?? {};
		return handle === null || backend === undefined ? null : { backend, handle };
	}

	letGo(): void {
		this.#next.letGo();
		this.#cancelLook();
		this.#watch?.stop();
		this.#left?.letGo();
	}

	/** Whether anything forbids a start now: S1, S2 and S15 are enforced here. */
	forbidden(): StartOutcome | null {
		if (this.#run !== null) return "already_running";
		if (typeof this.#left?.stuck === "string") return "not_gone";
		const { desired, spec } = this.#kept.now;
		if (desired === "down" || spec.kind === "call") return "stopped";
		if (this.#kept.now.crash.policy === "halted") return "halted";
		if (this.#world.overBudget(spec) !== null) return "over_budget";
		return this.#kept.now.waiting ? "waiting" : null;
	}

	record(
		change: (agent: Agent) => readonly [changes: Partial<Agent>, events: readonly NewEvent[]],
		also?: (transaction: StoreTransaction) => void,
	): Promise<void> {
		return this.#inbox.run(() => {
			const [changes, events] = change(this.#kept.now);
			return this.#kept.save(changes, events, also);
		});
	}

	#nowMs(): number {
		return this.#world.clock.now().wallMs;
	}

	readonly #stored = (live: LiveRun, state: StoredRun["state"]) =>
		toStoredRun(this.id, live, state);

	askToStart(withContinue: boolean): Promise<StartOutcome> {
		return this.#next.ask(withContinue);
	}

	async #launch(): Promise<void> {
		if (this.#left !== null) return;
		const wanted = this.#next.take();
		if (wanted === null) return;
		const refused = this.forbidden();
		if (refused !== null) return wanted.outcome.resolve(refused);
		const { newRunId, chooseBackend } = this.#world;
		const backend = chooseBackend(this.#kept.now.spec);
		const live = newRun(newRunId(), backend, wanted.withContinue, this.#nowMs());
		await recordIntent(this.#kept, live, this.#lastExit).catch((error: unknown) => {
			// Nothing has started. The agent is still wanted up, so it is retried.
			wanted.outcome.resolve("failed");
			this.#next.plan({ afterMs: INTENT_AGAIN_MS, dueAtMs: this.#nowMs() + INTENT_AGAIN_MS });
			throw error;
		});
		await this.#start(live, wanted.outcome.resolve);
	}

	/** Starts a run that is recorded as intended. */
	async #start(live: LiveRun, tell: (outcome: StartOutcome) => void): Promise<void> {
		this.#run = live;
		const launched = await launchRun(this.#world, this.#kept, live);
		switch (launched.outcome) {
			case "unknown":
				// It may have started or not; only a search for it shows which.
				tell("failed");
				return this.#recover(this.#stored(live, "intended"));
			case "failed":
				await this.#failedToStart(live, launched.failure);
				return tell("failed");
			case "started":
				live.startedSteadyMs = this.#world.clock.now().steadyMs;
				await this.#began(live, launched.handle, startedEvent(live, launched, this.#lastExit));
				return tell("started");
		}
	}

	async #failedToStart(live: LiveRun, { permanent, detail }: StartFailure): Promise<void> {
		const report = exitReport({ uptimeMs: 0, cause: "spawn_error", permanent, detail });
		await this.#end(live, report, this.#nowMs());
	}

	/** The run that follows an exit at once, if it is admitted. One that others wait for is started their way. */
	#succeed(): Successor | null {
		const { spec } = this.#kept.now;
		const { admitNow, overBudget, newRunId, chooseBackend } = this.#world;
		if (this.#next.isWanted || overBudget(spec) !== null) return null;
		const leave = admitNow(spec);
		if (leave === null) return null;
		return { live: newRun(newRunId(), chooseBackend(spec), true, this.#nowMs()), leave };
	}

	/** A run is known to be alive, because it was just started or found running. */
	async #began(
		live: LiveRun,
		handle: RunHandle,
		event: Pick<Extract<NewEvent, { type: "agent.started" | "agent.adopted" }>, "type" | "data">,
	): Promise<void> {
		live.handle = handle;
		const { sessions } = this.#world;
		const holds = await bindConversation(sessions, live.conversation?.lease, handle.process);
		const about = { agent: this.id, run_id: live.runId };
		const events = [{ ...about, ...event } as NewEvent, ...this.#limitsNews.of(handle, about)];
		await this.#kept.save({ reason: "running" }, events, (transaction) =>
			transaction.putRun(this.#stored(live, "running")),
		);
		const { spec } = this.#kept.now;
		// Another holder has the conversation by now: two processes would damage it.
		if (!holds) live.askedBy ??= "reeve";
		if (live.askedBy !== null) this.#world.finishStop(this.id, live.askedBy);
		const ifCurrent = (task: () => Promise<void>) =>
			void this.#inbox.run(async () => this.#run === live && task());
		this.#watch = watchRun(this.#world, spec, live, event.type === "agent.adopted", {
			...recordNews(this.#world, this.#kept, live, ifCurrent),
			onReady: (afterMs) => ifCurrent(() => this.#becameReady(live, afterMs)),
			onRestart: () => this.#world.finishStop(this.id, "reeve"),
		});
		if (!this.#watch.readyAtOnce) return;
		this.#ready = true;
		this.#world.changed();
	}

	async #becameReady(live: LiveRun, afterMs: number): Promise<void> {
		if (this.#ready) return;
		await recordReady(this.#kept, live, afterMs);
		this.#ready = true;
		this.#world.changed();
	}

	/** Records the exit of a run with the decision of the policy, and performs it. */
	async #end(live: LiveRun, facts: ExitReport, atMs: number): Promise<void> {
		live.gone = facts;
		const { exit, planned, successor, isParked } = await recordEnd(
			this.#world,
			this.#kept,
			live,
			facts,
			atMs,
			() => this.#succeed(),
		);
		this.#lastExit = exit;
		this.#run = successor?.live ?? null;
		this.#ready = false;
		this.#watch?.stop();
		live.ended.resolve();
		if (!live.exitRecorded) forgetRun(live);
		else if (this.#draining !== live) this.#endLeft(live);
		if (planned !== null) this.#next.plan(planned);
		if (isParked && this.forbidden() === null) void this.askToStart(true);
		this.#world.changed();
		if (successor !== null) await this.#start(successor.live, () => {}).finally(successor.leave);
	}

	/** Kills the processes that outlived the agent. The agent does not start before that is done. */
	#endLeft(live: LiveRun): void {
		this.#left = new LeftTree(live, this.#world, this.#kept, {
			inTurn: (task) => this.#inbox.run(task),
			onGone: (wasStuck) => {
				this.#left = null;
				if (wasStuck) this.#takeUp(null);
				this.#world.changed();
			},
			onStuck: () => this.#next.refuse("not_gone"),
		});
		this.#left
			.end(graceOf(this.#kept.now.spec))
			.catch((error: unknown) => this.#world.onError(this.id, error));
	}

	#report(live: LiveRun, exit: Omit<RunExit, "runId">): ExitReport {
		live.treeGone = exit.treeGone ?? false;
		return reportOf(live, exit, this.#world.clock.now().steadyMs);
	}

	/** The end of a run whose exit was not observed. */
	#endUnseen(live: LiveRun): Promise<void> {
		const exit = { ...UNSEEN, atMs: this.#nowMs() };
		return this.#end(live, this.#report(live, exit), exit.atMs);
	}

	async stop(by: Asker, timeoutMs: number | undefined): Promise<StopReport> {
		const { clock, store } = this.#world;
		const sinceMs = clock.now().steadyMs;
		const graceMs = timeoutMs ?? graceOf(this.#kept.now.spec);
		const live = await this.#inbox.run(() => this.#suppressRestarts(by));
		const drained = await (live === null ? this.#stopLeft(graceMs) : this.#drain(live, graceMs));
		const durationMs = clock.now().steadyMs - sinceMs;
		await store.commit((transaction) =>
			transaction.appendEvent(drainedEvent(this.id, { ...drained, durationMs }), this.#nowMs()),
		);
		return { ...drained, durationMs };
	}

	async #drain(live: LiveRun, graceMs: number): Promise<Drained> {
		this.#draining = live;
		const drained = await drainRun(
			live,
			graceMs,
			this.#world.clock,
			this.#drainWays(live.runId),
		).finally(() => {
			this.#draining = null;
		});
		await this.#inbox.run(async () => {
			const isProven = drained.outcome !== "not_proven";
			// The process is gone; an exit that was not reported by now never will be.
			if (this.#run === live && !isProven)
				return live.isUnknown ? this.#lookAgain(live) : undefined;
			if (this.#run === live) return this.#endUnseen(live);
			if (!live.exitRecorded) return;
			return isProven ? recordTreeGone(this.#kept, live, []) : this.#endLeft(live);
		});
		return drained;
	}

	/** The agent itself does not run, but processes that it left behind may. */
	async #stopLeft(graceMs: number): Promise<Omit<StopReport, "durationMs">> {
		if (this.#left !== null) return drainedAs(await this.#left.end(graceMs));
		return { outcome: "already_stopped", reason: null, killed: [] };
	}

	#drainWays(runId: string): DrainWays {
		const { drain } = this.#world.sessions.adapterOf(this.#kept.now.spec).profile;
		const activity = () => this.#watch?.known()?.activity ?? "unknown";
		return drainWaysOf(drain, activity, { agent: this.id, run_id: runId }, (event) =>
			this.#kept.save({}, [event]),
		);
	}

	/** Prevents further starts, and records who requested the stop before the agent is asked to exit. */
	async #suppressRestarts(by: Asker): Promise<LiveRun | null> {
		const live = this.#run;
		await this.#kept.save({}, [], (transaction) => {
			transaction.removeEffect(startEffectKey(this.id));
			if (live !== null) transaction.putRun(this.#stored({ ...live, askedBy: by }, "running"));
		});
		// A stop that could not be stored was rejected, and changes nothing.
		if (live !== null) live.askedBy = by;
		this.#next.refuse();
		this.#cancelLook();
		return live;
	}

	async #recover(stored: StoredRun): Promise<void> {
		const backend = this.#world.backendNamed(stored.backend);
		const live = recoveredRun(stored, backend);
		this.#run = live;
		// A failed lookup proves nothing, and is repeated like an unknown result.
		const found = await backend
			.recover(stored.runId, stored.handle)
			.catch((error: Error) => ({ state: "unknown", reason: error.message }) as const);
		live.isUnknown = found.state === "unknown";
		switch (found.state) {
			case "unknown":
				// Unknown is not stopped: nothing is started until the state is known.
				this.#kept.show(found.reason);
				return this.#lookAgain(live);
			case "running": {
				const data = { pid: found.handle.process.pid };
				return this.#began(live, found.handle, { type: "agent.adopted", data });
			}
			case "exited":
				await this.#end(live, this.#report(live, found.exit), found.exit.atMs);
				break;
			case "gone":
				await this.#recordGone(live, stored, found.rebooted);
		}
		if (this.#next.plannedAtMs === null) this.#takeUp(null);
	}

	/** Also after a stop without proof, which had cancelled the lookup. */
	#lookAgain(live: LiveRun): void {
		const stored = this.#stored(live, live.handle === null ? "intended" : "running");
		this.#cancelLook = scheduleLong(this.#world.clock, RECOVER_AGAIN_MS, () => {
			void this.#inbox.run(() => this.#recover(stored));
		});
	}

	async #recordGone(live: LiveRun, stored: StoredRun, rebooted: boolean): Promise<void> {
		if (stored.state === "intended") {
			// It was never started, so there is no exit to classify.
			await this.#kept.save({}, [], (transaction) =>
				transaction.putRun(this.#stored(live, "ended")),
			);
			await releaseConversation(this.#world.sessions, live);
			this.#run = null;
			return;
		}
		if (rebooted) live.askedBy ??= "host";
		await this.#endUnseen(live);
	}

	/** Continues where an earlier daemon stopped: at the planned time, or immediately. */
	#takeUp(planned: PlannedStart | null): void {
		if (this.forbidden() !== null) return;
		if (planned === null) {
			void this.askToStart(true);
			return;
		}
		this.#next.plan(restOf(planned, this.#nowMs()));
	}
}

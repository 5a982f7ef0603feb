/**
 * One agent's life: starts it when it may run, takes its exits to the crash policy, and does what
 * that decides. Everything that changes the agent goes through one mailbox, so nothing overtakes
 * anything.
 *
 * Keeps S1 (a run is started only when none is open), S2 (nothing starts while the agent is wanted
 * down), S8 (one start and one exit per run) and S13 (adoption moves no counter).
 */

import { decideAfterExit } from "../core/crash-policy.js";
import { type Asker, type ExitReport, exitReport } from "../core/exit.js";
import type { Backend, RunExit, RunHandle, StartFailure } from "../ports/backend.js";
import type { NewEvent, StoredExit, StoredRun, StoreTransaction } from "../ports/store.js";
import {
	createLimitsNews,
	type PlannedStart,
	recordExit,
	reportOf,
	settledAgent,
	startEffect,
	startEffectKey,
	toStoredRun,
} from "./agent-record.js";
import {
	type Agent,
	type AgentSnapshot,
	type LiveRun,
	newRun,
	processStateOf,
} from "./agent-state.js";
import { type DrainWays, drainRun, drainWaysOf } from "./drain.js";
import { judgeRun } from "./judge-run.js";
import { KeptAgent } from "./kept-agent.js";
import { launchRun } from "./launch-run.js";
import type { Life } from "./life.js";
import type { LifeWorld, StartOutcome, StopReport } from "./life-world.js";
import { createMailbox } from "./mailbox.js";
import { NextStart } from "./next-start.js";
import { bindConversation, endConversation, hearConversation } from "./run-conversation.js";
import { type RunWatch, watchRun } from "./run-watch.js";
import { type Signal, scheduleLong } from "./waiting.js";

const RECOVER_AGAIN_MS = 1_000;
const UNSEEN = { code: null, signal: null, outOfMemory: false };

export class AgentLife implements Life {
	readonly #world: LifeWorld;
	readonly #inbox = createMailbox();
	readonly #kept: KeptAgent;
	#run: LiveRun | null = null;
	#lastExit: StoredExit | null;
	#unknown = false;
	readonly #limitsNews = createLimitsNews();
	#ready = false;
	readonly #next: NextStart;
	#cancelLook = () => {};
	#watch: RunWatch | null = null;

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
		return this.#next.isWanted;
	}

	snapshot(): AgentSnapshot {
		return {
			agent: this.#kept.now,
			process: processStateOf(this.#run, this.#next.isWanted, this.#unknown),
			run: this.#run,
			processes: this.#run?.handle ? 1 : 0,
			ready: this.#ready,
			known: this.#run === null ? null : (this.#watch?.known() ?? null),
			lastExit: this.#lastExit,
			nextStartAtMs: this.#next.plannedAtMs,
		};
	}

	launch(): Promise<void> {
		return this.#inbox.run(() => this.#launch());
	}

	exited(exit: RunExit): Promise<void> {
		return this.#inbox.run(async () => {
			const live = this.#run;
			if (live?.runId === exit.runId) await this.#end(live, this.#report(live, exit), exit.atMs);
		});
	}

	recover([stored]: readonly StoredRun[], planned: PlannedStart | null): Promise<void> {
		return this.#inbox.run(async () => {
			if (stored === undefined) this.#takeUp(planned);
			else await this.#recover(stored);
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
	}

	/** Whether anything forbids a start now: S1, S2 and S15 meet here. */
	forbidden(): StartOutcome | null {
		if (this.#run !== null) return "already_running";
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

	#stored(live: LiveRun, state: StoredRun["state"]): StoredRun {
		return toStoredRun(this.id, live, state);
	}

	askToStart(withContinue: boolean): Promise<StartOutcome> {
		return this.#next.ask(withContinue);
	}

	async #launch(): Promise<void> {
		const wanted = this.#next.take();
		if (wanted === null) return;
		const refused = this.forbidden();
		if (refused !== null) return wanted.outcome.resolve(refused);
		const { newRunId, chooseBackend } = this.#world;
		const backend = chooseBackend(this.#kept.now.spec);
		const live = newRun(newRunId(), backend, wanted.withContinue, this.#nowMs());
		// The intent is recorded before the start, so that a start that nobody saw confirmed is found.
		const wasParked = this.#lastExit?.cause === "usage_limit" ? 1 : 0;
		const restarts = this.#kept.now.restarts + wasParked;
		await this.#kept.save({ reason: "starting", restarts }, [], (transaction) => {
			transaction.putRun(this.#stored(live, "intended"));
			transaction.removeEffect(startEffectKey(this.id));
		});
		this.#run = live;
		const launched = await launchRun(this.#world, this.#kept, live);
		switch (launched.outcome) {
			case "unknown":
				// It may have started or not; only looking for it can tell.
				wanted.outcome.resolve("failed");
				return this.#recover(this.#stored(live, "intended"));
			case "failed":
				return this.#failedToStart(live, wanted.outcome, launched.failure);
			case "started":
				live.startedSteadyMs = this.#world.clock.now().steadyMs;
				await this.#began(live, launched.handle, {
					type: "agent.started",
					data: {
						pid: launched.handle.process.pid,
						with_continue: live.conversation?.mode === "resume",
					},
				});
				return wanted.outcome.resolve("started");
		}
	}

	async #failedToStart(
		live: LiveRun,
		outcome: Signal<StartOutcome>,
		{ permanent, detail }: StartFailure,
	): Promise<void> {
		const report = exitReport({ uptimeMs: 0, cause: "spawn_error", permanent, detail });
		await this.#end(live, report, this.#nowMs());
		outcome.resolve("failed");
	}

	/** A run is known to be alive, because it was just started or because it was found so. */
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
		// Somebody else has the conversation by now: two processes on one would damage it.
		if (!holds) live.askedBy ??= "reeve";
		if (live.askedBy !== null) this.#world.finishStop(this.id, live.askedBy);
		const inTurn = (task: () => Promise<void>) => void this.#inbox.run(task);
		this.#watch = watchRun(this.#world, spec, live, event.type === "agent.adopted", {
			onReady: (afterMs) => inTurn(() => this.#becameReady(live, afterMs)),
			onStable: () => inTurn(() => this.#becameStable(live)),
			onConversation: (id) => inTurn(() => this.#toldConversation(live, id)),
			onRestart: () => this.#world.finishStop(this.id, "reeve"),
		});
		if (!this.#watch.readyAtOnce) return;
		this.#ready = true;
		this.#world.changed();
	}

	async #becameReady(live: LiveRun, afterMs: number): Promise<void> {
		if (this.#run !== live || this.#ready) return;
		const about = { agent: this.id, run_id: live.runId };
		live.ready = true;
		const event: NewEvent = { ...about, type: "agent.ready", data: { after_ms: afterMs } };
		await this.#kept.save({}, [event], (transaction) =>
			transaction.putRun(this.#stored(live, "running")),
		);
		this.#ready = true;
		this.#world.changed();
	}

	/** The CLI has named its conversation: from now on this one is taken up, and nobody else may. */
	async #toldConversation(live: LiveRun, id: string): Promise<void> {
		if (this.#run !== live) return;
		const told = await hearConversation(this.#world.sessions, this.#kept.now, live, id);
		if (told === null) return;
		live.conversation = told;
		await this.#kept.save({ conversation: id }, [], (transaction) =>
			transaction.putRun(this.#stored(live, "running")),
		);
	}

	async #becameStable(live: LiveRun): Promise<void> {
		const settled = this.#run === live ? settledAgent(this.#kept.now) : null;
		if (settled !== null) await this.#kept.save({ crash: settled.crash }, settled.events);
	}

	/** Records how a run ended, with what the policy decided, and does it. */
	async #end(live: LiveRun, facts: ExitReport, atMs: number): Promise<void> {
		const { spec } = this.#kept.now;
		if (spec.kind === "call") throw new Error(`${this.id} is a call agent and has no runs`);
		const judged = await judgeRun(this.#world.sessions, spec, live, facts, atMs);
		const { report } = judged;
		await this.#world.inbox.settle(this.id, judged.signs);
		const decision = decideAfterExit(this.#kept.now.crash, report, {
			settings: spec.crashPolicy,
			onCleanExit: spec.kind === "session" ? spec.onCleanExit : "restart",
			random: this.#world.random(),
		});
		const times = { atMs, nowMs: this.#nowMs() };
		const record = recordExit(this.#kept.now, live.runId, report, decision, times);
		const park = this.#world.accounts.ended(spec, decision.action, report, atMs);
		const planned = park === null ? record.planned : null;
		const after = await endConversation(this.#world.sessions, this.#kept.now, live, judged);
		const changes = { ...record.changes, ...after.changes };
		await this.#kept.save(changes, [...record.events, ...after.events], (transaction) => {
			transaction.putRun(this.#stored(live, "ended"));
			transaction.putExit(record.exit);
			park?.(transaction);
			if (planned !== null) transaction.putEffect(startEffect(this.id, planned));
		});
		this.#lastExit = record.exit;
		this.#run = null;
		this.#ready = false;
		this.#watch?.stop();
		live.ended.resolve();
		// Its own bookkeeping; if it fails, the record is merely kept longer.
		live.backend.forget(live.runId).catch(() => {});
		if (planned !== null) this.#next.plan(planned);
		if (park !== null && this.forbidden() === null) void this.askToStart(true);
		this.#world.changed();
	}

	#report(live: LiveRun, exit: Omit<RunExit, "runId">): ExitReport {
		return reportOf(live, exit, this.#world.clock.now().steadyMs);
	}

	/** The end of a run of which nobody knows how it came. */
	#endUnseen(live: LiveRun): Promise<void> {
		const atMs = this.#nowMs();
		return this.#end(live, this.#report(live, { ...UNSEEN, atMs }), atMs);
	}

	async stop(by: Asker, timeoutMs: number | undefined): Promise<StopReport> {
		const { clock, store } = this.#world;
		const sinceMs = clock.now().steadyMs;
		const { spec } = this.#kept.now;
		const graceMs = timeoutMs ?? (spec.kind === "call" ? 0 : spec.drain.timeoutMs);
		const live = await this.#inbox.run(() => this.#suppressRestarts(by));
		const drained =
			live === null
				? ({ outcome: "already_stopped", reason: null } as const)
				: await drainRun(live, graceMs, clock, this.#drainWays(live.runId));
		if (live !== null && drained.outcome !== "not_proven") {
			// The process is gone; if its exit was not heard of by now, it never will be.
			await this.#inbox.run(async () => {
				if (this.#run === live) await this.#endUnseen(live);
			});
		}
		const durationMs = clock.now().steadyMs - sinceMs;
		const data = { outcome: drained.outcome, duration_ms: durationMs };
		await store.commit((transaction) =>
			transaction.appendEvent({ type: "agent.drained", agent: this.id, data }, this.#nowMs()),
		);
		return { ...drained, durationMs };
	}

	#drainWays(runId: string): DrainWays {
		const { drain } = this.#world.sessions.adapterOf(this.#kept.now.spec).profile;
		const activity = () => this.#watch?.known()?.activity ?? "unknown";
		return drainWaysOf(drain, activity, { agent: this.id, run_id: runId }, (event) =>
			this.#kept.save({}, [event]),
		);
	}

	/** Nothing starts from here on, and who asked is recorded before the agent is told. */
	async #suppressRestarts(by: Asker): Promise<LiveRun | null> {
		this.#next.refuse();
		this.#cancelLook();
		const live = this.#run;
		if (live !== null) live.askedBy = by;
		await this.#kept.save({}, [], (transaction) => {
			transaction.removeEffect(startEffectKey(this.id));
			if (live !== null) transaction.putRun(this.#stored(live, "running"));
		});
		return live;
	}

	async #recover(stored: StoredRun): Promise<void> {
		const { runId, withContinue, intendedAtMs, handle, askedBy } = stored;
		const backend = this.#world.backendNamed(stored.backend);
		const { conversation = null, ready = false } = stored;
		const run = newRun(runId, backend, withContinue, intendedAtMs);
		const live = { ...run, handle, askedBy, conversation, ready };
		this.#run = live;
		const found = await backend.recover(stored.runId, stored.handle);
		this.#unknown = found.state === "unknown";
		switch (found.state) {
			case "unknown":
				// Not known is not stopped: nothing is started until it is known.
				this.#kept.show(found.reason);
				this.#cancelLook = scheduleLong(this.#world.clock, RECOVER_AGAIN_MS, () => {
					void this.#inbox.run(() => this.#recover(stored));
				});
				return;
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

	async #recordGone(live: LiveRun, stored: StoredRun, rebooted: boolean): Promise<void> {
		if (stored.state === "intended") {
			// It was never started, so there is no exit to judge.
			await this.#kept.save({}, [], (transaction) =>
				transaction.putRun(this.#stored(live, "ended")),
			);
			this.#run = null;
			return;
		}
		if (rebooted) live.askedBy ??= "host";
		await this.#endUnseen(live);
	}

	/** Goes on where an earlier daemon stopped: at the planned time, or at once. */
	#takeUp(planned: PlannedStart | null): void {
		if (this.forbidden() !== null) return;
		if (planned === null) {
			void this.askToStart(true);
			return;
		}
		// A wall clock that was set back must not make anybody wait longer than was decided.
		const leftMs = Math.min(planned.afterMs, Math.max(0, planned.dueAtMs - this.#nowMs()));
		this.#next.plan({ afterMs: leftMs, dueAtMs: this.#nowMs() + leftMs });
	}
}

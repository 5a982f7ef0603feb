/**
 * The facade that all surfaces call: one runner per agent, the gate that orders their starts, and their
 * fleets. Failures of one agent never affect others (S17).
 */

import type { AgentChange } from "../config/diff.js";
import type { AgentSpec, FleetSpec } from "../config/spec.js";
import { needsFix } from "../core/attention.js";
import { ReeveError } from "../core/errors.js";
import type { AttemptEnd } from "../ports/executor.js";
import type { StoredExit, StoredRun } from "../ports/store.js";
import { Drafts } from "./attending/drafts.js";
import { Inbox } from "./attending/inbox.js";
import { Questions } from "./attending/questions.js";
import { Terminals } from "./attending/terminals.js";
import type {
	AgentView,
	EngineParts,
	Reloaded,
	RestartedAgent,
	ResumedAgent,
	Started,
	Stopped,
} from "./engine-parts.js";
import { recordedFleet } from "./fleet-record.js";
import type { Accounts, Hold } from "./limits/accounts.js";
import { createAccounts, redactView, viewOf } from "./limits/engine-accounts.js";
import { UsageBook } from "./limits/usage-book.js";
import { UsageWatch } from "./limits/usage-watch.js";
import { PinnedFleets } from "./pinned-fleets.js";
import { reloadFleet } from "./reload.js";
import { AgentLife } from "./runs/agent-life.js";
import { type PlannedStart, startEffectKey, withLastFailure } from "./runs/agent-record.js";
import { AgentRunner, type Answer, type RestartOptions } from "./runs/agent-runner.js";
import type { Agent } from "./runs/agent-state.js";
import type { Life } from "./runs/life.js";
import type { StartOutcome, StartReport, StopReport } from "./runs/life-world.js";
import { isHeldDown, startedOrWaiting } from "./runs/started-or-waiting.js";
import { WorkerLife, type WorkerWorld } from "./runs/worker-life.js";
import { dependsOn, resolveLasting, type Scope } from "./scope.js";
import { createStartGate, type StartGate } from "./start-gate.js";
import { stopInOrder } from "./stop-in-order.js";
import type { AttemptOrder } from "./tasks/calls-world.js";
import { countCall, performAttempt } from "./tasks/perform.js";

const EXITS_READ = 20;

export class Engine {
	readonly #parts: EngineParts;
	readonly #runners = new Map<string, AgentRunner>();
	readonly #gate: StartGate;
	readonly #fleets: PinnedFleets;
	readonly #accounts: Accounts;
	readonly inbox: Inbox;
	readonly questions: Questions;
	readonly terminals: Terminals;
	readonly #drafts: Drafts;
	readonly #usage: UsageBook;
	readonly #usageWatch: UsageWatch;
	#recovered = 0;

	constructor(parts: EngineParts) {
		this.#parts = parts;
		this.inbox = new Inbox(parts.store, parts.clock, parts.newRunId);
		this.#drafts = new Drafts(parts.clock);
		const lifeOf = (id: string) => this.#runner(id).life;
		const { store, clock, sessions } = parts;
		const drafts = this.#drafts;
		this.questions = new Questions(store, clock);
		this.terminals = new Terminals({ lifeOf, sessions, inbox: this.inbox, drafts, store, clock });
		const changed = () => this.#gate.pump();
		this.#accounts = createAccounts({ ...parts, changed }, this.#runners, this.inbox, (id) =>
			this.#willNotStart(id),
		);
		this.#usage = new UsageBook(parts);
		this.#fleets = new PinnedFleets({
			...{ store: parts.store, clock: parts.clock, vault: parts.vault, runners: this.#runners },
			added: (agent) => this.#add(agent, null),
			removed: (id) => this.#forget(id),
		});
		const watched = { book: this.#usage, runners: () => this.#runners.values() };
		this.#usageWatch = new UsageWatch({ ...parts, ...watched });
		this.#gate = createStartGate(
			parts.clock,
			() => this.#startables(),
			(id) => this.#runners.get(id)?.life.snapshot().ready === true,
			(act) => parts.store.detach(act),
			parts.onError,
		);
	}

	/** How many agents of an earlier daemon are recovered so far. */
	get recovery(): { readonly done: number; readonly total: number } {
		return { done: this.#recovered, total: this.#runners.size };
	}

	/** Continues the work of an earlier daemon. Running agents are adopted, not started. */
	async recover(): Promise<void> {
		const { store, vault } = this.#parts;
		const envs = await vault.read();
		this.inbox.recover();
		this.#accounts.recover();
		this.#usage.recover();
		const runs = new Map<string, StoredRun[]>();
		for (const run of store.readOpenRuns()) {
			runs.set(run.agentId, [...(runs.get(run.agentId) ?? []), run]);
		}
		const planned = new Map(store.readEffects().map((effect) => [effect.key, effect]));
		for (const stored of store.readAgents()) {
			const spec = { ...(stored.spec as AgentSpec), env: envs[stored.id] ?? {} };
			const exits = store.readExits(stored.id, EXITS_READ);
			this.#add({ ...withLastFailure(stored, exits), spec }, exits[0] ?? null);
		}
		await Promise.all(
			[...this.#runners.values()].map(async ({ id, life }) => {
				await this.#parts.secrets.learn(life.snapshot().agent.spec);
				const effect = planned.get(startEffectKey(id));
				const payload = effect?.payload as { afterMs: number } | undefined;
				const start: PlannedStart | null =
					effect === undefined ? null : { dueAtMs: effect.dueAtMs, afterMs: payload?.afterMs ?? 0 };
				await this.#recoverOne(life, runs.get(id) ?? [], start);
				this.#recovered += 1;
			}),
		);
		this.#usageWatch.start();
	}

	list(): readonly AgentView[] {
		return [...this.#runners.values()].map(({ life }) => this.#view(life));
	}

	get(id: string): AgentView {
		return this.#view(this.#runner(id).life);
	}

	/** Applies a fleet, without disturbing running agents, and starts the agents in scope. */
	async up(fleet: FleetSpec, scope: Scope): Promise<readonly Started[]> {
		const ids = resolveLasting(scope, fleet.agents);
		const mayChange = ({ id, change }: AgentChange) =>
			change === "add" ||
			(change === "change" && (this.#runners.get(id)?.life.snapshot().run ?? null) === null);
		const changes = await this.#fleets.pin(fleet, mayChange, { unlessRunning: true });
		return Promise.all(
			ids.map(async (id) => {
				const start = await this.#startOf(id, this.#runner(id).up("operator"));
				const changed = changes.some((each) => each.id === id && each.change === "change");
				if (!changed || start.outcome !== "already_running") return { id, ...start };
				const reason = "running with its old settings";
				return { id, outcome: "old_settings", reason };
			}),
		);
	}

	/** Brings up the agents in scope, from the fleets as they were last accepted. */
	async upRecorded(scope: Scope): Promise<readonly Started[]> {
		const agents = this.list().map(({ agent }) => agent);
		const isMeant = ({ id, spec }: Agent) =>
			scope === "*" || scope === id || scope === spec.project;
		const files = new Set(agents.filter(isMeant).map(({ fleetFile }) => fleetFile));
		// Throws with the known agents.
		if (files.size === 0) this.get(scope);
		const started = [...files].map((file) => this.up(recordedFleet(agents, file), scope));
		return (await Promise.all(started)).flat();
	}

	#startedOrWaiting(id: string, start: Promise<StartOutcome>): Promise<StartOutcome> {
		return startedOrWaiting(this.#parts.clock, start, () => this.#waitsLong(id));
	}

	async #startOf(id: string, start: Promise<StartOutcome>): Promise<StartReport> {
		return { outcome: await this.#startedOrWaiting(id, start), reason: null };
	}

	/** Whether its start waits for something that may take long, or never happens. */
	#waitsLong(id: string): boolean {
		const { hold, missing } = this.get(id);
		return hold !== null || missing.some((each) => this.#willNotStart(each));
	}

	/** Whether an agent stays down without an action of the operator. */
	#willNotStart(id: string): boolean {
		const life = this.#runners.get(id)?.life;
		return life === undefined || isHeldDown(life.snapshot(), this.#usage);
	}

	/** Stops agents, dependents first (S7). */
	down(scope: Scope, timeoutMs?: number): Promise<readonly Stopped[]> {
		return this.#stopInOrder(scope, (runner) => runner.down("operator", timeoutMs));
	}

	/** Stops agents in order, then starts them in order (S7). */
	async restart(
		scope: Scope,
		{ fresh, timeoutMs }: RestartOptions,
	): Promise<readonly RestartedAgent[]> {
		const stopped = await this.#stopInOrder(scope, (runner) =>
			runner.stopToRestart("operator", timeoutMs),
		);
		return Promise.all(
			stopped.map(async (report) => {
				if (report.outcome === "not_proven") return { ...report, start: null };
				const start = this.#runner(report.id).startAgain(!fresh);
				return { ...report, start: await this.#startOf(report.id, start) };
			}),
		);
	}

	/** The effect of a reload. Changes nothing. */
	plan(fleet: FleetSpec): readonly AgentChange[] {
		return this.#fleets.diff(fleet);
	}

	/** Applies the changes of the file. Unchanged agents are not disturbed. */
	reload(fleet: FleetSpec): Promise<readonly Reloaded[]> {
		const { checkStart } = this.#parts;
		return reloadFleet(fleet, {
			...{ runners: this.#runners, fleets: this.#fleets, checkStart },
			startOf: (id, start) => this.#startOf(id, start),
		});
	}

	async resume(id: string): Promise<ResumedAgent> {
		const { agent, known } = this.get(id);
		const { spec } = agent;
		const released = [
			...(needsFix(known?.failure ?? null) ? (["turn"] as const) : []),
			...(this.#accounts.holdOf(spec) === null ? [] : (["account"] as const)),
			...(this.#usage.held(spec) === null ? [] : (["budget"] as const)),
		];
		await this.#accounts.resume(spec);
		await this.#usage.release(spec);
		const { from, start } = await this.#runner(id).resume(released.length > 0);
		this.#accounts.noteResumed(spec);
		const outcome = await this.#startedOrWaiting(id, start);
		return { from, released, outcome: spec.kind === "call" ? null : outcome };
	}

	async answer(id: string, answer: Answer): Promise<StartOutcome> {
		const answered = await this.#runner(id).answer(answer);
		if (answered !== null) return this.#startedOrWaiting(id, answered.start);
		throw new ReeveError("not_waiting", `${id} is not waiting for an answer`);
	}

	/** The current spec of an agent; null if it does not exist. */
	specOf(id: string): AgentSpec | null {
		return this.#runners.get(id)?.life.snapshot().agent.spec ?? null;
	}

	/** Why an agent may not continue today; null if it may. */
	overBudget(id: string): string | null {
		const spec = this.specOf(id);
		return spec === null ? null : this.#usage.held(spec);
	}

	/** Why an agent waits for its account; null if it does not. */
	holdOf(id: string): Hold | null {
		const spec = this.specOf(id);
		return spec === null ? null : this.#accounts.holdOf(spec);
	}

	/** Whether an agent with this many running attempts may start another one. */
	mayCall(id: string, underWay: number): boolean {
		const spec = this.specOf(id);
		return spec === null || this.#accounts.mayGo(spec, underWay);
	}

	/** Runs one attempt at a request. Never rejects. */
	async perform(order: AttemptOrder, signal: AbortSignal): Promise<AttemptEnd> {
		const life = this.#runners.get(order.spec.id)?.life;
		const worker = life instanceof WorkerLife ? life : null;
		const end = await performAttempt(this.#parts, worker, order, signal);
		await countCall(this.#usage, this.#parts, order.spec, end);
		await this.#accounts.called(order.spec, end.outcome);
		return end;
	}

	/** Releases everything without stopping an agent. */
	close(): void {
		this.#gate.close();
		this.#accounts.close();
		this.#usageWatch.stop();
		for (const { life } of this.#runners.values()) life.letGo();
	}

	/**
	 * The end of the output of an agent's last run, without secrets. Empty for a running agent, whose
	 * output does not belong to the exit, and if it cannot be read.
	 */
	async lastOutput(id: string): Promise<string> {
		const { agent, process, lastExit } = this.get(id);
		if (agent.spec.kind === "call" || process !== "stopped" || lastExit === null) return "";
		const { sessions, secrets } = this.#parts;
		return secrets.redact(await sessions.lastWords(agent.spec).catch(() => ""));
	}

	/** Called for every exit that a backend reports. */
	exited(exit: Parameters<Life["exited"]>[0]): void {
		for (const { id, life } of this.#runners.values()) {
			if (!life.hasRun(exit.runId)) continue;
			life.exited(exit).catch((error: unknown) => this.#parts.onError(id, error));
		}
	}

	#view(life: Life): AgentView {
		const { spec } = life.snapshot().agent;
		const missing = life.wantsToLaunch ? this.#gate.missing(dependsOn(spec)) : [];
		const view = viewOf(life, missing, this.#accounts, this.#usage.view(spec));
		return redactView(view, this.#parts.secrets.redact);
	}

	#runner(id: string): AgentRunner {
		const runner = this.#runners.get(id);
		if (runner !== undefined) return runner;
		const known = [...this.#runners.keys()].join(", ");
		throw new ReeveError("agent_not_found", `unknown agent ${id}`, `Known agents: ${known}.`);
	}

	#add(agent: Agent, lastExit: StoredExit | null): void {
		const { onError } = this.#parts;
		const world: WorkerWorld = {
			...this.#parts,
			...{ inbox: this.inbox, drafts: this.#drafts, accounts: this.#accounts },
			overBudget: (spec) => this.#usage.held(spec),
			wantsToStart: () => this.#gate.pump(),
			admitNow: (spec) =>
				this.#gate.admit({
					...{ id: spec.id, dependsOn: dependsOn(spec) },
					mayGo: () => this.#accounts.mayGo(spec),
				}),
			changed: () => this.#gate.pump(),
			finishStop: (id, by) => {
				this.#runners
					.get(id)
					?.finishStop(by)
					.catch((error: unknown) => onError(id, error));
			},
		};
		const life =
			agent.spec.kind === "worker"
				? new WorkerLife(agent, lastExit, world)
				: new AgentLife(agent, lastExit, world);
		this.#runners.set(agent.id, new AgentRunner(life, this.#parts.checkStart));
	}

	async #recoverOne(
		life: Life,
		runs: readonly StoredRun[],
		planned: PlannedStart | null,
	): Promise<void> {
		try {
			await life.recover(runs, planned);
		} catch (error) {
			this.#parts.onError(life.id, error);
		}
	}

	*#startables() {
		for (const { life } of this.#runners.values()) {
			// Asked for at every change of any agent, and most do not want to start.
			if (!life.wantsToLaunch) continue;
			const { agent } = life.snapshot();
			yield {
				id: agent.id,
				dependsOn: dependsOn(agent.spec),
				mayGo: () => this.#accounts.mayGo(agent.spec),
				launch: () => life.launch(),
			};
		}
	}

	async #forget(id: string): Promise<void> {
		this.#runners.delete(id);
		await this.inbox.forget(id);
		await this.#usage.forget(id);
	}

	async #stopInOrder(
		scope: Scope,
		stop: (runner: AgentRunner) => Promise<StopReport>,
	): Promise<readonly Stopped[]> {
		const specs = this.list().map(({ agent }) => agent.spec);
		const ids = resolveLasting(scope, specs);
		const graph = new Map(specs.map((spec) => [spec.id, dependsOn(spec)]));
		return stopInOrder(graph, ids, async (id) => ({ id, ...(await stop(this.#runner(id))) }));
	}
}

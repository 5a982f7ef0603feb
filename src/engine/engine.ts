/**
 * The facade that surfaces call: one runner per agent, the gate that orders their starts, and the
 * fleet they came from. Whatever happens to one agent is kept from the others (S17).
 */

import { type AgentChange, diffFleets } from "../config/diff.js";
import type { AgentSpec, FleetSpec } from "../config/spec.js";
import { ReeveError } from "../core/errors.js";
import type { AttemptEnd } from "../ports/executor.js";
import type { StoredExit, StoredRun } from "../ports/store.js";
import type { Accounts, Hold } from "./accounts.js";
import { AgentLife } from "./agent-life.js";
import { type PlannedStart, startEffectKey } from "./agent-record.js";
import { AgentRunner, type Answer, type RestartOptions } from "./agent-runner.js";
import type { Agent } from "./agent-state.js";
import type { AttemptOrder } from "./calls/calls-world.js";
import { countCall, performAttempt } from "./calls/perform.js";
import { Drafts } from "./drafts.js";
import { createAccounts, viewOf } from "./engine-accounts.js";
import type {
	AgentView,
	EngineParts,
	Reloaded,
	ResumedAgent,
	Started,
	Stopped,
} from "./engine-parts.js";
import { newAgent, recordAdded, recordedFleet, recordRemoved } from "./fleet-record.js";
import { Inbox } from "./inbox.js";
import type { Life } from "./life.js";
import type { StartOutcome, StopReport } from "./life-world.js";
import { dependsOn, resolveLasting, type Scope } from "./scope.js";
import { createStartGate, type StartGate } from "./start-gate.js";
import { isHeldDown, startedOrWaiting } from "./started-or-waiting.js";
import { stopInOrder } from "./stop-in-order.js";
import { Terminals } from "./terminals.js";
import { UsageBook } from "./usage-book.js";
import { UsageWatch } from "./usage-watch.js";
import { WorkerLife, type WorkerWorld } from "./worker-life.js";

export class Engine {
	readonly #parts: EngineParts;
	readonly #runners = new Map<string, AgentRunner>();
	readonly #gate: StartGate;
	readonly #accounts: Accounts;
	readonly inbox: Inbox;
	readonly terminals: Terminals;
	readonly #drafts: Drafts;
	readonly #usage: UsageBook;
	readonly #usageWatch: UsageWatch;

	constructor(parts: EngineParts) {
		this.#parts = parts;
		this.inbox = new Inbox(parts.store, parts.clock, parts.newRunId);
		this.#drafts = new Drafts(parts.clock);
		this.terminals = new Terminals((id) => this.#runner(id).life, parts.sessions, this.#drafts);
		const changed = () => this.#gate.pump();
		this.#accounts = createAccounts({ ...parts, changed }, this.#runners, this.inbox, (id) =>
			this.#willNotStart(id),
		);
		this.#usage = new UsageBook(parts);
		const watched = { book: this.#usage, runners: () => this.#runners.values() };
		this.#usageWatch = new UsageWatch({ ...parts, ...watched });
		this.#gate = createStartGate(
			parts.clock,
			() => this.#startables(),
			(id) => this.#runners.get(id)?.life.snapshot().ready === true,
			parts.onError,
		);
	}

	/** Takes up what an earlier daemon left. Agents that run are adopted, not started. */
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
			const [lastExit = null] = store.readExits(stored.id, 1);
			this.#add({ ...stored, spec }, lastExit);
		}
		await Promise.all(
			[...this.#runners.values()].map(async ({ id, life }) => {
				const effect = planned.get(startEffectKey(id));
				const payload = effect?.payload as { afterMs: number } | undefined;
				const start: PlannedStart | null =
					effect === undefined ? null : { dueAtMs: effect.dueAtMs, afterMs: payload?.afterMs ?? 0 };
				await this.#recoverOne(life, runs.get(id) ?? [], start);
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

	/** Takes on a fleet, as far as nothing that runs is disturbed, and brings up what is in scope. */
	async up(fleet: FleetSpec, scope: Scope): Promise<readonly Started[]> {
		const ids = resolveLasting(scope, fleet.agents);
		const changes = diffFleets(this.#recorded(fleet.file), fleet);
		await this.#pin(fleet, changes, (change) => {
			const runs = this.#runners.get(change.id)?.life.snapshot().run;
			return change.change === "add" || (change.change === "change" && (runs ?? null) === null);
		});
		return Promise.all(
			ids.map(async (id) => {
				const outcome = await this.#startedOrWaiting(id, this.#runner(id).up("operator"));
				const changed = changes.some((each) => each.id === id && each.change === "change");
				return { id, outcome: changed && outcome === "already_running" ? "changed" : outcome };
			}),
		);
	}

	#startedOrWaiting(id: string, start: Promise<StartOutcome>): Promise<StartOutcome> {
		return startedOrWaiting(this.#parts.clock, start, () => this.#waitsLong(id));
	}

	/** Whether it starts only after something that may take long, or never comes. */
	#waitsLong(id: string): boolean {
		const { hold, missing } = this.get(id);
		return hold !== null || missing.some((each) => this.#willNotStart(each));
	}

	/** Whether an agent stays down unless somebody does something about it. */
	#willNotStart(id: string): boolean {
		const life = this.#runners.get(id)?.life;
		return life === undefined || isHeldDown(life.snapshot(), this.#usage);
	}

	/** Stops agents, those that others depend on after those others (S7). */
	down(scope: Scope, timeoutMs?: number): Promise<readonly Stopped[]> {
		return this.#stopInOrder(scope, (runner) => runner.down("operator", timeoutMs));
	}

	restart(scope: Scope, options: RestartOptions): Promise<readonly Stopped[]> {
		return this.#stopInOrder(scope, async (runner) => {
			const { report, start } = await runner.restart("operator", options);
			if (start !== null) await this.#startedOrWaiting(runner.id, start);
			return report;
		});
	}

	/** What a reload would do. Touches nothing. */
	plan(fleet: FleetSpec): readonly AgentChange[] {
		this.#refuseForeign(fleet);
		return diffFleets(this.#recorded(fleet.file), fleet);
	}

	/** Brings the recorded fleet to what the file says. What is the same is not disturbed. */
	async reload(fleet: FleetSpec): Promise<readonly Reloaded[]> {
		const changes = this.plan(fleet);
		const wasUp = new Set(
			this.list()
				.filter(({ agent }) => agent.desired === "up")
				.map(({ agent }) => agent.id),
		);
		const leaving = changes.filter(({ change }) => change === "remove" || change === "change");
		const reports = new Map<string, StopReport>();
		await Promise.all(
			leaving.map(async ({ id, change }) => {
				const runner = this.#runner(id);
				const stop =
					change === "remove" ? runner.down("reeve") : runner.life.stop("reeve", undefined);
				reports.set(id, await stop);
			}),
		);
		await this.#pin(fleet, changes, () => true);
		const starting = changes.filter(
			({ id, change }) => change === "add" || (change === "change" && wasUp.has(id)),
		);
		for (const { id } of starting) {
			const runner = this.#runners.get(id);
			if (runner !== undefined && runner.life.snapshot().agent.spec.kind !== "call") {
				runner.up("reeve").catch((error: unknown) => this.#parts.onError(id, error));
			}
		}
		return changes.map((change) => ({ ...change, stopped: reports.get(change.id) ?? null }));
	}

	async resume(id: string): Promise<ResumedAgent> {
		const { spec } = this.get(id).agent;
		const released = [
			...(this.#accounts.holdOf(spec) === null ? [] : (["account"] as const)),
			...(this.#usage.held(spec) === null ? [] : (["budget"] as const)),
		];
		this.#accounts.resume(spec);
		await this.#usage.release(spec);
		const { from, start } = await this.#runner(id).resume(released.length > 0);
		await this.#startedOrWaiting(id, start);
		return { from, released };
	}

	async answer(id: string, answer: Answer): Promise<StartOutcome> {
		const answered = await this.#runner(id).answer(answer);
		if (answered !== null) return this.#startedOrWaiting(id, answered.start);
		throw new ReeveError("not_waiting", `${id} is not waiting for an answer`);
	}

	/** The spec of an agent as it holds now; null when there is none of that id. */
	specOf(id: string): AgentSpec | null {
		return this.#runners.get(id)?.life.snapshot().agent.spec ?? null;
	}

	/** Why an agent may do nothing more today; null when it may. */
	overBudget(id: string): string | null {
		const spec = this.specOf(id);
		return spec === null ? null : this.#usage.held(spec);
	}

	/** Why an agent waits for its account; null when it does not. */
	holdOf(id: string): Hold | null {
		const spec = this.specOf(id);
		return spec === null ? null : this.#accounts.holdOf(spec);
	}

	/** Whether an agent that has something to do may do it, with this many attempts under way. */
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

	/** Lets go of everything without ending an agent. */
	close(): void {
		this.#gate.close();
		this.#accounts.close();
		this.#usageWatch.stop();
		for (const { life } of this.#runners.values()) life.letGo();
	}

	/** To be called by whoever listens to the backends. */
	exited(exit: Parameters<Life["exited"]>[0]): void {
		for (const { id, life } of this.#runners.values()) {
			if (life.snapshot().run?.runId !== exit.runId) continue;
			life.exited(exit).catch((error: unknown) => this.#parts.onError(id, error));
		}
	}

	#view(life: Life): AgentView {
		const { spec } = life.snapshot().agent;
		const missing = life.wantsToLaunch ? this.#gate.missing(dependsOn(spec)) : [];
		return viewOf(life, missing, this.#accounts, this.#usage.view(spec));
	}

	#runner(id: string): AgentRunner {
		const runner = this.#runners.get(id);
		if (runner !== undefined) return runner;
		const known = [...this.#runners.keys()].join(", ");
		throw new ReeveError("agent_not_found", `there is no agent ${id}`, `There are: ${known}.`);
	}

	#add(agent: Agent, lastExit: StoredExit | null): void {
		const { onError } = this.#parts;
		const world: WorkerWorld = {
			...this.#parts,
			...{ inbox: this.inbox, drafts: this.#drafts, accounts: this.#accounts },
			overBudget: (spec) => this.#usage.held(spec),
			wantsToStart: () => this.#gate.pump(),
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
		this.#runners.set(agent.id, new AgentRunner(life));
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
			const { agent } = life.snapshot();
			yield {
				id: agent.id,
				wantsToLaunch: life.wantsToLaunch,
				dependsOn: dependsOn(agent.spec),
				mayGo: () => this.#accounts.mayGo(agent.spec),
				launch: () => life.launch(),
			};
		}
	}

	/** The fleet of a file as it was last taken on. */
	#recorded(file: string): FleetSpec {
		return recordedFleet(
			this.list().map(({ agent }) => agent),
			file,
		);
	}

	/** Records the changes that are chosen, together with the values of all environments. */
	async #pin(
		fleet: FleetSpec,
		changes: readonly AgentChange[],
		chosen: (change: AgentChange) => boolean,
	): Promise<void> {
		this.#refuseForeign(fleet);
		const specs = new Map(fleet.agents.map((spec) => [spec.id, spec]));
		const taken = changes.filter(chosen);
		const envs = new Map(this.list().map(({ agent }) => [agent.id, agent.spec.env]));
		for (const { id, change } of taken) {
			if (change === "remove") envs.delete(id);
			else envs.set(id, specs.get(id)?.env ?? {});
		}
		// First the vault: values without an agent do no harm, an agent without its values would.
		await this.#parts.vault.write(Object.fromEntries(envs));
		for (const { id, change, keys } of taken) {
			const spec = specs.get(id);
			const position = fleet.agents.findIndex((each) => each.id === id);
			if (change === "remove") await this.#remove(id);
			else if (change === "change" && spec) {
				if (this.#runner(id).life.snapshot().agent.spec.kind === spec.kind) {
					await this.#runner(id).change(spec, position, keys);
					continue;
				}
				// Another kind is another life: what the old one remembers means nothing to it.
				await this.#remove(id);
				await this.#create(spec, fleet.file, position);
			} else if (change === "add" && spec) await this.#create(spec, fleet.file, position);
		}
	}

	async #create(spec: AgentSpec, fleetFile: string, position: number): Promise<void> {
		const agent = newAgent(spec, fleetFile, position);
		await recordAdded(this.#parts, agent);
		this.#add(agent, null);
	}

	async #remove(id: string): Promise<void> {
		this.#runner(id).life.letGo();
		await recordRemoved(this.#parts, id);
		this.#runners.delete(id);
		await this.inbox.forget(id);
		await this.#usage.forget(id);
	}

	#refuseForeign(fleet: FleetSpec): void {
		for (const { id } of fleet.agents) {
			const owner = this.#runners.get(id)?.life.snapshot().agent.fleetFile ?? fleet.file;
			if (owner === fleet.file) continue;
			throw new ReeveError("agent_taken", `agent ${id} is already kept from ${owner}`);
		}
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

/**
 * The facade that all surfaces call: the agents and their fleets, the gate that orders their starts, and
 * the tasks that are given to them. Failures of one agent never affect others (S17).
 */

import type { AgentChange } from "../config/diff.js";
import type { FleetSpec } from "../config/spec.js";
import { readStoredSpec } from "../config/spec-schema.js";
import { needsFix } from "../core/attention.js";
import { ReeveError } from "../core/errors.js";
import type { RunExit } from "../ports/backend.js";
import type { StoredExit, StoredRun } from "../ports/store.js";
import { type AgentView, redactView, viewOf } from "./agent-view.js";
import { Agents } from "./agents.js";
import { Drafts } from "./attending/drafts.js";
import { FinishedTurns } from "./attending/finished-turns.js";
import { Inbox } from "./attending/inbox.js";
import { PeopleView } from "./attending/people-view.js";
import { Questions } from "./attending/questions.js";
import { ScreenQuestions } from "./attending/screen-questions.js";
import { Terminals } from "./attending/terminals.js";
import { Typing } from "./attending/typing.js";
import type {
	EngineParts,
	EngineUsage,
	Reloaded,
	RestartedAgent,
	ResumedAgent,
	Started,
	Stopped,
} from "./engine-parts.js";
import { Accounts, type Hold } from "./limits/accounts.js";
import { UsageBook } from "./limits/usage-book.js";
import { UsageWatch } from "./limits/usage-watch.js";
import { PinnedFleets, recordedFleet } from "./pinned-fleets.js";
import { reloadFleet } from "./reload.js";
import { type PlannedStart, withLastFailure } from "./runs/agent-record.js";
import {
	AgentRunner,
	type Answer,
	type RestartOptions,
	type RunnerWorld,
} from "./runs/agent-runner.js";
import { type Agent, whyBlocked, willNotStart } from "./runs/agent-state.js";
import type { StartOutcome, StartReport, StopReport } from "./runs/life-world.js";
import { PersistedAgent } from "./runs/persisted-agent.js";
import { dependsOn, resolveLasting, type Scope, stopInOrder } from "./scope.js";
import { StartGate } from "./start-gate.js";
import { AgentCalls } from "./tasks/agent-calls.js";
import { Tasks } from "./tasks/tasks.js";
import { withDeadline } from "./waiting.js";

const EXITS_READ = 20;
/** How long `up` waits for a start before it reports that the agent is still waiting. */
const START_WAIT_MS = 60_000;
const START_LOOK_MS = 250;

export class Engine {
	readonly #parts: EngineParts;
	readonly #agents = new Agents();
	readonly #gate: StartGate;
	readonly #fleets: PinnedFleets;
	readonly #accounts: Accounts;
	readonly inbox: Inbox;
	readonly questions: Questions;
	readonly terminals: Terminals;
	/** Single attempts, without the queue, retries and record of a task. */
	readonly calls: AgentCalls;
	readonly tasks: Tasks;
	/** Open questions of any kind, and their answers. */
	readonly people: PeopleView;
	readonly finished: FinishedTurns;
	readonly #screenQuestions: ScreenQuestions;
	readonly #usage: UsageBook;
	readonly #usageWatch: UsageWatch;
	readonly #runnerWorld: RunnerWorld;
	#recovered = 0;

	constructor(parts: EngineParts) {
		const agents = this.#agents;
		const { store, clock } = parts;
		const drafts = new Drafts(clock);
		this.#parts = parts;
		const typing = new Typing(clock);
		this.inbox = new Inbox(store, clock, parts.newRunId);
		this.questions = new Questions(store, clock);
		this.#screenQuestions = new ScreenQuestions(store, clock, typing);
		this.finished = new FinishedTurns(store, clock);
		this.people = new PeopleView({
			...{ agents, sessions: parts.sessions, asked: this.questions },
			screen: this.#screenQuestions,
			decide: (id, answer) => this.answer(id, answer),
		});
		this.#usage = new UsageBook(parts);
		const people = { questions: this.#screenQuestions, finished: this.finished };
		const typed = { drafts, typing, inbox: this.inbox, people };
		const shared = { ...parts, agents, ...typed, usage: this.#usage };
		this.terminals = new Terminals(shared);
		this.#accounts = new Accounts(shared);
		this.#gate = new StartGate({ ...shared, accounts: this.#accounts });
		this.#runnerWorld = { ...shared, accounts: this.#accounts, gate: this.#gate };
		this.#fleets = new PinnedFleets({
			...shared,
			added: (agent) => this.#add(agent, null),
			removed: (id) => this.#forget(id),
		});
		this.#usageWatch = new UsageWatch(shared);
		this.calls = new AgentCalls(parts, agents, this.#usage, this.#accounts);
		this.tasks = new Tasks({ ...parts, newId: parts.newRunId, agents: this.calls });
	}

	/** How many agents of an earlier daemon are recovered so far. */
	get recovery(): { readonly done: number; readonly total: number } {
		return { done: this.#recovered, total: this.#agents.size };
	}

	/** Continues the work of an earlier daemon. Running agents are adopted, not started. */
	async recover(): Promise<void> {
		const { store, vault } = this.#parts;
		const envs = await vault.read();
		this.inbox.recover();
		this.questions.recover();
		this.#screenQuestions.recover();
		this.finished.recover();
		this.#accounts.recover();
		this.#usage.recover();
		const runs = new Map<string, StoredRun[]>();
		for (const run of store.readOpenRuns()) {
			runs.set(run.agentId, [...(runs.get(run.agentId) ?? []), run]);
		}
		const planned = new Map<string, PlannedStart>();
		for (const { dueAtMs, payload } of store.readEffects("start")) {
			planned.set(payload.agent, { dueAtMs, afterMs: payload.afterMs });
		}
		for (const stored of store.readAgents()) {
			const { spec: stripped, problem } = readStoredSpec(stored.spec);
			if (problem !== null) this.#parts.onError(stored.id, new Error(`stored spec: ${problem}`));
			const spec = { ...stripped, env: envs[stored.id] ?? {} };
			const exits = store.readExits(stored.id, EXITS_READ);
			this.#add({ ...withLastFailure(stored, exits), spec }, exits[0] ?? null);
		}
		await Promise.all(
			[...this.#agents.values()].map(async (runner) => {
				const { id, spec } = runner;
				await this.#parts.secrets.learn(spec);
				await this.#recoverOne(runner, runs.get(id) ?? [], planned.get(id) ?? null);
				this.#recovered += 1;
			}),
		);
		this.#usageWatch.start();
	}

	list(): readonly AgentView[] {
		return [...this.#agents.values()].map((runner) => this.#view(runner));
	}

	get(id: string): AgentView {
		return this.#view(this.#agents.require(id));
	}

	/** Applies a fleet, without disturbing running agents, and starts the agents in scope. */
	async up(fleet: FleetSpec, scope: Scope): Promise<readonly Started[]> {
		const ids = resolveLasting(scope, fleet.agents);
		const mayChange = ({ id, change }: AgentChange) =>
			change === "add" ||
			(change === "change" && (this.#agents.get(id)?.snapshot().run ?? null) === null);
		const changes = await this.#fleets.pin(fleet, mayChange, { unlessRunning: true });
		return Promise.all(
			ids.map(async (id) => {
				const start = await this.#startOf(id, this.#agents.require(id).up("operator"));
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

	async #startOf(id: string, start: Promise<StartOutcome>): Promise<StartReport> {
		return { outcome: await this.#startedOrWaiting(id, start), reason: null };
	}

	/** `waiting` if the start does not happen for a reason that may take long, or never ends. */
	async #startedOrWaiting(id: string, start: Promise<StartOutcome>): Promise<StartOutcome> {
		const { clock } = this.#parts;
		const untilMs = clock.now().steadyMs + START_WAIT_MS;
		while ((await withDeadline(clock, start, START_LOOK_MS)) === "late") {
			// Not a whole view of the agent: many starts are polled at once.
			const agent = this.#agents.require(id);
			const waitsLong =
				this.#accounts.holdOf(agent.spec) !== null ||
				this.#missing(agent).some((each) => willNotStart(this.#agents, each, this.#usage));
			if (waitsLong || clock.now().steadyMs >= untilMs) return "waiting";
		}
		return start;
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
				const start = this.#agents.require(report.id).startAgain(!fresh);
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
			...{ agents: this.#agents, fleets: this.#fleets, checkStart },
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
		const { from, start } = await this.#agents.require(id).resume(released.length > 0);
		this.#accounts.noteResumed(spec);
		const outcome = await this.#startedOrWaiting(id, start);
		return { from, released, outcome: spec.kind === "call" ? null : outcome };
	}

	async answer(id: string, answer: Answer): Promise<StartOutcome> {
		const answered = await this.#agents.require(id).answer(answer);
		if (answered !== null) return this.#startedOrWaiting(id, answered.start);
		throw new ReeveError("not_waiting", `${id} is not waiting for an answer`);
	}

	/** Why an agent waits for its account; null if it does not. */
	holdOf(id: string): Hold | null {
		const spec = this.#agents.get(id)?.spec;
		return spec === undefined ? null : this.#accounts.holdOf(spec);
	}

	/** The usage of agents by day, and their accounts. */
	usage(): EngineUsage {
		const { clock, dayOf, secrets } = this.#parts;
		const accounts = this.#accounts.describe().map(({ hold, ...account }) => ({
			...account,
			hold: hold === null ? null : { ...hold, reason: secrets.redact(hold.reason) },
		}));
		const today = dayOf(clock.now().wallMs).day;
		return { today, accounts, daysOf: (id) => this.#usage.days(id) };
	}

	/** Releases everything without stopping an agent. */
	close(): void {
		this.#gate.close();
		this.#accounts.close();
		this.#usageWatch.stop();
		for (const { life } of this.#agents.values()) life?.release();
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
	exited(exit: RunExit): void {
		for (const { id, session } of this.#agents.values()) {
			if (!session?.hasRun(exit.runId)) continue;
			session.exited(exit).catch((error: unknown) => this.#parts.onError(id, error));
		}
	}

	#view(agent: AgentRunner): AgentView {
		const { spec } = agent;
		const missing = this.#missing(agent);
		const view = viewOf(agent, missing, this.#accounts.holdOf(spec), {
			blocked:
				missing
					.map((id) => whyBlocked(this.#agents, id, this.#usage))
					.find((why) => why !== null) ?? null,
			usage: this.#usage.view(spec),
			question: this.people.questionOf(agent.snapshot()),
			finished: this.finished.of(spec.id),
			undelivered: this.inbox.undelivered(spec.id),
		});
		return redactView(view, this.#parts.secrets.redact);
	}

	/** The dependencies that a requested start waits for. */
	#missing(agent: AgentRunner): readonly string[] {
		return agent.wantsStart ? this.#gate.missing(agent.spec) : [];
	}

	#add(agent: Agent, lastExit: StoredExit | null): void {
		const persisted = new PersistedAgent(agent, lastExit, this.#parts);
		this.#agents.set(agent.id, new AgentRunner(persisted, this.#runnerWorld));
	}

	async #recoverOne(
		{ id, life }: AgentRunner,
		runs: readonly StoredRun[],
		planned: PlannedStart | null,
	): Promise<void> {
		try {
			await life?.recover(runs, planned);
		} catch (error) {
			this.#parts.onError(id, error);
		}
	}

	async #forget(id: string): Promise<void> {
		this.#agents.delete(id);
		await this.inbox.forget(id);
		await this.#screenQuestions.forget(id);
		await this.finished.forget(id);
		await this.#usage.forget(id);
	}

	async #stopInOrder(
		scope: Scope,
		stop: (runner: AgentRunner) => Promise<StopReport>,
	): Promise<readonly Stopped[]> {
		const specs = this.list().map(({ agent }) => agent.spec);
		const ids = resolveLasting(scope, specs);
		const graph = new Map(specs.map((spec) => [spec.id, dependsOn(spec)]));
		return stopInOrder(graph, ids, async (id) => ({
			id,
			...(await stop(this.#agents.require(id))),
		}));
	}
}

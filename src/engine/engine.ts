/**
 * The facade that all surfaces call: the agents and their fleets, the gate that orders their starts, and
 * the tasks for them. Failures of one agent never affect others (S17).
 */

import type { AgentChange } from "../config/diff.js";
import type { FleetSpec } from "../config/spec.js";
import { needsFix } from "../core/attention.js";
import { ReeveError } from "../core/errors.js";
import type { RunExit } from "../ports/backend.js";
import type { Leases } from "../ports/leases.js";
import { NO_SHARED_LIMITS } from "../ports/shared-limits.js";
import type { StoredExit } from "../ports/store.js";
import { type AgentView, redactView, viewOf } from "./agent-view.js";
import { Agents } from "./agents.js";
import { Drafts } from "./attending/drafts.js";
import { FinishedTurns } from "./attending/finished-turns.js";
import { Inbox } from "./attending/inbox.js";
import { LostHosts } from "./attending/lost-hosts.js";
import { OpenQuestions } from "./attending/open-questions.js";
import { Questions } from "./attending/questions.js";
import { ScreenQuestions } from "./attending/screen-questions.js";
import { Terminals } from "./attending/terminals.js";
import { Typing } from "./attending/typing.js";
import { Viewers } from "./attending/viewers.js";
import type {
	EngineParts,
	EngineUsage,
	FleetChanges,
	Reloaded,
	RestartedAgent,
	ResumedAgent,
	Started,
	Stopped,
} from "./engine-parts.js";
import { FileWatches } from "./file-watches.js";
import { attachLeases } from "./leased-agents.js";
import { Accounts, type Hold } from "./limits/accounts.js";
import { UsageBook } from "./limits/usage-book.js";
import { UsageWatch } from "./limits/usage-watch.js";
import { PinnedFleets, recordedFleet } from "./pinned-fleets.js";
import { isPlaced, NO_LEASES, placementOf } from "./placement.js";
import { reloadFleet } from "./reload.js";
import {
	AgentRunner,
	type Answer,
	type RestartOptions,
	type RunnerWorld,
} from "./runs/agent-runner.js";
import { AgentStarts } from "./runs/agent-starts.js";
import { type Agent, blockReason } from "./runs/agent-state.js";
import type { StartOutcome, StopReport } from "./runs/life-world.js";
import { PersistedAgent } from "./runs/persisted-agent.js";
import { readStoredAgents } from "./runs/stored-agents.js";
import { Schedules } from "./schedules/schedules.js";
import { dependsOn, resolveLasting, type Scope, stopInOrder } from "./scope.js";
import { placedCalls, SharedTasks } from "./shared-tasks/shared-tasks.js";
import { StartGate } from "./start-gate.js";
import { AgentCalls } from "./tasks/agent-calls.js";
import { RunningAttempts } from "./tasks/running-attempts.js";
import { TaskDesk } from "./tasks/task-desk.js";
import { Tasks } from "./tasks/tasks.js";
import { Wishes } from "./wishes.js";

const NO_CLUSTER = "this host belongs to no cluster, so it cannot share the tasks of an agent";

export class Engine {
	readonly #parts: EngineParts;
	readonly #agents = new Agents();
	readonly #gate: StartGate;
	readonly #leases: Leases;
	readonly #wishes: Wishes;
	readonly #fleets: PinnedFleets;
	readonly #accounts: Accounts;
	readonly inbox: Inbox;
	readonly questions: Questions;
	readonly terminals: Terminals;
	/** Single attempts, without the queue, retries and record of a task. */
	readonly calls: AgentCalls;
	/** The tasks of this host alone. */
	readonly tasks: Tasks;
	/** The tasks that the hosts of a cluster share. */
	readonly sharedTasks: SharedTasks;
	/** Requests about tasks of either kind. */
	readonly taskDesk: TaskDesk;
	/** Open questions of any kind, and their answers. */
	readonly people: OpenQuestions;
	readonly finished: FinishedTurns;
	readonly schedules: Schedules;
	readonly #screenQuestions: ScreenQuestions;
	readonly #usage: UsageBook;
	readonly #usageWatch: UsageWatch;
	readonly #fileWatches: FileWatches;
	readonly #runnerWorld: RunnerWorld;
	readonly #starts: AgentStarts;
	#recovered = 0;

	constructor(parts: EngineParts) {
		const agents = this.#agents;
		const { store, clock, leases = NO_LEASES, sharedLimits = NO_SHARED_LIMITS } = parts;
		const drafts = new Drafts(clock);
		this.#parts = parts;
		const typing = new Typing(clock);
		this.inbox = new Inbox(store, clock, parts.newRunId);
		this.questions = new Questions(store, clock, parts.secrets.redact);
		this.#screenQuestions = new ScreenQuestions(store, clock, typing);
		this.finished = new FinishedTurns(store, clock);
		const errors = { onError: parts.onError };
		const lost = new LostHosts(leases, store, clock);
		this.people = new OpenQuestions({
			...{ agents, lost },
			sessions: parts.sessions,
			asked: this.questions,
			screen: this.#screenQuestions,
			decide: (id, answer) => this.answer(id, answer),
		});
		const accountOf = (id: string) => {
			const spec = agents.get(id)?.spec;
			return spec === undefined || spec.kind === "worker" ? null : spec.account;
		};
		this.#usage = new UsageBook({ ...parts, accountOf });
		const people = { questions: this.#screenQuestions, finished: this.finished };
		const viewers = new Viewers();
		const typed = { drafts, typing, viewers, inbox: this.inbox, people };
		const shared = {
			...parts,
			agents,
			...typed,
			usage: this.#usage,
			leases,
			sharedLimits,
			wake: (id: string) => this.#starts.wakeToAttach(id),
			hasQuestion: (id: string, runId: string) =>
				(this.#screenQuestions.of(id, runId) ?? this.questions.openQuestion(id, runId)) !== null,
		};
		this.inbox.onAccepted((id) => this.#starts.wakeForMessage(id));
		this.terminals = new Terminals(shared);
		this.#accounts = new Accounts(shared);
		this.#gate = new StartGate({ ...shared, accounts: this.#accounts });
		this.#starts = new AgentStarts({ ...shared, accounts: this.#accounts, gate: this.#gate });
		this.#runnerWorld = {
			...shared,
			accounts: this.#accounts,
			gate: this.#gate,
			ownersOfRuns: new Map(),
		};
		this.#leases = leases;
		this.#wishes = new Wishes({ ...parts, leases });
		const [gate, wishes, { inbox }] = [this.#gate, this.#wishes, this];
		attachLeases(leases, { agents, gate, lost, wishes, inbox, ...errors });
		this.#fleets = new PinnedFleets({
			...shared,
			added: (agent) => this.#add(agent, null),
			removed: (id) => this.#forget(id),
		});
		this.#usageWatch = new UsageWatch(shared);
		this.#fileWatches = new FileWatches(shared);
		this.calls = new AgentCalls(parts, agents, this.#usage, this.#accounts);
		const running = new RunningAttempts();
		const called = { ...parts, newId: parts.newRunId, agents: this.calls, running };
		this.tasks = new Tasks(called);
		this.sharedTasks = new SharedTasks({
			...called,
			placed: () => placedCalls([...agents.values()].map(({ spec }) => spec)),
			concurrency: parts.concurrency.call,
			freed: () => this.tasks.pump(),
			unavailable: parts.whyNoCluster ?? (() => new ReeveError("cluster_off", NO_CLUSTER)),
		});
		this.taskDesk = new TaskDesk(this.tasks, this.sharedTasks, store);
		this.schedules = new Schedules({
			...parts,
			...{ agents, leases },
			inbox: this.inbox,
			tasks: this.tasks,
			finished: this.finished,
			restart: (id, runId) => this.#starts.restartDecided(id, runId),
			hasInbox: (id) => this.terminals.hasInbox(id),
			type: async (id, message) => void (await this.terminals.send(id, message, true)),
		});
	}

	/** How many agents of an earlier daemon are recovered so far. */
	get recovery(): { readonly done: number; readonly total: number } {
		return { done: this.#recovered, total: this.#agents.size };
	}

	/** Continues the work of an earlier daemon. Running agents are adopted, not started. */
	async recover(): Promise<void> {
		const envs = await this.#parts.vault.read();
		const stored = readStoredAgents(this.#parts, envs);
		this.inbox.recover();
		this.questions.recover();
		this.#screenQuestions.recover();
		this.finished.recover();
		this.schedules.recover();
		this.#accounts.recover();
		this.#usage.recover();
		this.#wishes.recover();
		for (const { agent, lastExit } of stored) this.#add(agent, lastExit);
		await this.#fleets.removeUnused(envs);
		await Promise.all(
			stored.map(async ({ agent: { id, spec }, runs, planned }) => {
				const running = runs.flatMap(({ handle }) => (handle === null ? [] : [handle.process]));
				await this.#parts.secrets.learn(spec, running);
				try {
					await this.#agents.get(id)?.life?.recover(runs, planned);
				} catch (error) {
					this.#parts.onError(id, error);
				}
				this.#recovered += 1;
			}),
		);
		this.#usageWatch.start();
		// Accepted right before the earlier daemon died.
		for (const runner of this.#agents.values()) {
			if (runner.snapshot().run === null) this.#starts.wakeForMessage(runner.id);
		}
	}

	list(): readonly AgentView[] {
		return [...this.#agents.values()].map((runner) => this.#view(runner));
	}

	get(id: string): AgentView {
		return this.#view(this.#agents.require(id));
	}

	/** Applies a fleet, without disturbing running agents, and starts the agents in scope. */
	async up(fleet: FleetSpec, scope: Scope, waitMs?: number): Promise<readonly Started[]> {
		const ids = resolveLasting(scope, fleet.agents);
		const mayChange = ({ id, change }: AgentChange) =>
			change === "add" ||
			(change === "change" && (this.#agents.get(id)?.snapshot().run ?? null) === null);
		this.schedules.diff(fleet);
		const changes = await this.#fleets.pin(fleet, mayChange, { unlessRunning: true });
		await this.schedules.pin(fleet, { removes: false });
		const placed = fleet.agents.filter((spec) => ids.includes(spec.id) && isPlaced(spec));
		await Promise.all(placed.map(({ id }) => this.#wishes.accept(id, true)));
		return Promise.all(
			ids.map(async (id) => {
				const start = await this.#starts.reportOf(
					id,
					this.#agents.require(id).up("operator"),
					waitMs,
				);
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

	/** Stops all agents of this host. Other hosts may run those with `placement`. */
	downHere(): Promise<readonly Stopped[]> {
		return this.#stopInOrder("*", (runner) => runner.down("operator"));
	}

	/** Stops agents, dependents first (S7); those with `placement` on whichever host they run. */
	down(scope: Scope, timeoutMs?: number): Promise<readonly Stopped[]> {
		return this.#stopInOrder(scope, async (runner) => {
			const placement = placementOf(this.#leases, runner.spec);
			if (placement !== null) await this.#wishes.accept(runner.id, false);
			const report = await runner.down("operator", timeoutMs);
			if (report.outcome !== "already_stopped" || placement?.state !== "elsewhere") return report;
			return { ...report, reason: `it runs on ${placement.host}, which stops it` };
		});
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
				return { ...report, start: await this.#starts.reportOf(report.id, start) };
			}),
		);
	}

	/** The effect of a reload. Changes nothing. */
	plan(fleet: FleetSpec): FleetChanges<AgentChange> {
		return { agents: this.#fleets.diff(fleet), schedules: this.schedules.diff(fleet) };
	}

	/** Applies the changes of the file. Unchanged agents are not disturbed. */
	async reload(fleet: FleetSpec): Promise<FleetChanges<Reloaded>> {
		const { sessions } = this.#parts;
		// Before anything is stopped: a schedule that belongs to another file refuses the whole reload.
		this.schedules.diff(fleet);
		const agents = await reloadFleet(fleet, {
			agents: this.#agents,
			fleets: this.#fleets,
			sessions,
			startOf: (id, start) => this.#starts.reportOf(id, start),
		});
		return { agents, schedules: await this.schedules.pin(fleet, { removes: true }) };
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
		const outcome = await this.#starts.outcomeOf(id, start);
		return { from, released, outcome: spec.kind === "call" ? null : outcome };
	}

	async answer(id: string, answer: Answer): Promise<StartOutcome> {
		const answered = await this.#agents.require(id).answer(answer);
		if (answered !== null) return this.#starts.outcomeOf(id, answered.start);
		throw new ReeveError("not_waiting", `${id} is not waiting for an answer`);
	}

	/** Why an agent waits for its account; null if it does not. */
	holdOf(id: string): Hold | null {
		const spec = this.#agents.get(id)?.spec;
		return spec === undefined ? null : this.#accounts.holdOf(spec);
	}

	/** The usage of agents by day, and their accounts. */
	usage(): EngineUsage {
		const { clock, calendar, secrets } = this.#parts;
		const accounts = this.#accounts.describe().map(({ hold, ...account }) => ({
			...account,
			hold: hold === null ? null : { ...hold, reason: secrets.redact(hold.reason) },
		}));
		const today = calendar.dayOf(clock.now().wallMs).day;
		return { today, accounts, daysOf: (id) => this.#usage.days(id) };
	}

	/** The files of the transcript of an agent's conversation. */
	async transcriptsOf(id: string): Promise<readonly string[]> {
		const { spec, conversation } = this.get(id).agent;
		if (spec.kind !== "session") return [];
		return this.#parts.sessions.transcripts(spec, conversation ?? null);
	}

	/** Releases everything without stopping an agent. */
	close(): void {
		this.#gate.close();
		this.#accounts.close();
		this.#usageWatch.stop();
		this.#fileWatches.stop();
		for (const { life } of this.#agents.values()) life?.release();
	}

	/**
	 * The end of the output of an agent's last run, without secrets. Empty for a running agent, whose
	 * output does not belong to the exit, and if it cannot be read.
	 */
	async lastOutput(id: string): Promise<string> {
		const { agent, process, lastExit } = this.get(id);
		if (agent.spec.kind === "call" || process !== "stopped" || lastExit === null) return "";
		const { outputFrom = 0 } = lastExit;
		if (outputFrom === null) return "";
		const { sessions, secrets } = this.#parts;
		return secrets.redact(await sessions.lastOutput(agent.spec, outputFrom).catch(() => ""));
	}

	/** Called for every exit that a backend reports. */
	exited(exit: RunExit): void {
		const owner = this.#runnerWorld.ownersOfRuns.get(exit.runId);
		owner?.exited(exit).catch((error: unknown) => this.#parts.onError(owner.id, error));
	}

	#view(agent: AgentRunner): AgentView {
		const { spec } = agent;
		const missing = this.#starts.missing(agent);
		// An agent that hibernates waits for no limit.
		const snapshot = agent.snapshot();
		const hibernates = snapshot.agent.hibernation != null;
		const hold = hibernates ? null : this.#accounts.holdOf(spec);
		const view = viewOf(snapshot, agent.wantsStart, hold, {
			missing,
			blocked:
				missing
					.map((id) => blockReason(this.#agents, id, this.#usage))
					.find((why) => why !== null) ?? null,
			usage: this.#usage.view(spec),
			question: this.people.questionOf(snapshot),
			finished: this.finished.of(spec.id),
			undelivered: this.inbox.undelivered(spec.id),
			placement: placementOf(this.#leases, spec),
			fileWatch: this.#fileWatches.view(spec.id),
		});
		return redactView(view, this.#parts.secrets.redact);
	}

	#add(agent: Agent, lastExit: StoredExit | null): void {
		const look = () => this.#fileWatches.look(agent.id);
		const persisted = new PersistedAgent(agent, lastExit, this.#parts, look);
		this.#agents.set(agent.id, new AgentRunner(persisted, this.#runnerWorld));
		look();
	}

	async #forget(id: string): Promise<void> {
		this.#agents.delete(id);
		this.#wishes.forget(id);
		this.#fileWatches.forget(id);
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

/** Starts as those who request them see them: their outcome, or that they wait for something that may last long. */

import type { Clock } from "../../ports/clock.js";
import type { Leases, PlacementView } from "../../ports/leases.js";
import type { Store } from "../../ports/store.js";
import type { Agents } from "../agents.js";
import type { Inbox } from "../attending/inbox.js";
import type { Accounts } from "../limits/accounts.js";
import type { UsageBook } from "../limits/usage-book.js";
import { placementOf } from "../placement.js";
import type { RestartResult } from "../schedules/slot-firing.js";
import type { StartGate } from "../start-gate.js";
import type { AgentRunner } from "./agent-runner.js";
import { isHeldDown } from "./agent-state.js";
import type { StartOutcome, StartReport } from "./life-world.js";

interface StartsWorld {
	readonly store: Store;
	readonly clock: Clock;
	readonly agents: Agents;
	readonly gate: StartGate;
	readonly leases: Leases;
	readonly accounts: Accounts;
	readonly usage: UsageBook;
	readonly inbox: Inbox;
	readonly onError: (agentId: string, error: unknown) => void;
}

/** States of a placement in which a start may follow at once. */
const SOON: readonly PlacementView["state"][] = ["held", "waiting"];

export class AgentStarts {
	readonly #world: StartsWorld;
	readonly #awaited: AwaitedStarts;

	constructor(world: StartsWorld) {
		this.#world = world;
		this.#awaited = new AwaitedStarts(world.clock);
	}

	async reportOf(id: string, start: Promise<StartOutcome>, waitMs?: number): Promise<StartReport> {
		return { outcome: await this.outcomeOf(id, start, waitMs), reason: null };
	}

	/** `waiting` if the agent cannot start yet, for a reason that may last long or forever. */
	outcomeOf(id: string, start: Promise<StartOutcome>, waitMs?: number): Promise<StartOutcome> {
		const { agents, leases, accounts, usage } = this.#world;
		const waitsLong = () => {
			const agent = agents.require(id);
			const placement = placementOf(leases, agent.spec);
			return (
				(placement !== null && (placement.noHost || !SOON.includes(placement.state))) ||
				accounts.holdOf(agent.spec) !== null ||
				this.missing(agent).some((each) => isHeldDown(agents, each, usage))
			);
		};
		return this.#awaited.outcomeOf(start, waitsLong, waitMs);
	}

	/** The dependencies that a requested start waits for. */
	missing(agent: AgentRunner): readonly string[] {
		return agent.wantsStart ? this.#world.gate.missing(agent.spec) : [];
	}

	wakeForMessage(id: string): void {
		const { agents, inbox, store, onError } = this.#world;
		const runner = agents.get(id);
		if (!runner?.snapshot().agent.hibernation || inbox.head(id) === null) return;
		store.detach(() => runner.wake("message")).catch((error: unknown) => onError(id, error));
	}

	/** An agent that cannot start is reported by what needs it. */
	async wakeToAttach(id: string): Promise<void> {
		const runner = this.#world.agents.require(id);
		if (!runner.snapshot().agent.hibernation) return;
		const start = runner.wake("attach").then((outcome) => outcome ?? "started");
		await this.outcomeOf(id, start);
	}

	/**
	 * A restart that was decided while this run was the newest, perhaps by an earlier daemon: it is done only if no
	 * later run exists.
	 */
	async restartDecided(id: string, runId: string | null): Promise<RestartResult> {
		const runner = this.#world.agents.get(id);
		if (runner === undefined) return { ok: false, reason: `${id} no longer exists` };
		const stopped = await runner.stopDecided(runId, "reeve");
		if (stopped === null) {
			const { desired } = runner.snapshot().agent;
			if (desired === "down") return { ok: false, reason: `${id} was taken down` };
			return { ok: true, reason: "a later run has already started" };
		}
		if (stopped.outcome === "not_proven") {
			return { ok: false, reason: stopped.reason ?? "its processes may still be running" };
		}
		const outcome = await this.outcomeOf(id, runner.startAgain(true));
		if (outcome === "started" || outcome === "already_running") {
			return { ok: true, reason: "restarted" };
		}
		const { reason } = runner.snapshot().agent;
		return { ok: false, reason: `stopped, and not started again: ${reason}` };
	}
}

/** How long a request waits for a start before it reports that the agent is still waiting. */
const WAIT_MS_MAX = 60_000;
const POLL_MS = 250;

interface Awaited {
	readonly sinceMs: number;
	readonly waitMsMax: number;
	/** Whether it waits for something that may take long, or never ends. */
	readonly waitsLong: () => boolean;
	resolve(outcome: StartOutcome): void;
	reject(error: unknown): void;
}

/** All starts that requests wait for share one timer: a request for a large fleet waits for hundreds. */
class AwaitedStarts {
	readonly #clock: Clock;
	readonly #awaited = new Set<Awaited>();
	#cancel: (() => void) | null = null;

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	/** The outcome of a start, or `waiting` if it does not happen soon. */
	outcomeOf(
		start: Promise<StartOutcome>,
		waitsLong: () => boolean,
		waitMsMax = WAIT_MS_MAX,
	): Promise<StartOutcome> {
		return new Promise((resolve, reject) => {
			const sinceMs = this.#clock.now().steadyMs;
			const awaited = { sinceMs, waitMsMax, waitsLong, resolve, reject };
			this.#awaited.add(awaited);
			this.#cancel ??= this.#clock.schedule(POLL_MS, () => this.#check());
			start.then(resolve, reject).finally(() => this.#remove(awaited));
		});
	}

	#check(): void {
		const { steadyMs } = this.#clock.now();
		this.#cancel = this.#clock.schedule(POLL_MS, () => this.#check());
		for (const awaited of [...this.#awaited]) {
			try {
				const waitedMs = steadyMs - awaited.sinceMs;
				// The same request may still be about to start what the agent depends on.
				const isOver = waitedMs >= awaited.waitMsMax;
				if (waitedMs < POLL_MS || (!isOver && !awaited.waitsLong())) continue;
				awaited.resolve("waiting");
			} catch (error) {
				// The agent was removed.
				awaited.reject(error);
			}
			this.#remove(awaited);
		}
	}

	#remove(awaited: Awaited): void {
		this.#awaited.delete(awaited);
		if (this.#awaited.size > 0) return;
		this.#cancel?.();
		this.#cancel = null;
	}
}

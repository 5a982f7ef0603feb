/**
 * Grants starts. Agents that request a start wait here until their dependencies are ready, and the rate
 * limit of the host allows another start.
 *
 * Keeps S4 (starts in a window ≤ burst, manual ones included) and S7 (start order follows
 * `depends_on`).
 */

import type { AgentSpec } from "../config/spec.js";
import type { WakeCause } from "../core/hibernation.js";
import { DEFAULT_START_LIMIT, decideStart, type StartLog } from "../core/start-limit.js";
import type { Clock } from "../ports/clock.js";
import type { Leases } from "../ports/leases.js";
import type { Store } from "../ports/store.js";
import type { Accounts } from "./limits/accounts.js";
import { isForbiddenHere } from "./placement.js";
import { hasCompleted, type KnownAgent } from "./runs/agent-state.js";
import { dependenciesOf } from "./scope.js";

const NO_AGENT = { spec: null, life: null };

/** Starts in progress at the same time; the starter of `pty` takes as many. */
const STARTING_MAX = 64;

interface StartableAgent extends KnownAgent {
	/** Null for a call agent, which never starts. */
	readonly life: { readonly wantsStart: boolean; start(): Promise<void> } | null;
	wake(by: WakeCause): Promise<unknown>;
}

interface StartGateWorld {
	readonly clock: Clock;
	readonly store: Store;
	readonly agents: ReadonlyMap<string, StartableAgent>;
	readonly accounts: Accounts;
	readonly leases: Leases;
	readonly onError: (agentId: string, error: unknown) => void;
}

export class StartGate {
	readonly #world: StartGateWorld;
	readonly #starting = new Set<string>();
	/** Agents that may want to start, in the order of their requests. Others are never looked at. */
	readonly #asked = new Set<string>();
	readonly #waking = new Set<string>();
	#log: StartLog = [];
	#cancelCheck: (() => void) | null = null;
	#closed = false;

	constructor(world: StartGateWorld) {
		this.#world = world;
		world.accounts.onRelease(() => this.startWaiting());
	}

	/** An agent requests a start, which it gets when it may. It may have changed its mind by then. */
	ask(id: string): void {
		this.#asked.add(id);
		this.startWaiting();
	}

	/** Starts the waiting agents that may start now: one has requested it, or became ready, or ended. */
	startWaiting(): void {
		const { agents, clock, store, onError } = this.#world;
		for (const id of this.#asked) {
			if (this.#isFull) return;
			const { spec, life } = agents.get(id) ?? NO_AGENT;
			if (!life?.wantsStart) {
				// Whatever makes it want to start again requests it again.
				this.#asked.delete(id);
				continue;
			}
			const entered = this.#enter(spec);
			if (entered === true) {
				// Starts belong to no request: another request, or a timer, may have triggered them.
				store
					.detach(() => life.start())
					.catch((error: unknown) => onError(id, error))
					.finally(() => this.#startEnded(id));
			} else if (entered !== false) {
				this.#cancelCheck ??= clock.schedule(entered, () => {
					this.#cancelCheck = null;
					this.startWaiting();
				});
				return;
			}
		}
	}

	/**
	 * Admits a start that follows an exit in the same commit; null when it has to wait like any other. The
	 * result is to be called when the start is over.
	 */
	admit(spec: AgentSpec): (() => void) | null {
		return !this.#isFull && this.#enter(spec) === true ? () => this.#startEnded(spec.id) : null;
	}

	/** The dependencies that an agent still waits for. */
	missing(spec: AgentSpec): readonly string[] {
		const { agents } = this.#world;
		return dependenciesOf(spec)
			.filter(({ agent, condition }) => {
				const snapshot = agents.get(agent)?.snapshot();
				if (snapshot === undefined) return true;
				return !(hasCompleted(snapshot) || (condition === "ready" && snapshot.ready));
			})
			.map(({ agent }) => agent);
	}

	/** The agents that are up and depend on this one. */
	dependentsOf(id: string): readonly string[] {
		return [...this.#world.agents.values()]
			.filter(({ spec }) => dependenciesOf(spec).some(({ agent }) => agent === id))
			.map((agent) => agent.snapshot())
			.filter(({ agent }) => agent.desired === "up" && !agent.hibernation)
			.map(({ agent }) => agent.id);
	}

	/** A start waits for agents that hibernate. */
	#wakeHibernated(ids: readonly string[]): void {
		const { agents, onError, store } = this.#world;
		for (const id of ids) {
			const agent = agents.get(id);
			if (agent === undefined || !agent.snapshot().agent.hibernation || this.#waking.has(id))
				continue;
			this.#waking.add(id);
			store
				.detach(() => agent.wake("dependent"))
				.catch((error: unknown) => onError(id, error))
				.finally(() => this.#waking.delete(id));
		}
	}

	close(): void {
		this.#closed = true;
		this.#cancelCheck?.();
	}

	get #isFull(): boolean {
		return this.#closed || this.#starting.size >= STARTING_MAX;
	}

	/** Whether it may start now; how long the host's limit keeps it, if it is only that. */
	#enter(spec: AgentSpec): boolean | number {
		if (this.#starting.has(spec.id)) return false;
		const missing = this.missing(spec);
		this.#wakeHibernated(missing);
		if (missing.length > 0) return false;
		if (isForbiddenHere(this.#world.leases, spec)) return false;
		if (!this.#world.accounts.mayProceed(spec)) return false;
		const { steadyMs } = this.#world.clock.now();
		const decision = decideStart(this.#log, steadyMs, DEFAULT_START_LIMIT);
		if (decision.type === "wait") return decision.forMs;
		this.#log = decision.log;
		this.#starting.add(spec.id);
		return true;
	}

	#startEnded(id: string): void {
		this.#starting.delete(id);
		this.startWaiting();
	}
}

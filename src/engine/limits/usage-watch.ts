/**
 * Reads the usage of sessions every few seconds, and holds those whose budget is used up: they are
 * stopped like by the operator, and start again when a new day or a larger budget permits it.
 */

import type { SessionSpec } from "../../config/spec.js";
import type { Clock } from "../../ports/clock.js";
import type { Agents } from "../agents.js";
import type { AgentRunner } from "../runs/agent-runner.js";
import type { SessionWorld } from "../runs/session-world.js";
import type { UsageBook } from "./usage-book.js";

const POLL_MS = 5_000;

export interface WatchedUsage {
	readonly usage: UsageBook;
	readonly sessions: SessionWorld;
	readonly clock: Clock;
	readonly agents: Agents;
	readonly onError: (agentId: string, error: unknown) => void;
}

export class UsageWatch {
	readonly #world: WatchedUsage;
	readonly #held = new Set<string>();
	/** Being stopped now. */
	readonly #stopping = new Set<string>();
	/** Agents whose record was read after their last run had ended. */
	readonly #read = new Set<string>();
	#stopped = false;
	#cancel = () => {};

	constructor(world: WatchedUsage) {
		this.#world = world;
	}

	start(): void {
		this.#cancel = this.#world.clock.schedule(0, () => void this.#poll());
	}

	stop(): void {
		this.#stopped = true;
		this.#cancel();
	}

	async #poll(): Promise<void> {
		for (const runner of [...this.#world.agents.values()]) {
			if (this.#stopped) return;
			try {
				await this.#readUsage(runner);
			} catch (error) {
				if (!this.#stopped) this.#world.onError(runner.id, error);
			}
		}
		if (this.#stopped) return;
		this.#cancel = this.#world.clock.schedule(POLL_MS, () => void this.#poll());
	}

	async #readUsage(runner: AgentRunner): Promise<void> {
		const { agent, run } = runner.snapshot();
		const { spec, id } = agent;
		if (spec.kind !== "session") return;
		const isOver = run === null;
		if (!isOver || !this.#read.has(id)) await this.#readNew(spec, agent.conversation ?? null);
		if (isOver) this.#read.add(id);
		else this.#read.delete(id);
		this.#hold(runner, this.#world.usage.held(spec) !== null);
	}

	async #readNew(spec: SessionSpec, conversation: string | null): Promise<void> {
		const { usage, sessions } = this.#world;
		// Repeated while there is more: a long record is read in pieces.
		for (;;) {
			const added = await sessions.usage(spec, conversation, usage.of(spec.id).cursor);
			if (added === null || this.#stopped) return;
			await usage.addRead(spec, added);
		}
	}

	/** Not awaited: other agents are checked in the meantime. */
	#hold(runner: AgentRunner, isHeld: boolean): void {
		const { id } = runner;
		const { onError } = this.#world;
		if (!isHeld) {
			if (this.#held.delete(id)) runner.startHeld().catch((error: unknown) => onError(id, error));
			return;
		}
		this.#held.add(id);
		if (runner.snapshot().run === null || this.#stopping.has(id)) return;
		this.#stopping.add(id);
		runner
			.hold()
			.catch((error: unknown) => onError(id, error))
			.finally(() => this.#stopping.delete(id));
	}
}

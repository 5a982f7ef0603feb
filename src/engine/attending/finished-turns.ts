/**
 * The last completed turn of each agent, and whether a person has seen it. Stored, so a
 * later daemon neither forgets a finished turn nor reports it again.
 */

import type { StoredFinishedTurn } from "../../ports/agent-store.js";
import type { Clock } from "../../ports/clock.js";
import type { Store } from "../../ports/store.js";

export type FinishedTurn = Pick<StoredFinishedTurn, "atMs" | "text" | "seen">;

export class FinishedTurns {
	readonly #store: Store;
	readonly #clock: Clock;
	readonly #turns = new Map<string, StoredFinishedTurn>();

	constructor(store: Store, clock: Clock) {
		this.#store = store;
		this.#clock = clock;
	}

	recover(): void {
		for (const turn of this.#store.readFinishedTurns()) this.#turns.set(turn.agent, turn);
	}

	/** Null if there is none, or another turn has started since. */
	of(agentId: string): FinishedTurn | null {
		const turn = this.#turns.get(agentId);
		return turn === undefined || turn.isOver ? null : turn;
	}

	/** When its last known turn has ended, in wall time, also if another one has started since. */
	lastAtMs(agentId: string): number | null {
		return this.#turns.get(agentId)?.atMs ?? null;
	}

	/** A turn has ended at this time; known turns are ignored. */
	async finished(
		about: { readonly agent: string; readonly run_id: string },
		turn: Pick<FinishedTurn, "atMs" | "text">,
	): Promise<void> {
		const { agent } = about;
		if (turn.atMs <= (this.#turns.get(agent)?.atMs ?? 0)) return;
		const kept: StoredFinishedTurn = { ...turn, agent, seen: false, isOver: false };
		await this.#store.commit((transaction) => {
			transaction.putFinishedTurn(kept);
			const event = { ...about, type: "agent.turn_finished", data: { text: turn.text } } as const;
			transaction.appendEvent(event, this.#clock.now().wallMs);
		});
		this.#turns.set(agent, kept);
	}

	/** Another turn has started. */
	async started(agentId: string): Promise<void> {
		const turn = this.#turns.get(agentId);
		if (turn === undefined || turn.isOver) return;
		const kept = { ...turn, isOver: true };
		await this.#store.commit((transaction) => transaction.putFinishedTurn(kept));
		this.#turns.set(agentId, kept);
	}

	/** Whether there was something new to see. */
	async markSeen(agentId: string, correlationId: string): Promise<boolean> {
		const turn = this.#turns.get(agentId);
		if (turn === undefined || turn.isOver || turn.seen) return false;
		const kept = { ...turn, seen: true };
		await this.#store.commit((transaction) => {
			transaction.putFinishedTurn(kept);
			transaction.appendEvent(
				{ agent: agentId, correlation_id: correlationId, type: "agent.seen", data: {} },
				this.#clock.now().wallMs,
			);
		});
		this.#turns.set(agentId, kept);
		return true;
	}

	/** An agent was removed. */
	async forget(agentId: string): Promise<void> {
		if (!this.#turns.delete(agentId)) return;
		await this.#store.commit((transaction) => transaction.removeFinishedTurn(agentId));
	}
}

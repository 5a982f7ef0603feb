/**
 * The circuits of all agents. Each change is made in memory at once, so that no two calls see the same
 * state, and written with the change of the task that caused it.
 */

import {
	type Admission,
	admit,
	type BreakerSettings,
	type BreakerState,
	coolDown,
	decideClose,
	NEW_BREAKER,
	type Permit,
	recordCancelled,
	recordResult,
	recoverBreaker,
} from "../../core/breaker.js";
import type { Outcome } from "../../core/outcome.js";
import type { Clock } from "../../ports/clock.js";
import type { NewEvent, StoreTransaction } from "../../ports/store.js";
import type { StoredBreaker } from "../../ports/task-store.js";

/** A change that has been made in memory and is still to be written. */
export interface BreakerWrite {
	write(transaction: StoreTransaction, atMs: number): void;
}

export class Breakers {
	readonly #clock: Clock;
	readonly #settingsOf: (agentId: string) => BreakerSettings;
	readonly #states = new Map<string, BreakerState>();

	constructor(clock: Clock, settingsOf: (agentId: string) => BreakerSettings) {
		this.#clock = clock;
		this.#settingsOf = settingsOf;
	}

	/** Takes up what an earlier daemon left. */
	recover(stored: readonly StoredBreaker[]): void {
		const now = this.#clock.now();
		for (const { agentId, state } of stored) {
			this.#states.set(agentId, recoverBreaker(state, now, this.#settingsOf(agentId)));
		}
	}

	/** As it is at this moment. */
	state(agentId: string): BreakerState {
		return coolDown(this.#states.get(agentId) ?? NEW_BREAKER, this.#clock.now());
	}

	admit(agentId: string): Admission & BreakerWrite {
		const before = this.#states.get(agentId) ?? NEW_BREAKER;
		const admission = admit(before, this.#clock.now());
		return { ...admission, ...this.#become(agentId, before, admission.state, admission.reason) };
	}

	/** Takes a permit back; null for an attempt that was called off. */
	settle(agentId: string, permit: Permit, outcome: Outcome | null): BreakerWrite {
		const before = this.#states.get(agentId) ?? NEW_BREAKER;
		const change =
			outcome === null
				? recordCancelled(before, permit)
				: recordResult(before, permit, outcome, this.#clock.now(), this.#settingsOf(agentId));
		return this.#become(agentId, before, change.state, change.reason);
	}

	/** The operator closes it by hand. */
	close(agentId: string): BreakerWrite {
		const before = this.#states.get(agentId) ?? NEW_BREAKER;
		const { state, reason } = decideClose(before);
		return this.#become(agentId, before, state, reason);
	}

	#become(
		agentId: string,
		before: BreakerState,
		state: BreakerState,
		reason: string,
	): BreakerWrite {
		if (state === before) return { write: () => {} };
		this.#states.set(agentId, state);
		const data = { from: before.circuit, to: state.circuit, reason };
		const event: NewEvent = { type: "circuit.changed", agent: agentId, data };
		return {
			write(transaction, atMs) {
				transaction.putBreaker({ agentId, state });
				if (before.circuit !== state.circuit) transaction.appendEvent(event, atMs);
			},
		};
	}
}

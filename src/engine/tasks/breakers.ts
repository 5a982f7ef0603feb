/**
 * The circuits of all agents. Each change is made in memory immediately, so that no two calls see the
 * same state, and written with the change of the task that caused it. A change inside a commit is
 * undone if the commit is rolled back.
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
	recordAttempt,
	recordCancelled,
	recoverBreaker,
	refusesForMs,
} from "../../core/breaker.js";
import type { Outcome } from "../../core/outcome.js";
import type { RetryDecision } from "../../core/retry.js";
import type { Clock } from "../../ports/clock.js";
import type { NewEvent, StoreTransaction } from "../../ports/store.js";
import type { StoredBreaker } from "../../ports/task-store.js";
import type { Change } from "./book.js";

/** A change that was made in memory and must still be written. */
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

	/** Restores the state of an earlier daemon. */
	recover(stored: readonly StoredBreaker[]): void {
		const now = this.#clock.now();
		for (const { agentId, state } of stored) {
			this.#states.set(agentId, recoverBreaker(state, now, this.#settingsOf(agentId)));
		}
	}

	/** The current state. */
	state(agentId: string): BreakerState {
		return coolDown(this.#states.get(agentId) ?? NEW_BREAKER, this.#clock.now());
	}

	/** How long requests to this agent are refused, in milliseconds; 0 if they are not. */
	refusesForMs(agentId: string): number {
		return refusesForMs(this.state(agentId), this.#clock.now());
	}

	admit(agentId: string, held: Permit | null): Admission & BreakerWrite {
		const before = this.#states.get(agentId) ?? NEW_BREAKER;
		const admission = admit(before, this.#clock.now(), held);
		return { ...admission, ...this.#setState(agentId, before, admission.state, admission.reason) };
	}

	/** Records the outcome of an attempt; null for a cancelled request. */
	settle(
		agentId: string,
		permit: Permit,
		ended: { readonly outcome: Outcome; readonly decision: RetryDecision } | null,
	): BreakerWrite {
		const before = this.#states.get(agentId) ?? NEW_BREAKER;
		const change =
			ended === null
				? recordCancelled(before, permit)
				: recordAttempt(before, permit, ended, this.#clock.now(), this.#settingsOf(agentId));
		return this.#setState(agentId, before, change.state, change.reason);
	}

	/** The same, as part of a commit. */
	settleIn(change: Change, ...settled: Parameters<Breakers["settle"]>): void {
		this.#restoreOnRollback(change, settled[0]);
		this.settle(...settled).write(change.transaction, change.atMs);
	}

	/** The operator closes it. */
	closeIn(change: Change, agentId: string): void {
		const before = this.#states.get(agentId) ?? NEW_BREAKER;
		this.#restoreOnRollback(change, agentId);
		const { state, reason } = decideClose(before);
		this.#setState(agentId, before, state, reason).write(change.transaction, change.atMs);
	}

	#restoreOnRollback({ onRollback }: Change, agentId: string): void {
		const before = this.#states.get(agentId);
		onRollback(() => {
			if (before === undefined) this.#states.delete(agentId);
			else this.#states.set(agentId, before);
		});
	}

	#setState(
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

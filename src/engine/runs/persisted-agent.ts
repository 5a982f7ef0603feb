/**
 * An agent's record: changed only together with the store, and visible only when that is durable. All
 * changes go through its mailbox, so they never overtake each other.
 */

import type { Clock } from "../../ports/clock.js";
import type { NewEvent, Store, StoredExit, StoreTransaction } from "../../ports/store.js";
import { createMailbox } from "../mailbox.js";
import { putAgent } from "./agent-record.js";
import type { Agent } from "./agent-state.js";

export class PersistedAgent {
	readonly #store: Store;
	readonly #clock: Clock;
	readonly #onSaved: () => void;
	readonly #mailbox = createMailbox();
	#agent: Agent;
	/** The last recorded exit of its runs. */
	lastExit: StoredExit | null;

	constructor(
		agent: Agent,
		lastExit: StoredExit | null,
		{ store, clock }: { readonly store: Store; readonly clock: Clock },
		/** A change is durable. */
		onSaved: () => void = () => {},
	) {
		this.#agent = agent;
		this.lastExit = lastExit;
		this.#store = store;
		this.#clock = clock;
		this.#onSaved = onSaved;
	}

	get now(): Agent {
		return this.#agent;
	}

	/** Runs a change of the agent after all earlier ones. */
	serialize<T>(task: () => Promise<T>): Promise<T> {
		return this.#mailbox.run(task);
	}

	/** Makes a change durable together with its events, then visible. */
	async save(
		changes: Partial<Agent>,
		events: readonly NewEvent[] = [],
		also: (transaction: StoreTransaction) => void = () => {},
	): Promise<void> {
		const next = { ...this.#agent, ...changes };
		const atMs = this.#clock.now().wallMs;
		await this.#store.commit((transaction) => {
			putAgent(transaction, next);
			also(transaction);
			for (const event of events) transaction.appendEvent(event, atMs);
		});
		this.#agent = next;
		this.#onSaved();
	}

	/** Shows a reason without storing it. */
	show(reason: string): void {
		this.#agent = { ...this.#agent, reason };
	}
}

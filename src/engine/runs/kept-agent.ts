/** An agent's record: changed only together with the store, and visible only when that is durable. */

import type { Clock } from "../../ports/clock.js";
import type { NewEvent, Store, StoreTransaction } from "../../ports/store.js";
import { putAgent } from "./agent-record.js";
import type { Agent } from "./agent-state.js";

export class KeptAgent {
	readonly #store: Store;
	readonly #clock: Clock;
	#agent: Agent;

	constructor(agent: Agent, { store, clock }: { readonly store: Store; readonly clock: Clock }) {
		this.#agent = agent;
		this.#store = store;
		this.#clock = clock;
	}

	get now(): Agent {
		return this.#agent;
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
	}

	/** Shows a reason without storing it. */
	show(reason: string): void {
		this.#agent = { ...this.#agent, reason };
	}
}

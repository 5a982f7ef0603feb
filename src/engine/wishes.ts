/**
 * Wishes of operators that an agent with `placement` runs, or runs nowhere. A wish is stored before it is accepted and
 * kept until the database of the cluster has it, so it outlives a daemon that dies while the database is away.
 */

import type { Clock } from "../ports/clock.js";
import type { Leases, Wish } from "../ports/leases.js";
import type { Store } from "../ports/store.js";

export interface WishWorld {
	readonly leases: Leases;
	readonly store: Store;
	readonly clock: Clock;
	readonly onError: (agentId: string, error: unknown) => void;
}

export class Wishes {
	readonly #world: WishWorld;
	/** The newest wish about each agent that the database may not have yet. */
	readonly #open = new Map<string, Wish>();

	constructor(world: WishWorld) {
		this.#world = world;
	}

	/** Restores the wishes that an earlier daemon accepted. */
	recover(): void {
		for (const { dueAtMs, payload } of this.#world.store.readEffects("wish")) {
			const wish = { wanted: payload.wanted, atMs: dueAtMs };
			this.#open.set(payload.agent, wish);
			this.#world.leases.setWanted(payload.agent, wish);
		}
	}

	async accept(agent: string, wanted: boolean): Promise<void> {
		const { leases, store, clock } = this.#world;
		const wish = { wanted, atMs: clock.now().wallMs };
		// Before the commit: from now on, no earlier wish removes the stored one.
		this.#open.set(agent, wish);
		await store.commit((transaction) =>
			transaction.putEffect({
				...{ key: keyOf(agent), type: "wish", dueAtMs: wish.atMs },
				payload: { agent, wanted },
			}),
		);
		leases.setWanted(agent, wish);
	}

	/** The database has it. */
	announced(agent: string, wish: Wish): void {
		if (this.#open.get(agent) === wish) this.forget(agent);
	}

	forget(agent: string): void {
		if (!this.#open.delete(agent)) return;
		const { store, onError } = this.#world;
		store
			.commit((transaction) => transaction.removeEffect(keyOf(agent)))
			.catch((error: unknown) => onError(agent, error));
	}
}

const keyOf = (agent: string) => `wish:${agent}`;

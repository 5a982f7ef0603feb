/** When people last typed at agents' terminals, as far as they type through this daemon. */

import type { Clock } from "../../ports/clock.js";

export class Typing {
	readonly #clock: Clock;
	readonly #last = new Map<string, { readonly count: number; readonly atMs: number }>();

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	note(agentId: string): void {
		const count = this.count(agentId) + 1;
		this.#last.set(agentId, { count, atMs: this.#clock.now().steadyMs });
	}

	/** Grows with everything that is typed. */
	count(agentId: string): number {
		return this.#last.get(agentId)?.count ?? 0;
	}

	/** How long ago something was last typed; infinite if never. */
	quietForMs(agentId: string): number {
		const last = this.#last.get(agentId);
		return last === undefined ? Number.POSITIVE_INFINITY : this.#clock.now().steadyMs - last.atMs;
	}
}

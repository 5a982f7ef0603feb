/** The terminals that are attached to agents through this daemon. */

export class Viewers {
	readonly #attached = new Map<string, Set<symbol>>();

	/** How many are attached. */
	count(agentId: string): number {
		return this.#attached.get(agentId)?.size ?? 0;
	}

	/** Counts one from now on, until the answer is called. */
	add(agentId: string): () => void {
		const viewer = Symbol(agentId);
		const all = this.#attached.get(agentId) ?? new Set();
		this.#attached.set(agentId, all.add(viewer));
		return () => void this.#attached.get(agentId)?.delete(viewer);
	}

	/** A new process has none. */
	forget(agentId: string): void {
		this.#attached.delete(agentId);
	}
}

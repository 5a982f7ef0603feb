/**
 * Copies the events of shared tasks that this host caused to its own log, each exactly once: the number of the last one
 * is stored in the commit that appends them. Those of a daemon that died before that follow when it has returned.
 */

import type { SharedEvent } from "../../ports/shared-tasks.js";
import type { Store } from "../../ports/store.js";

const READER = "cluster_tasks";

export class EventRelay {
	readonly #store: Pick<Store, "commit" | "readCursor">;
	readonly #onError: (error: unknown) => void;
	#writing: Promise<void> = Promise.resolve();

	constructor(store: Pick<Store, "commit" | "readCursor">, onError: (error: unknown) => void) {
		this.#store = store;
		this.#onError = onError;
	}

	/** Appends events in the order of their numbers; those that are already in the log are left out. */
	append(events: readonly SharedEvent[]): Promise<void> {
		if (events.length === 0) return this.#writing;
		this.#writing = this.#writing.then(() => this.#write(events)).catch(this.#onError);
		return this.#writing;
	}

	/** The events that an earlier daemon did not copy. */
	async catchUp(
		read: (afterSeq: number) => Promise<readonly SharedEvent[]>,
		signal: AbortSignal,
	): Promise<void> {
		while (!signal.aborted) {
			const events = await read(this.#last());
			if (events.length === 0) return;
			const before = this.#last();
			await this.append(events);
			// It could not be written; the next events try again.
			if (this.#last() === before) return;
		}
	}

	#last(): number {
		return this.#store.readCursor(READER) ?? 0;
	}

	async #write(events: readonly SharedEvent[]): Promise<void> {
		const last = this.#last();
		const missing = events.filter(({ seq }) => seq > last);
		const newest = missing.at(-1);
		if (newest === undefined) return;
		await this.#store.commit((transaction) => {
			for (const { event, atMs } of missing) transaction.appendEvent(event, atMs);
			transaction.putCursor(READER, newest.seq);
		});
	}
}

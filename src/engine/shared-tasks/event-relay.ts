/**
 * Copies the events of shared tasks that this host caused to its own log, each exactly once: the number of the last one
 * is stored in the commit that appends them. Those that could not be copied, because the daemon died or its store
 * failed, are read from the shared database before any later one.
 */

import type { SharedEvent } from "../../ports/shared-tasks.js";
import type { Store } from "../../ports/store.js";

const READER = "cluster_tasks";

/** Reads the events of this host after a number, in order. */
type Source = (afterSeq: number) => Promise<readonly SharedEvent[]>;

export class EventRelay {
	readonly #store: Pick<Store, "commit" | "readCursor">;
	readonly #onError: (error: unknown) => void;
	#source: Source = async () => [];
	#isBehind = true;
	#writing: Promise<void> = Promise.resolve();

	constructor(store: Pick<Store, "commit" | "readCursor">, onError: (error: unknown) => void) {
		this.#store = store;
		this.#onError = onError;
	}

	/** The host is a member again, and may have missed events. */
	follow(source: Source): Promise<void> {
		this.#source = source;
		this.#isBehind = true;
		return this.append([]);
	}

	/** Appends events in the order of their numbers. */
	append(events: readonly SharedEvent[]): Promise<void> {
		this.#writing = this.#writing
			.then(() => (this.#isBehind ? this.#catchUp() : this.#write(events)))
			.catch((error: unknown) => {
				this.#isBehind = true;
				this.#onError(error);
			});
		return this.#writing;
	}

	async #catchUp(): Promise<void> {
		for (;;) {
			const missed = await this.#source(this.#last());
			if (missed.length === 0) break;
			await this.#write(missed);
		}
		this.#isBehind = false;
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

	#last(): number {
		return this.#store.readCursor(READER) ?? 0;
	}
}

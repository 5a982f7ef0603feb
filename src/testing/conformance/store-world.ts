/** The interface of the store suites to a store, and what their tests share. */

import assert from "node:assert/strict";
import type { Store, StoreTransaction } from "../../ports/store.js";
import { eventWith } from "./store-records.js";

/** The interface of the suite to a store. */
export interface StoreWorld {
	/** Opens the store, which is empty at first. Opened again after `close`, it has the same contents. */
	open(): Promise<Store>;
	/** Closes the stores of this world and removes their data. */
	close(): Promise<void>;
}

export type StoreTests = Readonly<Record<string, (world: StoreWorld) => Promise<void>>>;

export const append = (number: number) => (transaction: StoreTransaction) =>
	transaction.appendEvent(eventWith(number), number);

export const range = (count: number) => Array.from({ length: count }, (_, index) => index);

/** Closes the store and opens it again. */
export async function reopen(world: StoreWorld, store: Store): Promise<Store> {
	await store.close();
	return world.open();
}

/** The numbers of the events that `eventWith` created, in the order of the sequence. */
export function numbersIn(store: Store): number[] {
	const events = store.readEvents({ afterSeq: 0, limit: 1_000_000 });
	assert.deepEqual(
		events.map(({ seq }) => seq),
		events.map((_, index) => index + 1),
	);
	assert.equal(store.lastSeq(), events.length);
	return events.map((event) => (event.type === "agent.started" ? (event.data.pid ?? -1) : -1));
}

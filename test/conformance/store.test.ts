/** The conformance suite of stores, over each SQLite that this Node can load and over the store in memory. */

import { describe, expect, test } from "vitest";
import type { Store, StoreTransaction } from "../../src/ports/store.js";
import { openStore } from "../../src/store/sqlite/open-store.js";
import { type StoreWorld, storeConformance } from "../../src/testing/index.js";
import { DRIVERS, newPath } from "../store/support.js";
import { createMemoryStore } from "../support/memory-store.js";

describe.each(DRIVERS)("the store in %s", (driver) => {
	async function createWorld(): Promise<StoreWorld> {
		const path = newPath();
		const opened: { close(): Promise<void> }[] = [];
		return {
			async open() {
				const result = await openStore(path, { driver });
				if (!result.ok) throw new Error(result.reason);
				opened.push(result.store);
				return result.store;
			},
			async close() {
				for (const store of opened) await store.close();
			},
		};
	}
	for (const { name, run } of storeConformance(createWorld)) test(name, run);
});

describe("the store in memory", () => {
	async function createWorld(): Promise<StoreWorld> {
		const store = createMemoryStore();
		return { open: async () => store, close: () => store.close() };
	}
	for (const { name, run } of storeConformance(createWorld)) test(name, run);
});

type Break = (store: Store) => Partial<Store>;
const withWrites = (
	store: Store,
	change: (writes: StoreTransaction) => Partial<StoreTransaction>,
) =>
	({
		commit: (act, request) =>
			store.commit((writes) => act({ ...writes, ...change(writes) }), request),
	}) satisfies Partial<Store>;

test.each<[bug: string, found: string, broken: Break]>([
	[
		"forgets to remove an agent",
		"by file and position",
		(store) => withWrites(store, () => ({ removeAgent: () => {} })),
	],
	[
		"ignores the agent of a query",
		"by position and agent",
		(store) => ({ readEvents: ({ agent: _, ...query }) => store.readEvents(query) }),
	],
	[
		"does not undo",
		"undoes a change",
		(store) => withWrites(store, () => ({ onRollback: () => {} })),
	],
	[
		"returns exits in the wrong order",
		"newest first",
		(store) => ({ readExits: (...query) => store.readExits(...query).toReversed() }),
	],
	[
		"repeats an event",
		"in order",
		(store) =>
			withWrites(store, (writes) => ({
				appendEvent: (event, atMs) => {
					writes.appendEvent(event, atMs);
					if (atMs === 500) writes.appendEvent(event, atMs);
				},
			})),
	],
])("the suite finds a store that %s", async (_, found, broken) => {
	const createWorld = async () => {
		const store = createMemoryStore();
		return { open: async () => ({ ...store, ...broken(store) }), close: () => store.close() };
	};
	const failed: string[] = [];
	for (const { name, run } of storeConformance(createWorld)) {
		await run().catch(() => failed.push(name));
	}
	expect(failed.join("\n")).toContain(found);
});

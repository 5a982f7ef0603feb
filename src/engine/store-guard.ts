/**
 * Requests while nothing can be stored. Those that need the store are refused at once, with the reason, and nothing is
 * done. A request that was under way when the obstacle appeared is answered by the store after a moment: refused, or
 * begun and not finished.
 */

import { ReeveError } from "../core/errors.js";
import type { Store, StoreRequest } from "../ports/store.js";

export async function storing<T>(store: Store, act: () => T | Promise<T>): Promise<T> {
	refuseUnstored(store);
	return store.accept(act);
}

/** The same for an act that passes the request to its commits. */
export async function storingPassed<T>(
	store: Store,
	act: (request: StoreRequest) => T | Promise<T>,
): Promise<T> {
	refuseUnstored(store);
	return store.acceptPassing(act);
}

function refuseUnstored(store: Store): void {
	const health = store.health();
	if (health.ok) return;
	const message = `cannot write to the database: ${health.reason}. Nothing was done`;
	throw new ReeveError("store_unavailable", message);
}

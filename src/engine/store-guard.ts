/**
 * Requests while nothing can be stored. Those that need the store are refused immediately, with the reason, and without
 * any effect. The store responds to requests that were in progress when the obstacle appeared: rejected, or started and
 * not finished.
 */

import { ReeveError } from "../core/errors.js";
import type { Store, StoreRequest } from "../ports/store.js";

export async function acceptWhileWritable<T>(store: Store, act: () => T | Promise<T>): Promise<T> {
	refuseUnstored(store);
	return store.accept(act);
}

/** The same for an action that passes the request to its commits. */
export async function acceptWithRequest<T>(
	store: Store,
	act: (request: StoreRequest) => T | Promise<T>,
): Promise<T> {
	refuseUnstored(store);
	return store.acceptWithRequest(act);
}

function refuseUnstored(store: Store): void {
	const health = store.health();
	if (health.ok) return;
	const message = `cannot write to the database: ${health.reason}. Nothing was done`;
	throw new ReeveError("store_unavailable", message);
}

/**
 * Requests while nothing can be stored. The contract states which routes need the store; they are refused
 * at once, with the reason, and nothing is done. A request that was under way when the obstacle appeared
 * is answered by the store after a moment: refused, or begun and not finished.
 */

import { ReeveError } from "../core/errors.js";
import type { Store, StoreRequest } from "../ports/store.js";
import type { RouteSpec } from "./contract/route.js";

export async function guardStore<T>(
	{ stores }: Pick<RouteSpec, "stores">,
	store: Store,
	act: () => T | Promise<T>,
): Promise<T> {
	return stores === "always" ? storing(store, act) : act();
}

/** For the part of a request that needs the store, where the route does other things too. */
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

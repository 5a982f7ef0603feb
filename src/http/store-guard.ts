/**
 * What is to be remembered is refused while nothing can be stored, at once and with the reason, instead
 * of leaving whoever asked to wait for a disk. A request that was under way when that began is answered
 * after a moment: it waits, and is done when it can be.
 */

import { ReeveError } from "../core/errors.js";
import type { Store } from "../ports/store.js";

/** Obstacles shorter than this are worth waiting for: another program may have a look at the database. */
const PATIENCE_MS = 3_000;
const LOOK_MS = 100;

/** These need nothing to be stored, or must work whatever happens. */
const WITHOUT_STORE: ReadonlySet<string> = new Set([
	"POST /api/v1/agents/:id/send",
	"POST /api/v1/daemon/stop",
	"POST /api/v1/daemon/reload",
	"POST /api/v1/tokens",
	"POST /api/v1/tokens/rotate",
	"POST /api/v1/tokens/:id/revoke",
	"POST /api/v1/login-links",
	"POST /api/v1/logout",
]);

type Handler = (...asked: never[]) => unknown;

/** The same handlers, those that change something behind the guard. */
export function guardStore<Handlers extends Readonly<Record<string, Handler>>>(
	handlers: Handlers,
	store: Store,
): Handlers {
	const guarded = Object.entries(handlers).map(([name, handler]) => {
		const isGuarded = !name.startsWith("GET ") && !WITHOUT_STORE.has(name);
		return [name, isGuarded ? guard(handler, store) : handler];
	});
	return Object.fromEntries(guarded) as Handlers;
}

function guard(handler: Handler, store: Store): Handler {
	return async (...asked) => {
		const before = store.health();
		if (!before.ok) throw refusal(`${before.reason}. Nothing was done`);
		const over = new AbortController();
		try {
			return await Promise.race([handler(...asked), overdue(store, over.signal)]);
		} finally {
			over.abort();
		}
	};
}

/** Rejects once nothing could be stored for too long. */
function overdue(store: Store, over: AbortSignal): Promise<never> {
	return new Promise((_, reject) => {
		let sinceMs: number | null = null;
		const timer = setInterval(() => {
			const health = store.health();
			if (health.ok) sinceMs = null;
			else {
				sinceMs ??= performance.now();
				if (performance.now() - sinceMs < PATIENCE_MS) return;
				clearInterval(timer);
				reject(
					refusal(`${health.reason}. What was asked waits, and is done when it can be stored`),
				);
			}
		}, LOOK_MS);
		over.addEventListener("abort", () => clearInterval(timer));
	});
}

const refusal = (reason: string) =>
	new ReeveError("store_unavailable", `nothing can be stored: ${reason}`);

/** Who did what: an event for everything that an operator or a program had the daemon do. */

import type { NewEvent } from "../ports/store.js";
import type { Caller } from "./auth/gate.js";
import type { Route } from "./router.js";

export interface Act {
	readonly route: Route;
	readonly params: Readonly<Record<string, string>>;
	readonly caller: Caller;
	readonly correlationId: string;
	/** The code of the error that it came to; null when it was done. */
	readonly error: string | null;
}

/** Looking is not acting, and what has events of its own needs none here. */
export function isAct({ method, spec }: Route): boolean {
	return method !== "GET" && spec.quiet !== true;
}

export function renderAct({ route, params, caller, correlationId, error }: Act): NewEvent {
	const [target = null] = Object.values(params);
	const isAgent = route.path.startsWith("/api/v1/agents/") && target?.includes(":");
	return {
		type: "operator.acted",
		...(isAgent && { agent: target ?? "" }),
		correlation_id: correlationId,
		data: { route: route.name, target, error, ...actorOf(caller) },
	};
}

function actorOf(caller: Caller): { by: "owner" | "token" | "session"; who: string } {
	if (caller.type === "owner") return { by: "owner", who: `uid ${caller.uid}` };
	if (caller.type === "nobody") return { by: "token", who: "nobody" };
	return { by: caller.type, who: `token ${caller.token.id}` };
}

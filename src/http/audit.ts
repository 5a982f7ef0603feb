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
		data: { route: route.name, target, error, by: byOf(caller), who: whoOf(caller) },
	};
}

const byOf = ({ type }: Caller) => (type === "nobody" ? "token" : type);

/** Never the token itself (A5). */
export function whoOf(caller: Caller): string {
	if (caller.type === "owner") return `uid ${caller.uid}`;
	return caller.type === "nobody" ? "nobody" : `token ${caller.token.id}`;
}

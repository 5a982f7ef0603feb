/** The audit log: an event for every action of an operator or a program. */

import { ReeveError } from "../core/errors.js";
import type { NewEvent } from "../ports/store.js";
import type { Caller } from "./auth/gate.js";
import type { Route } from "./router.js";

export interface Act {
	readonly route: Route;
	readonly params: Readonly<Record<string, string>>;
	readonly caller: Caller;
	readonly correlationId: string;
	/** The error code; null on success. */
	readonly error: string | null;
}

/** Reads are not actions, and routes with their own events need none here. */
export function isAction({ method, spec }: Route): boolean {
	return method !== "GET" && spec.quiet !== true;
}

export function renderAct({ route, params, caller, correlationId, error }: Act): NewEvent {
	const [target = null] = Object.values(params);
	const isAgent = route.path.startsWith("/api/v1/agents/") && target?.includes(":");
	return {
		type: "operator.acted",
		...(isAgent && { agent: target ?? "" }),
		correlation_id: correlationId,
		data: { route: route.name, target, error, by: actorTypeOf(caller), who: actorIdOf(caller) },
	};
}

export const actorTypeOf = ({ type }: Caller) => (type === "anonymous" ? "token" : type);

/** Never the token itself (A5). */
export function actorIdOf(caller: Caller): string {
	if (caller.type === "owner") return `uid ${caller.uid}`;
	return caller.type === "anonymous" ? "anonymous" : `token ${caller.token.id}`;
}

/** Runs the action and records its result; `failureOf` finds an error that was not thrown. */
export async function noted<T>(
	act: () => T,
	note: (error: string | null) => void,
	failureOf: (result: Awaited<T>) => string | null = () => null,
): Promise<Awaited<T>> {
	try {
		const result = await act();
		note(failureOf(result));
		return result;
	} catch (error) {
		note(error instanceof ReeveError ? error.code : "internal");
		throw error;
	}
}

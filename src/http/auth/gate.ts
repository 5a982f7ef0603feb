/**
 * The one place where a request is let in or not, for plain requests and WebSockets alike (A4). It
 * looks at how the request came, at its Host and Origin, at what it holds, and at what the route needs.
 */

import type { IncomingMessage } from "node:http";
import { decideAccess, type Holds, limitOf, type RouteNeed, seesAgent } from "../../core/access.js";
import { ReeveError } from "../../core/errors.js";
import type { RouteSpec } from "../contract/route.js";
import type { FailureLimit } from "./failure-limit.js";
import { checkHost, checkOrigin, type Via } from "./places.js";
import type { TokenInfo, Tokens } from "./tokens.js";

/** Who asks, for handlers and for the record. */
export type Caller =
	| { readonly type: "owner"; readonly uid: number }
	| { readonly type: "token" | "session"; readonly token: TokenInfo }
	| { readonly type: "nobody" };

const NOBODY: Caller = { type: "nobody" };

export interface Gate {
	/** Who asks; throws when they may not. */
	admit(
		request: IncomingMessage,
		via: Via,
		route: RouteSpec,
		params: Readonly<Record<string, string>>,
	): Caller;
	/**
	 * The second half of `admit`, once the whole request has arrived, which may take a while: throws when
	 * the credential is no longer valid, or when an agent that the path does not name is outside of what
	 * the caller's token is limited to. Null stands for agents that are not known.
	 */
	confine(caller: Caller, route: RouteSpec, subjects: () => readonly string[] | null): void;
	/** Throws when the caller's token or session has become invalid since it was let in (A8). */
	recheck(caller: Caller): void;
	/** Aborts when the caller's token or session becomes invalid; null for one that cannot (A8). */
	untilInvalid(caller: Caller): AbortSignal | null;
	/** A login that failed: throws, as for any other failure. */
	refuse(request: IncomingMessage, reason: string): never;
}

/** Somebody who was not let in. */
export interface Refusal {
	readonly from: string;
	readonly reason: string;
	readonly failures: number;
}

export function createGate(
	tokens: Tokens,
	limit: FailureLimit,
	uid: number,
	onRefusal: (refusal: Refusal) => void,
): Gate {
	function refuse(request: IncomingMessage, reason: string): never {
		// Who comes by the socket has no address.
		const from = request.socket.remoteAddress ?? "socket";
		const { failures, waitMs, isNews } = limit.failed(from);
		if (isNews) onRefusal({ from, reason, failures });
		if (waitMs === null) throw new ReeveError("unauthorized", reason);
		const seconds = Math.ceil(waitMs / 1_000);
		throw new ReeveError("rate_limited", "too many failed logins", undefined, {
			retry_after_s: seconds,
		});
	}

	function identify(request: IncomingMessage, via: Via): Caller {
		const { authorization } = request.headers;
		// Over the socket a token can only take rights away: whoever acts for an agent shows the agent's.
		if (via.type === "socket" && authorization === undefined) return { type: "owner", uid };
		if (authorization !== undefined) {
			const [, sent = ""] = /^Bearer ([\w-]{1,200})$/i.exec(authorization) ?? [];
			const token = tokens.find(sent, "token");
			if (token === null) refuse(request, "the token is invalid or expired");
			return { type: "token", token };
		}
		const sent = via.type === "socket" ? null : readCookie(request, via.cookie);
		if (sent === null) return NOBODY;
		const token = tokens.find(sent, "session");
		return token === null ? NOBODY : { type: "session", token };
	}

	function recheck(caller: Caller): void {
		if ("token" in caller && !tokens.isValid(caller.token.id)) throw noLongerValid(caller.type);
	}

	return {
		refuse,
		recheck,
		confine(caller, route, subjects) {
			recheck(caller);
			if (route.limited !== "subjects") return;
			const holds = holdsOf(caller);
			const within = limitOf(holds);
			if (within === null) return;
			if (subjects()?.every((agent) => seesAgent(holds, agent))) return;
			throw new ReeveError("forbidden", `this token is limited to ${within}`);
		},
		untilInvalid: (caller) => ("token" in caller ? tokens.untilInvalid(caller.token.id) : null),
		admit(request, via, route, params) {
			checkHost(request, via);
			const caller = route.access === "public" ? NOBODY : identify(request, via);
			checkOrigin(request, via, caller.type === "session");
			const need: RouteNeed = {
				access: route.access,
				agents: route.agents ?? "none",
				about: params["id"] ?? params["scope"] ?? null,
				limited: route.limited,
			};
			const decision = decideAccess(need, holdsOf(caller));
			if (decision.allowed) return caller;
			if (decision.why === "unauthorized") refuse(request, decision.reason);
			throw new ReeveError("forbidden", decision.reason);
		},
	};
}

/** What a caller hears whose credential became invalid during a request. */
function noLongerValid(type: "token" | "session"): ReeveError {
	const what = type === "token" ? "token" : "login";
	return new ReeveError("unauthorized", `the ${what} is no longer valid`);
}

/** Whether a caller may act, besides looking. */
export function mayAct(caller: Caller): boolean {
	const need = { access: "operate", agents: "none", about: null, limited: "free" } as const;
	return decideAccess(need, holdsOf(caller)).allowed;
}

/** What a caller sees: null for everything, otherwise the project or agent that it is limited to. */
export function sightOf(caller: Caller): Sight | null {
	const holds = holdsOf(caller);
	const within = limitOf(holds);
	return within === null ? null : { within, sees: (agent) => seesAgent(holds, agent) };
}

/** The limit of a token, for handlers that filter what they answer. */
export interface Sight {
	readonly within: string;
	readonly sees: (agent: string | undefined) => boolean;
}

function holdsOf(caller: Caller): Holds {
	if (caller.type === "owner") return { type: "owner" };
	if (caller.type === "nobody") return { type: "nothing" };
	return { type: "scope", scope: caller.token.scope };
}

function readCookie({ headers }: IncomingMessage, name: string): string | null {
	for (const part of (headers.cookie ?? "").split(";")) {
		const [key, value] = part.trim().split("=", 2);
		if (key === name && value) return value;
	}
	return null;
}

/**
 * The single access check, for plain requests and WebSockets alike (A4). It checks how the request
 * arrived, its Host and Origin, its credentials, and the requirement of the route.
 */

import type { IncomingMessage } from "node:http";
import {
	canSeeAgent,
	decideAccess,
	type Holds,
	limitOf,
	type RouteNeed,
} from "../../core/access.js";
import { ReeveError } from "../../core/errors.js";
import type { RouteSpec } from "../contract/route.js";
import type { FailureLimit } from "./failure-limit.js";
import { checkHost, checkOrigin, isNavigation, type Via } from "./places.js";
import type { TokenInfo, Tokens } from "./tokens.js";

/** The caller, for handlers and for the audit log. */
export type Caller =
	| { readonly type: "owner"; readonly uid: number }
	| { readonly type: "token" | "session"; readonly token: TokenInfo }
	| { readonly type: "anonymous" };

const NOBODY: Caller = { type: "anonymous" };

export interface Gate {
	/** Returns the caller; throws if access is denied. */
	admit(
		request: IncomingMessage,
		via: Via,
		route: RouteSpec,
		params: Readonly<Record<string, string>>,
	): Caller;
	/**
	 * The second half of `admit`, after the whole request has arrived, which may take a while: throws if
	 * the credential is no longer valid, or if an agent that the path does not name is outside of the
	 * limits of the caller's token. Null represents unknown agents.
	 */
	confine(
		caller: Caller,
		route: RouteSpec,
		subjects: () => readonly string[] | Promise<readonly string[]> | null,
	): Promise<void>;
	/** Throws if the caller's token or session has become invalid since it was admitted (A8). */
	recheck(caller: Caller): void;
	/** Aborts when the caller's token or session becomes invalid; null for a caller without one (A8). */
	untilInvalid(caller: Caller): AbortSignal | null;
	/** A failed login: throws, as for any other failure. */
	refuse(request: IncomingMessage, reason: string): never;
}

/** A rejected request. */
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
		// Clients of the socket have no address.
		const from = request.socket.remoteAddress ?? "socket";
		const { failures, waitMs, isNew } = limit.failed(from);
		if (isNew) onRefusal({ from, reason, failures });
		if (waitMs === null) throw new ReeveError("unauthorized", reason);
		const seconds = Math.ceil(waitMs / 1_000);
		throw new ReeveError("rate_limited", "too many failed logins", undefined, {
			retry_after_s: seconds,
		});
	}

	function identify(request: IncomingMessage, via: Via): Caller {
		const { authorization } = request.headers;
		// On the socket a token can only restrict access: a program that acts for an agent sends the
		// agent's token.
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
		async confine(caller, route, subjects) {
			recheck(caller);
			if (route.limited !== "subjects") return;
			const holds = holdsOf(caller);
			const within = limitOf(holds);
			if (within === null) return;
			if ((await subjects())?.every((agent) => canSeeAgent(holds, agent))) return;
			throw new ReeveError("forbidden", `this token is limited to ${within}`);
		},
		untilInvalid: (caller) => ("token" in caller ? tokens.untilInvalid(caller.token.id) : null),
		admit(request, via, route, params) {
			checkHost(request, via);
			const caller = route.access === "public" ? NOBODY : identify(request, via);
			if (route.opened !== true || !isNavigation(request)) {
				checkOrigin(request, via, caller.type === "session");
			}
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

/** The error for a caller whose credential became invalid during a request. */
function noLongerValid(type: "token" | "session"): ReeveError {
	const what = type === "token" ? "token" : "login";
	return new ReeveError("unauthorized", `the ${what} is no longer valid`);
}

/** Whether a caller may make changes. */
export function mayAct(caller: Caller): boolean {
	const need = { access: "operate", agents: "none", about: null, limited: "free" } as const;
	return decideAccess(need, holdsOf(caller)).allowed;
}

/**
 * The limit of a caller's view: null for everything, otherwise the project or agent that it is limited
 * to.
 */
export function visibilityOf(caller: Caller): Visibility | null {
	const holds = holdsOf(caller);
	const within = limitOf(holds);
	return within === null ? null : { within, sees: (agent) => canSeeAgent(holds, agent) };
}

/** The limit of a token, for handlers that filter their responses. */
export interface Visibility {
	readonly within: string;
	readonly sees: (agent: string | undefined) => boolean;
}

function holdsOf(caller: Caller): Holds {
	if (caller.type === "owner") return { type: "owner" };
	if (caller.type === "anonymous") return { type: "nothing" };
	return { type: "scope", scope: caller.token.scope };
}

function readCookie({ headers }: IncomingMessage, name: string): string | null {
	for (const part of (headers.cookie ?? "").split(";")) {
		const [key, value] = part.trim().split("=", 2);
		if (key === name && value) return value;
	}
	return null;
}

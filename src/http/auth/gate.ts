/**
 * The one place where a request is let in or not, for plain requests and WebSockets alike (A4). It
 * looks at how the request came, at its Host and Origin, at what it holds, and at what the route needs.
 */

import type { IncomingMessage } from "node:http";
import { decideAccess, type Holds, type RouteNeed } from "../../core/access.js";
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
		throw new ReeveError("rate_limited", "too many logins have failed", undefined, {
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
			if (token === null) refuse(request, "the token is not valid, or no longer");
			return { type: "token", token };
		}
		const sent = via.type === "socket" ? null : readCookie(request, via.cookie);
		if (sent === null) return NOBODY;
		const token = tokens.find(sent, "session");
		return token === null ? NOBODY : { type: "session", token };
	}

	return {
		refuse,
		admit(request, via, route, params) {
			checkHost(request, via);
			const caller = route.access === "public" ? NOBODY : identify(request, via);
			checkOrigin(request, via, caller.type === "session");
			const need: RouteNeed = {
				...{ access: route.access, agents: route.agents ?? "none" },
				about: params["id"] ?? null,
			};
			const decision = decideAccess(need, holdsOf(caller));
			if (decision.allowed) return caller;
			if (decision.why === "unauthorized") refuse(request, decision.reason);
			throw new ReeveError("forbidden", decision.reason);
		},
	};
}

/** Whether a caller may act, besides looking. */
export function mayAct(caller: Caller): boolean {
	return decideAccess({ access: "operate", agents: "none", about: null }, holdsOf(caller)).allowed;
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

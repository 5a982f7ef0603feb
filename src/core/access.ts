/**
 * Who may ask what. A route says what it needs, a caller what it holds; this decides, and says why
 * not. Everything that is not let in by a line here is kept out (A4).
 */

/**
 * What a route needs: nothing; somebody who may look; somebody who may act; the owner of the daemon,
 * who is known by its socket alone.
 */
export const ACCESS = ["public", "read", "operate", "owner"] as const;
export type Access = (typeof ACCESS)[number];

/** What a token allows: `read`, `operate`, or an agent's own affairs. */
export type TokenScope =
	| { readonly type: "read" }
	| { readonly type: "operate" }
	| { readonly type: "agent"; readonly agent: string };

export interface RouteNeed {
	readonly access: Access;
	/** Whether agents may ask it too: not at all, about themselves, or about any. */
	readonly agents: "none" | "itself" | "any";
	/** The agent that the request is about, if it is about one. */
	readonly about: string | null;
}

/** What a caller holds: the socket, a scope, or nothing. */
export type Holds =
	| { readonly type: "owner" }
	| { readonly type: "scope"; readonly scope: TokenScope }
	| { readonly type: "nothing" };

export type AccessDecision =
	| { readonly allowed: true }
	| {
			readonly allowed: false;
			readonly why: "unauthorized" | "forbidden";
			readonly reason: string;
	  };

const ALLOWED: AccessDecision = { allowed: true };

export function decideAccess(need: RouteNeed, holds: Holds): AccessDecision {
	if (need.access === "public" || holds.type === "owner") return ALLOWED;
	if (holds.type === "nothing") {
		return { allowed: false, why: "unauthorized", reason: "this needs a token" };
	}
	const { scope } = holds;
	if (scope.type === "agent") {
		if (need.agents === "any") return ALLOWED;
		if (need.agents === "itself" && need.about === scope.agent) return ALLOWED;
		return forbid(`a token of ${scope.agent} is for its own affairs only`);
	}
	if (need.access === "owner") return forbid("this can be done over the daemon's socket only");
	if (need.access === "read" || scope.type === "operate") return ALLOWED;
	return forbid("a token that may read may not act");
}

function forbid(reason: string): AccessDecision {
	return { allowed: false, why: "forbidden", reason };
}

const AGENT_SCOPE = /^agent:([a-z0-9][a-z0-9_-]{0,62}:[a-z0-9][a-z0-9_-]{0,62})$/;

/** `read`, `operate` or `agent:web:coder`; null when it is none of them. */
export function parseTokenScope(text: string): TokenScope | null {
	if (text === "read" || text === "operate") return { type: text };
	const agent = AGENT_SCOPE.exec(text)?.[1];
	return agent === undefined ? null : { type: "agent", agent };
}

export function renderTokenScope(scope: TokenScope): string {
	return scope.type === "agent" ? `agent:${scope.agent}` : scope.type;
}

/**
 * Access decisions. A route declares what it requires, a caller what it has; this module decides and
 * gives the reason for a refusal. Access that no line here grants is refused (A4).
 */

/**
 * The access that a route requires: none, read, write, or the owner of the daemon, who is identified
 * only by its socket.
 */
export const ACCESS = ["public", "read", "operate", "owner"] as const;
export type Access = (typeof ACCESS)[number];

/**
 * The access that a token grants: read or write, everywhere or within one project or agent; or the
 * requests of an agent about itself.
 */
export type TokenScope =
	| {
			readonly type: "read" | "operate";
			/** A project, or an agent as `project:agent`; everything if omitted. */
			readonly within?: string;
	  }
	| { readonly type: "agent"; readonly agent: string };

/**
 * How a route enforces a token that is limited to a project or an agent: the path names the agent or
 * scope; the agents of the body or of the named object are checked once they are known; the response is
 * filtered; or the route concerns no agent.
 */
export type LimitedAccess = "path" | "subjects" | "filtered" | "free";

export interface RouteNeed {
	readonly access: Access;
	/** Whether agents may use it: not at all, about themselves, or about any agent. */
	readonly agents: "none" | "itself" | "any";
	/** The agent or scope that the path names, if it names one. */
	readonly about: string | null;
	/** If omitted, the route refuses limited tokens. */
	readonly limited?: LimitedAccess | undefined;
}

/** The credentials of a caller: the socket, a scope, or none. */
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
		return { allowed: false, why: "unauthorized", reason: "this request needs an API token" };
	}
	const { scope } = holds;
	if (scope.type === "agent") {
		if (need.agents === "any") return ALLOWED;
		if (need.agents === "itself" && need.about === scope.agent) return ALLOWED;
		return forbid(`the token of ${scope.agent} is limited to requests about that agent`);
	}
	if (need.access === "owner")
		return forbid("this request is only accepted on the daemon's socket");
	if (need.access === "operate" && scope.type === "read") {
		return forbid("a token with the scope `read` cannot make changes");
	}
	if (scope.within === undefined || mayAskLimited(need, scope.within)) return ALLOWED;
	return forbid(`this token is limited to ${scope.within}`);
}

function mayAskLimited({ limited, about }: RouteNeed, within: string): boolean {
	if (limited === undefined) return false;
	return limited !== "path" || (about !== null && isInside(about, within));
}

/** Whether a token may see this agent. Objects without an agent are visible to tokens without a limit only. */
export function canSeeAgent(holds: Holds, agent: string | undefined): boolean {
	const within = limitOf(holds);
	return within === null || (agent !== undefined && isInside(agent, within));
}

/** The project or agent that a caller is limited to; null without a limit. */
export function limitOf(holds: Holds): string | null {
	if (holds.type !== "scope" || holds.scope.type === "agent") return null;
	return holds.scope.within ?? null;
}

function isInside(scope: string, within: string): boolean {
	return scope === within || scope.startsWith(`${within}:`);
}

function forbid(reason: string): AccessDecision {
	return { allowed: false, why: "forbidden", reason };
}

const NAME = "[a-z0-9][a-z0-9_-]{0,62}";
const AGENT_SCOPE = new RegExp(`^agent:(${NAME}:${NAME})$`);
const ACTING_SCOPE = new RegExp(`^(read|operate)(?::(${NAME}(?::${NAME})?))?$`);

/** `read`, `operate:web`, `operate:web:coder` or `agent:web:coder`; null for any other text. */
export function parseTokenScope(text: string): TokenScope | null {
	const [, type, within] = ACTING_SCOPE.exec(text) ?? [];
	if (type === "read" || type === "operate") return { type, ...(within && { within }) };
	const agent = AGENT_SCOPE.exec(text)?.[1];
	return agent === undefined ? null : { type: "agent", agent };
}

export function renderTokenScope(scope: TokenScope): string {
	if (scope.type === "agent") return `agent:${scope.agent}`;
	return scope.within === undefined ? scope.type : `${scope.type}:${scope.within}`;
}

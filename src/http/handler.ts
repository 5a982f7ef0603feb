/** The input and output types of a handler, by its route. */

import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { AgentSpec } from "../config/spec.js";
import type { Engine } from "../engine/engine.js";
import type { Clock } from "../ports/clock.js";
import type { Cluster } from "../ports/cluster.js";
import type { Remotes } from "../ports/remotes.js";
import type { ResourceMeter } from "../ports/resources.js";
import type { Store } from "../ports/store.js";
import type { Caller, Visibility } from "./auth/gate.js";
import type { LoginLinks } from "./auth/login-links.js";
import type { Via } from "./auth/places.js";
import type { Tokens } from "./auth/tokens.js";
import type { EnvironmentJson } from "./contract/agent-parts.js";
import type { AgentConfigJson } from "./contract/agents.js";
import type { DaemonJson, HostJson, TestedRouteJson } from "./contract/daemon.js";
import type { JsonRouteName, RouteName, Routes, SocketRouteName } from "./contract/routes.js";
import type { PreparedJson } from "./replies.js";

/** Push notifications to browsers. */
export interface PushDesk {
	/** The public key that a browser needs to subscribe. */
	key(): Promise<string>;
	/** Returns the id of the subscription. `tokenId`: the session that it ends with; null for none. */
	subscribe(
		browser: {
			readonly endpoint: string;
			readonly keys: { readonly p256dh: string; readonly auth: string };
		},
		tokenId: string | null,
	): Promise<string>;
	/** Throws unless it belongs to this token; null may end any. */
	unsubscribe(id: string, tokenId: string | null): Promise<void>;
}

/** The dependencies of handlers. */
export interface HttpParts {
	readonly engine: Engine;
	readonly store: Store;
	readonly clock: Clock;
	readonly tokens: Tokens;
	readonly links: LoginLinks;
	readonly host: string;
	readonly version: string;
	readonly status: () => DaemonJson;
	/** Recovery of the agents that an earlier daemon left. */
	readonly recovery: { readonly isOver: () => boolean; readonly over: Promise<void> };
	/** Stops the daemon after the response is sent. */
	readonly shutDown: () => void;
	/** Makes the daemon read its settings again. */
	readonly reload: () => Promise<{
		readonly changed: boolean;
		readonly keys: readonly string[];
		readonly problem: string | null;
	}>;
	/** Sends a test notification over the route with this name; null for all. */
	readonly testNotify: (route: string | null) => Promise<readonly TestedRouteJson[]>;
	readonly push: PushDesk;
	/** The daemons of other hosts. */
	readonly remotes: Remotes;
	/** The hosts that share a database with this one. */
	readonly cluster: Cluster;
	readonly logDirOf: (agentId: string) => string;
	/** The folder with the indexes for searches. */
	readonly indexes: string;
	/** Removes the secrets of agents from a text (A10). */
	readonly redact: (text: string) => string;
	readonly meter: ResourceMeter;
	/** The facts of the host, with the findings of `reeve doctor` on request. */
	readonly describeHost: (withFindings: boolean) => Promise<Omit<HostJson, "daemon" | "host">>;
	/** The settings of an agent with their sources. */
	readonly describeConfig: (agent: ConfiguredAgent) => Promise<AgentConfigJson>;
	/** Names and sources of the variables that an agent's next start gets. */
	readonly describeEnvironment: (spec: AgentSpec) => Promise<EnvironmentJson>;
}

/** An agent, and the fleet file that it comes from. */
export interface ConfiguredAgent {
	readonly spec: AgentSpec;
	readonly fleetFile: string;
}

/** A request with its route found, access granted and input validated. */
export interface HandlerRequest<Name extends RouteName> {
	readonly params: Routes[Name]["params"];
	readonly query: Routes[Name]["query"];
	readonly body: Routes[Name]["parsedBody"];
	readonly headers: IncomingHttpHeaders;
	/** The caller, admitted by the gate. */
	readonly caller: Caller;
	readonly via: Via;
	/** The limit of the caller's token; null for no limit. Routes that are `filtered` apply it. */
	readonly sight: Visibility | null;
	/** Counts a failed login, and throws. */
	readonly refuseLogin: (reason: string) => never;
	/** The correlation id of events that the request causes. */
	readonly correlationId: string;
	/** Aborts when the caller has disconnected, or its token or login has become invalid (A8). */
	readonly dropped: AbortSignal;
	/** The same, and when the daemon stops serving. */
	readonly gone: AbortSignal;
}

type Reply<Name extends RouteName> = Routes[Name]["reply"] | PreparedJson;

type Handler<Name extends RouteName> = Name extends JsonRouteName
	? (asked: HandlerRequest<Name>) => Reply<Name> | Promise<Reply<Name>>
	: (asked: HandlerRequest<Name>, response: ServerResponse) => void | Promise<void>;

/** A handler for each of these routes; those that become a WebSocket have their own. */
export type Handlers<Name extends RouteName> = {
	readonly [Each in Exclude<Name, SocketRouteName>]: Handler<Each>;
};

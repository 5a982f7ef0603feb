/** What a handler is given and what it owes, by the route it serves. */

import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { Calls } from "../engine/calls/calls.js";
import type { Engine } from "../engine/engine.js";
import type { Clock } from "../ports/clock.js";
import type { Store } from "../ports/store.js";
import type { Caller } from "./auth/gate.js";
import type { LoginLinks } from "./auth/login-links.js";
import type { Via } from "./auth/places.js";
import type { Tokens } from "./auth/tokens.js";
import type { DaemonJson } from "./contract/daemon.js";
import type { JsonRouteName, RouteName, Routes, SocketRouteName } from "./contract/routes.js";
import type { PreparedJson } from "./replies.js";

/** What handlers are made from. */
export interface HttpParts {
	readonly engine: Engine;
	readonly calls: Calls;
	readonly store: Store;
	readonly clock: Clock;
	readonly tokens: Tokens;
	readonly links: LoginLinks;
	readonly host: string;
	readonly version: string;
	readonly status: () => DaemonJson;
	/** Ends the daemon after the answer is sent. */
	readonly shutDown: () => void;
	/** Has the daemon read its settings again. */
	readonly reload: () => Promise<{ readonly changed: boolean; readonly problem: string | null }>;
	readonly logDirOf: (agentId: string) => string;
}

/** A request that was found, let in and understood. */
export interface Asked<Name extends RouteName> {
	readonly params: Routes[Name]["params"];
	readonly query: Routes[Name]["query"];
	readonly body: Routes[Name]["parsedBody"];
	readonly headers: IncomingHttpHeaders;
	/** Who asks; the gate has let them in. */
	readonly caller: Caller;
	readonly via: Via;
	/** For a login that failed: counts it, and throws. */
	readonly refuseLogin: (reason: string) => never;
	/** Goes with whatever the request causes. */
	readonly correlationId: string;
	/** Aborts when whoever asked has gone, or the daemon ends. */
	readonly gone: AbortSignal;
}

type Reply<Name extends RouteName> = Routes[Name]["reply"] | PreparedJson;

type Handler<Name extends RouteName> = Name extends JsonRouteName
	? (asked: Asked<Name>) => Reply<Name> | Promise<Reply<Name>>
	: (asked: Asked<Name>, response: ServerResponse) => void | Promise<void>;

/** A handler for each of these routes; those that become a WebSocket have their own. */
export type Handlers<Name extends RouteName> = {
	readonly [Each in Exclude<Name, SocketRouteName>]: Handler<Each>;
};

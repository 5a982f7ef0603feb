/** A handler for every route; a route of the contract without one does not compile. */

import type { RouteName } from "./contract/routes.js";
import type { Handlers, HttpParts } from "./handler.js";
import { createAgentHandlers } from "./handlers/agents.js";
import { createDaemonHandlers } from "./handlers/daemon.js";
import { createFleetHandlers } from "./handlers/fleet.js";
import { createStreamHandlers } from "./handlers/streams.js";
import { createTokenHandlers } from "./handlers/tokens.js";

export function createHandlers(parts: HttpParts): Handlers<RouteName> {
	return {
		...createDaemonHandlers(parts),
		...createAgentHandlers(parts),
		...createFleetHandlers(parts),
		...createStreamHandlers(parts),
		...createTokenHandlers(parts),
	};
}

/** A handler for every route; a route of the contract without one does not compile. */

import type { RouteName } from "./contract/routes.js";
import type { Handlers, HttpParts } from "./handler.js";
import { createAgentHandlers } from "./handlers/agents.js";
import { createDaemonHandlers } from "./handlers/daemon.js";
import { createFleetHandlers } from "./handlers/fleet.js";
import { createPlanHandlers } from "./handlers/plans.js";
import { createStreamHandlers } from "./handlers/streams.js";
import { createTalkHandlers } from "./handlers/talk.js";
import { createTaskHandlers } from "./handlers/tasks.js";
import { createTokenHandlers } from "./handlers/tokens.js";

export function createHandlers(parts: HttpParts): Handlers<RouteName> {
	return {
		...createDaemonHandlers(parts),
		...createAgentHandlers(parts),
		...createFleetHandlers(parts),
		...createTaskHandlers(parts),
		...createPlanHandlers(parts),
		...createStreamHandlers(parts),
		...createTokenHandlers(parts),
		...createTalkHandlers(parts),
	};
}

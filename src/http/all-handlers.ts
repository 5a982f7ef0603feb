/** A handler for every route; a route of the contract without one does not compile. */

import type { RouteName } from "./contract/routes.js";
import type { Handlers, HttpParts } from "./handler.js";
import { createAgentHandlers } from "./handlers/agents.js";
import { createAttentionHandlers } from "./handlers/attention.js";
import { createClusterHandlers } from "./handlers/cluster.js";
import { createDaemonHandlers } from "./handlers/daemon.js";
import { createFleetHandlers } from "./handlers/fleet.js";
import { createHistoryHandlers } from "./handlers/history.js";
import { createLogHandlers } from "./handlers/logs.js";
import { createMessageHandlers } from "./handlers/messages.js";
import { createPlanHandlers } from "./handlers/plans.js";
import { createRemoteHandlers } from "./handlers/remotes.js";
import { createScheduleHandlers } from "./handlers/schedules.js";
import { createScreenHandlers } from "./handlers/screens.js";
import { createStreamHandlers } from "./handlers/streams.js";
import { createTaskHandlers } from "./handlers/tasks.js";
import { createTokenHandlers } from "./handlers/tokens.js";
import type { Keyboards } from "./keyboards.js";
import { createLiveResources } from "./live-resources.js";

export function createHandlers(parts: HttpParts, keyboards: Keyboards): Handlers<RouteName> {
	const resources = createLiveResources(parts.meter, () => parts.engine.list());
	return {
		...createDaemonHandlers(parts),
		...createAgentHandlers(parts, resources, keyboards),
		...createFleetHandlers(parts),
		...createTaskHandlers(parts),
		...createPlanHandlers(parts),
		...createScheduleHandlers(parts),
		...createStreamHandlers(parts, resources),
		...createScreenHandlers(parts, keyboards),
		...createLogHandlers(parts),
		...createHistoryHandlers(parts),
		...createTokenHandlers(parts),
		...createMessageHandlers(parts),
		...createAttentionHandlers(parts),
		...createRemoteHandlers(parts),
		...createClusterHandlers(parts),
	};
}

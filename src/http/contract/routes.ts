/** All routes of the API, and their types by name. */

import type { z } from "zod";
import { agentRoutes } from "./agents.js";
import { attentionRoutes } from "./attention.js";
import { clusterRoutes } from "./cluster.js";
import { daemonRoutes } from "./daemon.js";
import { fleetRoutes } from "./fleet.js";
import { historyRoutes } from "./history.js";
import { logRoutes } from "./logs.js";
import { messageRoutes } from "./messages.js";
import { planRoutes } from "./plans.js";
import { remoteRoutes } from "./remotes.js";
import type { RouteTypes } from "./route.js";
import { scheduleRoutes } from "./schedules.js";
import { screenRoutes } from "./screens.js";
import { streamRoutes } from "./streams.js";
import { taskRoutes } from "./tasks.js";
import { tokenRoutes } from "./tokens.js";

export const ROUTES = {
	...daemonRoutes,
	...agentRoutes,
	...fleetRoutes,
	...taskRoutes,
	...planRoutes,
	...scheduleRoutes,
	...streamRoutes,
	...screenRoutes,
	...logRoutes,
	...historyRoutes,
	...tokenRoutes,
	...messageRoutes,
	...attentionRoutes,
	...remoteRoutes,
	...clusterRoutes,
};

type Specs = typeof ROUTES;

/** `METHOD /path` of any route. */
export type RouteName = keyof Specs;

/** The types of every route, by its name: `METHOD /path`. */
export type Routes = { readonly [Name in RouteName]: RouteTypes<Specs[Name]> };

/** Routes that return one JSON document. */
export type JsonRouteName = {
	[Name in RouteName]: Specs[Name]["reply"] extends z.ZodType ? Name : never;
}[RouteName];

/** Routes that become a WebSocket. */
export type SocketRouteName = {
	[Name in RouteName]: Specs[Name]["reply"] extends { stream: "websocket" } ? Name : never;
}[RouteName];

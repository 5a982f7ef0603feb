/** Handlers of logs as text. */

import type { logRoutes } from "../contract/logs.js";
import type { Handlers, HttpParts } from "../handler.js";

export function createLogHandlers(parts: HttpParts): Handlers<keyof typeof logRoutes> {
	const { engine, logDirOf, redact } = parts;
	const load = () => import("../log-lines.js");
	return {
		"GET /api/v1/agents/:id/logs/lines": async ({ params, query }) => {
			engine.get(params.id);
			return (await load()).readLogLines(logDirOf(params.id), query, redact);
		},
		"GET /api/v1/agents/:id/logs/search": async ({ params, query }) => {
			engine.get(params.id);
			return (await load()).searchLog(logDirOf(params.id), query, redact);
		},
	};
}

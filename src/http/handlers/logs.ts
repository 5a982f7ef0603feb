/** Handlers of logs as text. */

import { visibleAgents } from "../auth/subjects.js";
import type { logRoutes } from "../contract/logs.js";
import type { Handlers, HttpParts } from "../handler.js";

export function createLogHandlers(parts: HttpParts): Handlers<keyof typeof logRoutes> {
	const { engine, logDirOf, redact, indexes } = parts;
	const load = () => import("../log-lines.js");
	return {
		"GET /api/v1/agents/:id/logs/lines": async ({ params, query }) => {
			engine.get(params.id);
			return (await load()).readLogLines(logDirOf(params.id), query, redact);
		},
		"GET /api/v1/agents/:id/logs/search": async ({ params, query }) => {
			engine.get(params.id);
			const { searchLog } = await import("../search.js");
			return searchLog(logDirOf(params.id), query, { redact, indexes });
		},
		"GET /api/v1/search": async ({ query, sight }) => {
			const { searchAgents } = await import("../search.js");
			const ids = visibleAgents(parts, query.agents, sight);
			const agents = await Promise.all(
				ids.map(async (id) => ({
					id,
					logDir: query.kind === "transcript" ? null : logDirOf(id),
					transcripts: query.kind === "log" ? [] : await engine.transcriptsOf(id),
				})),
			);
			return searchAgents(agents, query, { redact, indexes });
		},
	};
}

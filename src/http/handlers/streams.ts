/** What comes bit by bit. */

import type { streamRoutes } from "../contract/streams.js";
import { streamEvents } from "../events-stream.js";
import type { Handlers, HttpParts } from "../handler.js";
import { streamLogs } from "../logs-stream.js";

export function createStreamHandlers(parts: HttpParts): Handlers<keyof typeof streamRoutes> {
	return {
		"GET /api/v1/events": ({ query, gone }, response) =>
			streamEvents(parts.store, query, response, gone),
		"GET /api/v1/agents/:id/logs": ({ params, query, gone }, response) => {
			parts.engine.get(params.id);
			return streamLogs(parts.logDirOf(params.id), query, response, gone);
		},
	};
}

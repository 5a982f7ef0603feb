/** Handlers of streams. */

import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { Routes } from "../contract/routes.js";
import type { streamRoutes } from "../contract/streams.js";
import { createEventReaders, type EventFilter } from "../event-readers.js";
import type { Handlers, HttpParts } from "../handler.js";
import { streamLogs } from "../logs-stream.js";

type EventsQuery = Routes["GET /api/v1/events"]["query"];

export function createStreamHandlers(parts: HttpParts): Handlers<keyof typeof streamRoutes> {
	const readers = createEventReaders(parts.store);
	return {
		"GET /api/v1/events": async ({ sight, query, headers, gone, dropped }, response) => {
			const after = lastSeen(headers) ?? query.after;
			const send = query.follow === "1" ? readers.follow : readers.replay;
			// Checked before the response starts: the requested events must still exist.
			readers.check(after);
			openStream(response);
			await send(after, { ...filterOf(query), sees: sight?.sees }, response, gone);
			response.end(dropped.aborted ? ": the token or login is no longer valid\n\n" : undefined);
		},
		"GET /api/v1/agents/:id/logs": ({ params, query, gone }, response) => {
			parts.engine.get(params.id);
			return streamLogs(parts.logDirOf(params.id), query, response, gone);
		},
	};
}

function openStream(response: ServerResponse): void {
	response.writeHead(200, { "content-type": "text/event-stream" });
	// Confirms the stream to the client before the first event.
	response.flushHeaders();
}

function lastSeen(headers: IncomingHttpHeaders): number | null {
	const sent = headers["last-event-id"];
	return typeof sent === "string" && /^\d{1,15}$/.test(sent) ? Number(sent) : null;
}

function filterOf({ agent, task, plan, type, since }: EventsQuery): EventFilter {
	const types = type?.split(",").filter((each) => each !== "");
	const sinceMs = since === undefined ? undefined : Date.parse(since);
	return { agent, task, plan, types, sinceMs };
}

/** Handlers of streams. */

import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { ReeveError } from "../../core/errors.js";
import type { Visibility } from "../auth/gate.js";
import { visibleAgents } from "../auth/subjects.js";
import type { streamRoutes } from "../contract/streams.js";
import { createEventReaders, filterOf } from "../event-readers.js";
import type { Handlers, HttpParts } from "../handler.js";
import type { LiveResources } from "../live-resources.js";
import { streamLogs } from "../logs-stream.js";
import { createStreamOutput, NO_LONGER_VALID, openEventStream } from "../stream-output.js";

export function createStreamHandlers(
	parts: HttpParts,
	resources: LiveResources,
): Handlers<keyof typeof streamRoutes> {
	const readers = createEventReaders(parts.store);
	return {
		"GET /api/v1/events": async ({ sight, query, headers, gone, dropped }, response) => {
			const after = lastSeen(headers) ?? query.after;
			const send = query.follow === "1" ? readers.follow : readers.replay;
			// Checked before the response starts: the requested events must still exist.
			readers.check(after);
			openEventStream(response);
			const isLive = query.live === "resources" && query.follow === "1";
			const problems = () => parts.status().problems;
			const leave = isLive ? sendResources(resources, response, sight, problems) : () => {};
			try {
				await send(after, { ...filterOf(query), sees: sight?.sees }, response, gone);
			} finally {
				leave();
			}
			response.end(dropped.aborted ? NO_LONGER_VALID : undefined);
		},
		"GET /api/v1/agents/:id/logs": ({ params, query, gone }, response) => {
			parts.engine.get(params.id);
			return streamLogs(parts.logDirOf(params.id), query, response, gone);
		},
		"GET /api/v1/logs": async ({ query, sight, gone }, response) => {
			const merged = await import("../merged-logs.js");
			merged.checkMergedQuery(query);
			const agents = agentsWithLogs(parts, query.agents, sight);
			if (agents.length > merged.MERGED_AGENTS_MAX) {
				const hint = `Name at most ${merged.MERGED_AGENTS_MAX} agents, or a project.`;
				throw new ReeveError("usage", `too many agents for one stream: ${agents.length}`, hint);
			}
			response.writeHead(200, { "content-type": "application/x-ndjson" });
			response.flushHeaders();
			const { logDirOf, redact } = parts;
			const output = createStreamOutput(response, gone);
			await merged.streamMergedLogs({ agents, logDirOf, redact }, query, output, gone);
			response.end();
		},
	};
}

/** Readings have no number: a reader that reconnects gets the next one. A busy reader gets none. */
function sendResources(
	resources: LiveResources,
	response: ServerResponse,
	sight: Visibility | null,
	problems: () => readonly string[],
): () => void {
	return resources.follow(({ agents }) => {
		if (response.destroyed || response.writableNeedDrain) return;
		const seen = Object.entries(agents).filter(([id]) => sight?.sees(id) ?? true);
		const own = sight === null ? { problems: problems() } : {};
		const data = JSON.stringify({ agents: Object.fromEntries(seen), ...own });
		response.write(`event: resources\ndata: ${data}\n\n`);
	});
}

/** Without those that only run when they are called, unless the query names agents. */
function agentsWithLogs(
	parts: HttpParts,
	scopes: string | undefined,
	sight: Visibility | null,
): readonly string[] {
	const ids = visibleAgents(parts, scopes, sight);
	const { engine } = parts;
	return ids.filter((id) => scopes !== undefined || engine.get(id).agent.spec.kind !== "call");
}

function lastSeen(headers: IncomingHttpHeaders): number | null {
	const sent = headers["last-event-id"];
	return typeof sent === "string" && /^\d{1,15}$/.test(sent) ? Number(sent) : null;
}

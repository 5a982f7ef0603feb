/** Handlers of the daemon itself. */

import { ReeveError } from "../../core/errors.js";
import type { daemonRoutes } from "../contract/daemon.js";
import type { Handlers, HttpParts } from "../handler.js";
import { createMetrics } from "../metrics/metrics.js";
import { sendJson } from "../replies.js";
import { renderStopped } from "./render-outcome.js";

export function createDaemonHandlers(parts: HttpParts): Handlers<keyof typeof daemonRoutes> {
	const { engine, status } = parts;
	const metrics = createMetrics(parts);
	return {
		"GET /health": () => ({ status: "ok" }),
		"GET /ready": () => {
			const { ready, problems } = status();
			if (!ready) throw new ReeveError("not_ready", problems.join("; "));
			return { ready, problems };
		},
		"GET /metrics": (_, response) => {
			response.writeHead(200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" });
			response.end(metrics.render());
		},
		"GET /api/v1/daemon": () => status(),
		"GET /api/v1/host": async ({ query }) => ({
			daemon: status(),
			host: parts.host,
			...(await parts.describeHost(query.findings === "1")),
		}),
		"POST /api/v1/daemon/stop": async ({ body }) => {
			const stopped = body.all ? (await engine.downHere()).map(renderStopped) : [];
			parts.shutDown();
			return { stopped };
		},
		"POST /api/v1/daemon/reload": () => parts.reload(),
		"POST /api/v1/notify/test": async ({ body }) => ({
			routes: await parts.testNotify(body.route),
		}),
		"GET /api/v1/openapi.json": async (_, response) => {
			// Requested rarely, so it is not kept in memory.
			const { renderOpenApi } = await import("../openapi.js");
			sendJson(response, 200, renderOpenApi(parts.version));
		},
	};
}

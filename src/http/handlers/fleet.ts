/** Handlers that apply a fleet. */

import { fleetFromJson } from "../../config/spec-schema.js";
import type { fleetRoutes } from "../contract/fleet.js";
import type { Handlers, HttpParts } from "../handler.js";
import { renderKilled, renderStarted } from "./render-outcome.js";

/** A reload of which nothing has been done. */
function planned({ agents, schedules }: ReturnType<HttpParts["engine"]["plan"]>) {
	return {
		schedules,
		agents: agents.map((change) => ({ ...change, stopped: null, start: null })),
	};
}

export function createFleetHandlers({ engine }: HttpParts): Handlers<keyof typeof fleetRoutes> {
	return {
		"POST /api/v1/fleet/up": async ({ body }) => {
			const started = await engine.up(fleetFromJson(body.fleet), body.scope, body.wait_ms);
			return { agents: started.map((each) => renderStarted(engine, each)) };
		},
		"POST /api/v1/fleet/reload": async ({ body }) => {
			const spec = fleetFromJson(body.fleet);
			const { agents, schedules } = body.dry_run
				? planned(engine.plan(spec))
				: await engine.reload(spec);
			return {
				schedules,
				changes: agents.map(({ id, change, keys, stopped, start }) => ({
					id,
					change,
					keys,
					outcome: stopped?.outcome ?? null,
					duration_ms: stopped?.durationMs ?? null,
					killed: renderKilled(stopped?.killed ?? []),
					start: start && renderStarted(engine, { id, ...start }),
				})),
			};
		},
	};
}

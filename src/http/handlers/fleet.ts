/** Handlers that apply a fleet. */

import type { FleetSpec } from "../../config/spec.js";
import type { fleetRoutes } from "../contract/fleet.js";
import type { Handlers, HttpParts } from "../handler.js";
import { renderKilled, renderStarted } from "./render-outcome.js";

export function createFleetHandlers({ engine }: HttpParts): Handlers<keyof typeof fleetRoutes> {
	return {
		"POST /api/v1/fleet/up": async ({ body }) => {
			const started = await engine.up(asSpec(body.fleet), body.scope);
			return { agents: started.map((each) => renderStarted(engine, each)) };
		},
		"POST /api/v1/fleet/reload": async ({ body }) => {
			const spec = asSpec(body.fleet);
			const changes = body.dry_run
				? engine.plan(spec).map((change) => ({ ...change, stopped: null, start: null }))
				: await engine.reload(spec);
			return {
				changes: changes.map(({ id, change, keys, stopped, start }) => ({
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

/** A fleet is checked where its file is read; the contract only checks its outline. */
function asSpec(fleet: { readonly file: string }): FleetSpec {
	return fleet as unknown as FleetSpec;
}

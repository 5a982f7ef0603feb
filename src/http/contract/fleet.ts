/** How a fleet is applied. The client reads and resolves the fleet file; the daemon validates the result. */

import { z } from "zod";
import { fleetSchema } from "../../config/spec-schema.js";
import { started } from "./agents.js";
import { defineRoutes } from "./route.js";
import { drainOutcome, endedProcess, listOf, shape } from "./shapes.js";

const reloaded = shape("Reloaded", {
	id: z.string(),
	change: z.enum(["add", "change", "remove", "keep"]),
	keys: listOf(z.string()).describe("the changed keys, never their values"),
	outcome: drainOutcome.nullable().describe("how the agent was stopped; null if it was not"),
	duration_ms: z.number().nullable(),
	killed: listOf(endedProcess).describe("processes that were still alive after the timeout"),
	start: started.nullable().describe("the outcome of the start; null if none was attempted"),
});
/** The effect of a reload on an agent. */
export type ReloadedJson = z.output<typeof reloaded>;

const reloadedSchedule = z
	.object({ id: z.string(), change: z.enum(["add", "change", "remove", "keep"]) })
	.readonly()
	.meta({ id: "ReloadedSchedule" });
/** The effect of a reload on a schedule. */
export type ReloadedScheduleJson = z.output<typeof reloadedSchedule>;

export const fleetRoutes = defineRoutes({
	"POST /api/v1/fleet/up": {
		summary: "Applies a fleet and starts the agents in scope. Running agents are not disturbed.",
		access: "operate",
		stores: "always",
		body: z.object({
			fleet: fleetSchema,
			scope: z.string().describe("an agent as `project:agent`, a project, or `*`"),
			wait_ms: z
				.number()
				.int()
				.min(0)
				.max(60_000)
				.optional()
				.describe(
					"how long to wait for starts before they are reported as `waiting`; default: 60000",
				),
		}),
		reply: z.object({ agents: listOf(started) }),
		errors: ["agent_not_found", "agent_taken", "schedule_taken"],
	},
	"POST /api/v1/fleet/reload": {
		summary: "Applies changes in the fleet file, or reports them in a dry run.",
		access: "operate",
		stores: "always",
		body: z.object({ fleet: fleetSchema, dry_run: z.boolean().default(false) }),
		reply: z.object({
			changes: listOf(reloaded),
			schedules: listOf(reloadedSchedule).describe("the schedules of the file"),
		}),
		errors: ["agent_taken", "schedule_taken"],
	},
});

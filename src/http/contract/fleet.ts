/** The routes that apply a fleet. The client sends it resolved, after checking the file. */

import { z } from "zod";
import { started } from "./agents.js";
import { defineRoutes } from "./route.js";
import { drainOutcome, endedProcess, listOf } from "./shapes.js";

/** The visible part of a resolved fleet; the rest is passed through unchanged. */
export interface SentFleet {
	readonly file: string;
	readonly agents: readonly { readonly id: string }[];
}

const fleet: z.ZodType<SentFleet, SentFleet> = z
	.looseObject({
		file: z.string().min(1).describe("absolute path of the fleet file"),
		agents: listOf(z.looseObject({ id: z.string().min(1) })),
	})
	.describe("the resolved fleet, including the values of environment variables");

const reloaded = z
	.object({
		id: z.string(),
		change: z.enum(["add", "change", "remove", "keep"]),
		keys: listOf(z.string()).describe("the changed keys, never their values"),
		outcome: drainOutcome.nullable().describe("how the agent was stopped; null if it was not"),
		duration_ms: z.number().nullable(),
		killed: listOf(endedProcess).describe("processes that were still alive after the timeout"),
		start: started.nullable().describe("the outcome of the start; null if none was attempted"),
	})
	.readonly()
	.meta({ id: "Reloaded" });
/** The effect of a reload on an agent. */
export type ReloadedJson = z.output<typeof reloaded>;

export const fleetRoutes = defineRoutes({
	"POST /api/v1/fleet/up": {
		summary: "Applies a fleet and starts the agents in scope. Running agents are not disturbed.",
		access: "operate",
		stores: "always",
		body: z.object({
			fleet,
			scope: z.string().describe("an agent as `project:agent`, a project, or `*`"),
		}),
		reply: z.object({ agents: listOf(started) }),
		errors: ["agent_not_found", "agent_taken"],
	},
	"POST /api/v1/fleet/reload": {
		summary: "Applies changes in the fleet file, or reports them in a dry run.",
		access: "operate",
		stores: "always",
		body: z.object({ fleet, dry_run: z.boolean().default(false) }),
		reply: z.object({ changes: listOf(reloaded) }),
		errors: ["agent_taken"],
	},
});

/** How a fleet is taken on. It is sent resolved: whoever read the file has checked it. */

import { z } from "zod";
import { started } from "./agents.js";
import { defineRoutes } from "./route.js";
import { drainOutcome, listOf } from "./shapes.js";

/** As much of a resolved fleet as can be seen from here; the rest goes through untouched. */
export interface SentFleet {
	readonly file: string;
	readonly agents: readonly { readonly id: string }[];
}

const fleet: z.ZodType<SentFleet, SentFleet> = z
	.looseObject({
		file: z.string().min(1).describe("the fleet file, absolute"),
		agents: listOf(z.looseObject({ id: z.string().min(1) })),
	})
	.describe("the resolved fleet, with the values of its environments");

const reloaded = z
	.object({
		id: z.string(),
		change: z.enum(["add", "change", "remove", "keep"]),
		keys: listOf(z.string()).describe("the keys that changed, never their values"),
		outcome: drainOutcome.nullable(),
		duration_ms: z.number().nullable(),
	})
	.readonly()
	.meta({ id: "Reloaded" });
export type ReloadedJson = z.output<typeof reloaded>;

export const fleetRoutes = defineRoutes({
	"POST /api/v1/fleet/up": {
		summary: "Takes on a fleet and brings up what is in scope; what runs is not disturbed.",
		access: "operate",
		body: z.object({
			fleet,
			scope: z.string().describe("an agent as `project:agent`, a project, or `*`"),
		}),
		reply: z.object({ agents: listOf(started) }),
		errors: ["agent_not_found", "agent_taken"],
	},
	"POST /api/v1/fleet/reload": {
		summary: "Brings the recorded fleet to what the file says, or says what that would do.",
		access: "operate",
		body: z.object({ fleet, dry_run: z.boolean().default(false) }),
		reply: z.object({ changes: listOf(reloaded) }),
		errors: ["agent_taken"],
	},
});

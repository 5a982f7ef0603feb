/** The routes of plans. */

import { z } from "zod";
import { PLAN_STATUSES } from "../../core/plan.js";
import { defineRoutes } from "./route.js";
import { listOf, time } from "./shapes.js";
import { nextPage, page, part, submissionShape, task, wait } from "./tasks.js";

const TASK_NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const planId = z.string().min(1).max(200);

const planShape = z.object({
	plan_id: z.string(),
	name: z.string(),
	status: z.enum(PLAN_STATUSES),
	on_failure: z.enum(["fail_fast", "continue"]),
	reason: z.string().describe("the reason for its status, as text"),
	created_at: time,
	ended_at: time.nullable(),
	correlation_id: z.string(),
});

const plan = planShape.readonly().meta({ id: "Plan" });
export type PlanJson = z.output<typeof plan>;

const planDetail = planShape
	.extend({ tasks: listOf(task).describe("in the order of the plan") })
	.readonly()
	.meta({ id: "PlanDetail" });
export type PlanDetailJson = z.output<typeof planDetail>;

/** A plan as written in a file or a request. */
const planSubmission = z.strictObject({
	name: z.string().min(1).max(200).optional(),
	on_failure: z
		.enum(["fail_fast", "continue"])
		.default("fail_fast")
		.describe(
			"after a dead letter: fail the plan immediately, or first finish the tasks that can still run",
		),
	tasks: z
		.record(
			z.string().regex(TASK_NAME),
			z.strictObject({
				...submissionShape,
				depends_on: z.array(z.string()).optional().describe("tasks that must succeed first"),
			}),
		)
		.describe("by name; a payload can use `${tasks.NAME.result.…}` of a task that it depends on"),
});

const planParams = z.object({ id: planId.describe("the plan") });

export const planRoutes = defineRoutes({
	"POST /api/v1/plans": {
		summary:
			"Runs a graph of tasks. The response is sent when the plan is stored or, with `wait`, when it is finished. A plan with an agent whose circuit is open is refused with `agent_unavailable` and a `Retry-After` header before anything starts.",
		access: "operate",
		stores: "sometimes",
		limited: "subjects",
		quiet: true,
		query: z.object({ wait }),
		body: planSubmission,
		reply: planDetail,
		errors: [
			"agent_not_found",
			"not_callable",
			"agent_unavailable",
			"planning_failed",
			"idempotency_conflict",
			"queue_full",
			"daemon_stopping",
			"write_failed",
		],
	},
	"GET /api/v1/plans": {
		summary: "Lists plans of several tasks, newest first.",
		access: "read",
		stores: "never",
		limited: "filtered",
		query: z.object({ ...page, status: z.enum(PLAN_STATUSES).optional(), part }),
		reply: z.object({ plans: listOf(plan), next: nextPage }),
		errors: [],
	},
	"GET /api/v1/plans/:id": {
		summary: "Returns one plan with its tasks.",
		access: "read",
		stores: "never",
		limited: "subjects",
		params: planParams,
		query: z.object({ wait }),
		reply: planDetail,
		errors: ["plan_not_found"],
	},
	"POST /api/v1/plans/:id/cancel": {
		summary: "Cancels a plan and all of its unfinished tasks.",
		access: "operate",
		stores: "always",
		limited: "subjects",
		params: planParams,
		reply: planDetail,
		errors: ["plan_not_found", "already_ended"],
	},
});

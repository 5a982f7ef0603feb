/** What is asked about plans. */

import type { PlanSubmission } from "../../engine/calls/submission.js";
import type { planRoutes } from "../contract/plans.js";
import type { Routes } from "../contract/routes.js";
import type { Handlers, HttpParts } from "../handler.js";
import { renderPlan, renderPlanDetail } from "../task-json.js";
import { pageOf, submitOptions } from "./submissions.js";
import { CANCEL_WAIT_MS } from "./tasks.js";

export function createPlanHandlers({ calls }: HttpParts): Handlers<keyof typeof planRoutes> {
	return {
		"POST /api/v1/plans": async (asked) => {
			const { plan } = await calls.submitPlan(submissionOf(asked.body), submitOptions(asked));
			return renderPlanDetail(await calls.waitForPlan(plan.planId, asked.query.wait ?? 0));
		},
		"GET /api/v1/plans": ({ query }) => {
			const { limit, status } = query;
			const plans = calls.plans({ ...pageOf(query), ...(status !== undefined && { status }) });
			const next = plans.length < limit ? null : (plans.at(-1)?.planId ?? null);
			return { plans: plans.map(renderPlan), next };
		},
		"GET /api/v1/plans/:id": async ({ params, query }) =>
			renderPlanDetail(await calls.waitForPlan(params.id, query.wait ?? 0)),
		"POST /api/v1/plans/:id/cancel": async ({ params }) =>
			renderPlanDetail(await calls.cancelPlan(params.id, CANCEL_WAIT_MS)),
	};
}

type PlanBody = Routes["POST /api/v1/plans"]["parsedBody"];

function submissionOf({ name, on_failure: onFailure, tasks }: PlanBody): PlanSubmission {
	const submitted = Object.entries(tasks).map(([taskName, task]) => {
		const {
			timeout_ms: timeoutMs,
			max_attempts: maxAttempts,
			depends_on: dependsOn,
			...rest
		} = task;
		return [taskName, { ...rest, timeoutMs, maxAttempts, dependsOn }] as const;
	});
	return { name, onFailure, tasks: Object.fromEntries(submitted) };
}

/** Handlers of plans. */

import { acceptWhileWritable } from "../../engine/store-guard.js";
import type { PlanSubmission } from "../../engine/tasks/submission.js";
import type { PlanDetail } from "../../engine/tasks/tasks.js";
import type { planRoutes } from "../contract/plans.js";
import type { Routes } from "../contract/routes.js";
import type { Handlers, HttpParts } from "../handler.js";
import { CONTINUES_LATER, renderPlan, renderPlanDetail } from "../task-json.js";
import { pageOf, submitOptions } from "./submissions.js";
import { CANCEL_WAIT_MS } from "./tasks.js";

export function createPlanHandlers({
	engine,
	store,
}: HttpParts): Handlers<keyof typeof planRoutes> {
	const render = (detail: PlanDetail) => {
		const rendered = renderPlanDetail(detail);
		return engine.tasks.isClosed && detail.plan.endedAtMs === null
			? { ...rendered, reason: CONTINUES_LATER }
			: rendered;
	};
	return {
		"POST /api/v1/plans": async (asked) => {
			const submission = submissionOf(asked.body);
			const { plan } = await acceptWhileWritable(store, () =>
				engine.tasks.submitPlan(submission, submitOptions(asked)),
			);
			const { query, dropped } = asked;
			return render(await engine.tasks.waitForPlan(plan.planId, query.wait ?? 0, dropped));
		},
		"GET /api/v1/plans": ({ query, sight }) => {
			const { limit, status, part } = query;
			const plans = engine.tasks.plans({
				...pageOf(query),
				...(status !== undefined && { status }),
				...(part !== undefined && { part }),
			});
			const next = plans.length < limit ? null : (plans.at(-1)?.planId ?? null);
			const seen = plans.filter(
				({ planId }) =>
					sight === null ||
					engine.tasks.plan(planId).tasks.every(({ task }) => sight.sees(task.agentId)),
			);
			return { plans: seen.map(renderPlan), next };
		},
		"GET /api/v1/plans/:id": async ({ params, query, dropped }) =>
			render(await engine.tasks.waitForPlan(params.id, query.wait ?? 0, dropped)),
		"POST /api/v1/plans/:id/cancel": async ({ params }) =>
			renderPlanDetail(await engine.tasks.cancelPlan(params.id, CANCEL_WAIT_MS)),
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

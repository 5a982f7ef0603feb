/** What is asked about tasks and dead letters. */

import { type ErrorCode, ReeveError } from "../../core/errors.js";
import { isEnded } from "../../core/task.js";
import type { TaskDetail } from "../../engine/calls/calls.js";
import type { TaskSubmission } from "../../engine/calls/submission.js";
import type { StoredTask } from "../../ports/task-store.js";
import type { Routes } from "../contract/routes.js";
import type { taskRoutes } from "../contract/tasks.js";
import type { Handlers, HttpParts } from "../handler.js";
import { renderTask, renderTaskDetail } from "../task-json.js";
import { pageOf, submitOptions } from "./submissions.js";

/** Whoever cancels wants to know that nothing runs any more. */
export const CANCEL_WAIT_MS = 30_000;

export function createTaskHandlers({
	calls,
	engine,
	store,
}: HttpParts): Handlers<keyof typeof taskRoutes> {
	/** What waits for its agent's account is told so. */
	const render = (detail: TaskDetail) => {
		const { status, agentId } = detail.task;
		const waits = status === "queued" || status === "retried";
		const hold = waits ? engine.holdOf(agentId) : null;
		const rendered = renderTaskDetail(detail);
		return hold === null ? rendered : { ...rendered, reason: hold.reason };
	};
	const list = (tasks: readonly StoredTask[], limit: number) => ({
		tasks: tasks.map((task) => renderTask(task, store.readAttempts(task.taskId))),
		next: tasks.length < limit ? null : (tasks.at(-1)?.taskId ?? null),
	});
	return {
		"POST /api/v1/tasks": async (asked) => {
			const task = await calls.submit(submissionOf(asked.body), submitOptions(asked));
			const waited = await calls.waitForTask(task.taskId, asked.query.wait ?? 0);
			if (asked.query.wait !== undefined) refuseFailed(waited);
			return render(waited);
		},
		"GET /api/v1/tasks": ({ query }) => {
			const { agent, status, plan } = query;
			const wanted = {
				...(agent !== undefined && { agent }),
				...(status !== undefined && { status }),
				...(plan !== undefined && { plan }),
			};
			return list(calls.tasks({ ...pageOf(query), ...wanted }), query.limit);
		},
		"GET /api/v1/tasks/:id": async ({ params, query }) =>
			render(await calls.waitForTask(params.id, query.wait ?? 0)),
		"POST /api/v1/tasks/:id/cancel": async ({ params }) =>
			renderTaskDetail(await calls.cancelTask(params.id, CANCEL_WAIT_MS)),
		"GET /api/v1/dead-letters": ({ query }) => {
			const wanted = query.agent === undefined ? {} : { agent: query.agent };
			return list(calls.deadLetters.list({ ...pageOf(query), ...wanted }), query.limit);
		},
		"POST /api/v1/dead-letters/:id/replay": async ({ params }) =>
			renderTaskDetail(calls.task(await calls.deadLetters.replay(params.id))),
		"POST /api/v1/dead-letters/:id/discard": async ({ params }) => {
			await calls.deadLetters.discard(params.id);
			return renderTaskDetail(calls.task(params.id));
		},
	};
}

function submissionOf(body: Routes["POST /api/v1/tasks"]["parsedBody"]): TaskSubmission {
	const { timeout_ms: timeoutMs, max_attempts: maxAttempts, ...rest } = body;
	return { ...rest, timeoutMs, maxAttempts };
}

/** Whoever waited for an end is told of a failure by the status of the answer. */
function refuseFailed(detail: TaskDetail): void {
	const { task } = detail;
	if (!isEnded(task.status) || task.status === "succeeded") return;
	const code: ErrorCode =
		task.status === "cancelled" ? "cancelled" : (task.error?.code ?? "internal");
	const message = task.error?.message ?? task.reason;
	const about = `${task.agentId} ${task.action}: ${message}`;
	throw new ReeveError(code, about, undefined, { task: renderTaskDetail(detail) });
}

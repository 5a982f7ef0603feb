/** Handlers of tasks and dead letters. */

import { type ErrorCode, ReeveError } from "../../core/errors.js";
import { isEnded } from "../../core/task.js";
import { acceptWithRequest } from "../../engine/store-guard.js";
import type { TaskSubmission } from "../../engine/tasks/submission.js";
import type { TaskList } from "../../engine/tasks/task-desk.js";
import type { TaskDetail } from "../../engine/tasks/tasks.js";
import type { Visibility } from "../auth/gate.js";
import type { Routes } from "../contract/routes.js";
import type { taskRoutes } from "../contract/tasks.js";
import type { Handlers, HttpParts } from "../handler.js";
import { CONTINUES_LATER, renderTask, renderTaskDetail } from "../task-json.js";
import { pageOf, submitOptions } from "./submissions.js";

/** A cancel request waits until nothing runs. */
export const CANCEL_WAIT_MS = 30_000;

export function createTaskHandlers({
	engine,
	store,
}: HttpParts): Handlers<keyof typeof taskRoutes> {
	const desk = engine.taskDesk;
	/** Adds the hold of the agent's account to the reason. */
	const render = (detail: TaskDetail) => {
		const { status, agentId } = detail.task;
		if (engine.tasks.isClosed && !isEnded(status)) {
			return { ...renderTaskDetail(detail), reason: CONTINUES_LATER };
		}
		const waits = status === "queued" || status === "retried";
		const hold = waits ? engine.holdOf(agentId) : null;
		const rendered = renderTaskDetail(detail);
		return hold === null ? rendered : { ...rendered, reason: hold.reason };
	};
	const list = ({ tasks, incomplete }: TaskList, limit: number) => ({
		tasks: tasks.map(({ task, attempts }) => renderTask(task, attempts)),
		next: tasks.length < limit ? null : (tasks.at(-1)?.task.taskId ?? null),
		incomplete,
	});
	return {
		"POST /api/v1/tasks": async (asked) => {
			const submission = submissionOf(asked.body);
			const options = submitOptions(asked);
			const task = desk.shares(submission.agent)
				? await desk.submit(submission, options)
				: await acceptWithRequest(store, (request) =>
						desk.submit(submission, { ...options, request }),
					);
			const waited = await desk.wait(task.taskId, asked.query.wait ?? 0, asked.dropped);
			if (asked.query.wait !== undefined) refuseFailed(waited);
			return render(waited);
		},
		"GET /api/v1/tasks": async ({ query, sight }) => {
			const { agent, status, plan, part } = query;
			const counted = {
				...withinOf(sight),
				...(agent !== undefined && { agent }),
				...(plan !== undefined && { plan }),
			};
			const wanted = {
				...counted,
				...(status !== undefined && { status }),
				...(part !== undefined && { part }),
			};
			const { sinceMs, ...rest } = pageOf(query);
			const since = sinceMs === undefined ? {} : { sinceMs };
			return {
				...list(await desk.list({ ...rest, ...since, ...wanted }), query.limit),
				...(query.counts === "1" && { counts: await desk.count({ ...since, ...counted }) }),
			};
		},
		"GET /api/v1/tasks/:id": async ({ params, query, dropped }) =>
			render(await desk.wait(params.id, query.wait ?? 0, dropped)),
		"POST /api/v1/tasks/:id/cancel": async ({ params }) =>
			renderTaskDetail(await desk.cancel(params.id, CANCEL_WAIT_MS)),
		"GET /api/v1/dead-letters": async ({ query, sight }) => {
			const wanted = {
				...withinOf(sight),
				...(query.agent !== undefined && { agent: query.agent }),
			};
			return list(await desk.letters({ ...pageOf(query), ...wanted }), query.limit);
		},
		"POST /api/v1/dead-letters/:id/replay": async ({ params }) =>
			renderTaskDetail(await desk.replay(params.id)),
		"POST /api/v1/dead-letters/:id/discard": async ({ params }) =>
			renderTaskDetail(await desk.discard(params.id)),
	};
}

function withinOf(sight: Visibility | null): { readonly within?: string } {
	return sight === null ? {} : { within: sight.within };
}

function submissionOf(body: Routes["POST /api/v1/tasks"]["parsedBody"]): TaskSubmission {
	const { timeout_ms: timeoutMs, max_attempts: maxAttempts, ...rest } = body;
	return { ...rest, timeoutMs, maxAttempts };
}

/** For a caller that waited for the result, a failed task becomes an error response. */
function refuseFailed(detail: TaskDetail): void {
	const { task } = detail;
	if (!isEnded(task.status) || task.status === "succeeded") return;
	const code: ErrorCode =
		task.status === "cancelled" ? "cancelled" : (task.error?.code ?? "internal");
	const message = task.error?.message ?? task.reason;
	const about = `${task.agentId} ${task.action}: ${message}`;
	throw new ReeveError(code, about, undefined, { task: renderTaskDetail(detail) });
}

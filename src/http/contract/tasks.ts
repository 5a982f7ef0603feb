/** What can be asked about tasks and dead letters. */

import { z } from "zod";
import { ATTEMPT_ERRORS } from "../../core/outcome.js";
import { TASK_STATUSES } from "../../core/task.js";
import { DURATION_PATTERN, parseDuration } from "../../core/units.js";
import { defineRoutes } from "./route.js";
import { listOf, time } from "./shapes.js";

const TEXT_LENGTH_MAX = 200;
const name = z.string().min(1).max(TEXT_LENGTH_MAX);

/** Nobody holds a connection open for longer. */
const WAIT_MS_MAX = 600_000;

export const wait = z
	.string()
	.regex(DURATION_PATTERN)
	.transform((text) => Math.min(parseDuration(text) ?? 0, WAIT_MS_MAX))
	.optional()
	.describe("how long to wait for the end, such as `30s`; at most 10 minutes");

export const page = {
	limit: z.coerce.number().int().min(1).max(1_000).default(50),
	before: name.optional().describe("the id of the last one of the page before"),
	since: z.iso.datetime().optional().describe("only those taken on at or after this time"),
};

export const nextPage = z
	.string()
	.nullable()
	.describe("the `before` of the next page; null when there is none");

const taskError = z
	.object({
		code: z.string().describe("what kind of failure it is to the caller"),
		kind: z
			.enum(ATTEMPT_ERRORS)
			.nullable()
			.describe("how the last attempt failed, if there was one"),
		message: z.string(),
	})
	.readonly()
	.meta({ id: "TaskError" });

const attempt = z
	.object({
		n: z.number().describe("from 1"),
		started_at: time,
		ended_at: time,
		error: z
			.object({ kind: z.enum(ATTEMPT_ERRORS), message: z.string() })
			.readonly()
			.optional(),
		log: z
			.string()
			.optional()
			.describe("the end of what it wrote to stderr; only of a single task"),
	})
	.readonly()
	.meta({ id: "Attempt" });

const taskShape = z.object({
	task_id: z.string(),
	plan_id: z.string(),
	name: z.string().describe("its name in the plan; `root` where it is the only one"),
	agent: z.string(),
	action: z.string(),
	status: z.enum(TASK_STATUSES),
	attempts: listOf(attempt).describe("those that have ended, in order"),
	max_attempts: z.number(),
	priority: z.number(),
	idempotent: z.boolean(),
	timeout_ms: z.number(),
	depends_on: listOf(z.string()),
	result: z.unknown().describe("what the agent answered").optional(),
	error: taskError.optional(),
	reason: z.string().describe("why it is as it is, in words"),
	next_attempt_at: time.nullable(),
	created_at: time,
	ended_at: time.nullable(),
	correlation_id: z.string(),
	replay_of: z.string().nullable().describe("the dead letter that it replays"),
	replayed_as: z.string().nullable().describe("for a dead letter: the task that replays it"),
	discarded: z.boolean().describe("for a dead letter: whether it was given up"),
});

export const task = taskShape.readonly().meta({ id: "Task" });
export type TaskJson = z.output<typeof task>;

const taskDetail = taskShape
	.extend({
		payload: z.unknown().describe("what it was given"),
		context: z.unknown(),
	})
	.readonly()
	.meta({ id: "TaskDetail" });
export type TaskDetailJson = z.output<typeof taskDetail>;

/** What one task is to do; a plan names several. */
export const submissionShape = {
	agent: name.describe("a call or worker agent, as `project:agent`"),
	action: name,
	payload: z.unknown().optional(),
	context: z.unknown().optional(),
	priority: z.number().int().min(-1_000).max(1_000).optional().describe("higher ones go first; 0"),
	timeout_ms: z.number().int().positive().optional().describe("instead of the agent's `timeout`"),
	max_attempts: z.number().int().min(1).max(1_000).optional(),
	idempotent: z.boolean().optional().describe("whether doing it twice is harmless"),
};

const taskParams = z.object({ id: name.describe("the task") });
const taskPage = z.object({ tasks: listOf(task), next: nextPage });

/** How a task that was waited for can have failed; the error's details are the task. */
const ENDS = [
	"execution_failed",
	"agent_unavailable",
	"timeout",
	"planning_failed",
	"cancelled",
] as const;
const REFUSALS = [
	"agent_not_found",
	"not_callable",
	"idempotency_conflict",
	"queue_full",
	"write_failed",
] as const;

export const taskRoutes = defineRoutes({
	"POST /api/v1/tasks": {
		summary:
			"Asks a call or worker agent for something. The answer comes when the task is durable or, with `wait`, when it has ended; the header `Idempotency-Key` makes one task of the same request sent again.",
		access: "operate",
		agents: "any",
		quiet: true,
		query: z.object({ wait }),
		body: z.object(submissionShape),
		reply: taskDetail,
		errors: [...REFUSALS, ...ENDS],
	},
	"GET /api/v1/tasks": {
		summary: "Tasks, newest first.",
		access: "read",
		query: z.object({
			...page,
			agent: name.optional(),
			status: z.enum(TASK_STATUSES).optional(),
			plan: name.optional(),
		}),
		reply: taskPage,
		errors: [],
	},
	"GET /api/v1/tasks/:id": {
		summary: "One task with its input, every attempt and what it answered.",
		access: "read",
		params: taskParams,
		query: z.object({ wait }),
		reply: taskDetail,
		errors: ["task_not_found"],
	},
	"POST /api/v1/tasks/:id/cancel": {
		summary: "Cancels a task; what runs for it is ended first.",
		access: "operate",
		params: taskParams,
		reply: taskDetail,
		errors: ["task_not_found", "already_ended"],
	},
	"GET /api/v1/dead-letters": {
		summary: "Tasks that failed for good and of which nothing has become yet, newest first.",
		access: "read",
		query: z.object({ ...page, agent: name.optional() }),
		reply: taskPage,
		errors: [],
	},
	"POST /api/v1/dead-letters/:id/replay": {
		summary: "Tries a dead letter again, as a new task that points back to it.",
		access: "operate",
		params: taskParams,
		reply: taskDetail,
		errors: [
			"task_not_found",
			"not_a_dead_letter",
			"planning_failed",
			"agent_not_found",
			"not_callable",
			"queue_full",
		],
	},
	"POST /api/v1/dead-letters/:id/discard": {
		summary: "Gives a dead letter up; it can still be looked at as a task.",
		access: "operate",
		params: taskParams,
		reply: taskDetail,
		errors: ["task_not_found", "not_a_dead_letter"],
	},
});

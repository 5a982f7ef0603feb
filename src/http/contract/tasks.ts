/** The routes of tasks and dead letters. */

import { z } from "zod";
import { ATTEMPT_ERRORS } from "../../core/outcome.js";
import { TASK_STATUSES } from "../../core/task.js";
import { DURATION_PATTERN, parseDuration } from "../../core/units.js";
import { defineRoutes } from "./route.js";
import { listOf, time } from "./shapes.js";

const TEXT_LENGTH_MAX = 200;
const name = z.string().min(1).max(TEXT_LENGTH_MAX);

/** The longest wait on one connection. */
const WAIT_MS_MAX = 600_000;

export const wait = z
	.string()
	.regex(DURATION_PATTERN)
	.transform((text) => Math.min(parseDuration(text) ?? 0, WAIT_MS_MAX))
	.optional()
	.describe("how long to wait for the result, such as `30s`; at most 10 minutes");

/** A prefix or suffix of an id. */
export const part = z
	.string()
	.regex(/^[0-9a-f-]{4,36}$/)
	.optional()
	.describe("only ids with this prefix or suffix");

export const page = {
	limit: z.coerce.number().int().min(1).max(1_000).default(50),
	before: name.optional().describe("the id of the last entry of the previous page"),
	since: z.iso.datetime().optional().describe("only those accepted at or after this time"),
};

export const nextPage = z
	.string()
	.nullable()
	.describe("the `before` of the next page; null on the last page");

const taskError = z
	.object({
		code: z.string().describe("the kind of failure for the caller"),
		kind: z.enum(ATTEMPT_ERRORS).nullable().describe("the error of the last attempt, if any"),
		message: z.string(),
	})
	.readonly()
	.meta({ id: "TaskError" });

const response = z
	.object({
		status: z.string(),
		code: z.number(),
		result: z.unknown().optional(),
		error: z.unknown().optional(),
		truncated: z
			.literal(true)
			.optional()
			.describe("set if `result` and `error` were too large to store"),
	})
	.readonly()
	.meta({ id: "AgentResponse" });

const attempt = z
	.object({
		n: z.number().describe("from 1"),
		started_at: time,
		ended_at: time,
		error: z
			.object({ kind: z.enum(ATTEMPT_ERRORS), message: z.string() })
			.readonly()
			.optional(),
		response: response.optional().describe("the agent's response, if it reported a failure"),
		host: z.string().optional().describe("the host of the cluster that ran it, of a shared task"),
		log: z.string().optional().describe("the end of its stderr; only when reading a single task"),
	})
	.readonly()
	.meta({ id: "Attempt" });

const taskShape = z.object({
	task_id: z.string(),
	plan_id: z.string(),
	name: z.string().describe("its name in the plan; `root` for a single task"),
	agent: z.string(),
	action: z.string(),
	status: z.enum(TASK_STATUSES),
	attempts: listOf(attempt).describe("finished attempts, in order"),
	max_attempts: z.number(),
	priority: z.number(),
	idempotent: z.boolean(),
	timeout_ms: z.number(),
	depends_on: listOf(z.string()),
	result: z.unknown().describe("the agent's result").optional(),
	error: taskError.optional(),
	response: response.optional().describe("the agent's response to the last attempt, if it failed"),
	reason: z.string().describe("the reason for its status, as text"),
	next_attempt_at: time.nullable(),
	created_at: time,
	ended_at: time.nullable(),
	correlation_id: z.string(),
	host: z
		.string()
		.nullable()
		.optional()
		.describe(
			"the host of the cluster that runs it or ran it last; null for a task that no host has run yet, and for tasks of this host alone",
		),
	replay_of: z.string().nullable().describe("the dead letter that it replays"),
	replayed_as: z.string().nullable().describe("for a dead letter: the task that replays it"),
	discarded: z.boolean().describe("for a dead letter: whether it was discarded"),
	may_have_run: z
		.boolean()
		.describe(
			"for a dead letter: whether an attempt may have acted before it failed, so that a replay would act twice",
		),
});

export const task = taskShape.readonly().meta({ id: "Task" });
export type TaskJson = z.output<typeof task>;

const taskDetail = taskShape
	.extend({
		payload: z.unknown().describe("the input"),
		context: z.unknown(),
	})
	.readonly()
	.meta({ id: "TaskDetail" });
export type TaskDetailJson = z.output<typeof taskDetail>;

/** One task; a plan contains several. */
export const submissionShape = {
	agent: name.describe("a call or worker agent, as `project:agent`"),
	action: name,
	payload: z.unknown().optional(),
	context: z.unknown().optional(),
	priority: z
		.number()
		.int()
		.min(-1_000)
		.max(1_000)
		.optional()
		.describe("tasks with a higher priority run first; default 0"),
	timeout_ms: z.number().int().positive().optional().describe("instead of the agent's `timeout`"),
	max_attempts: z.number().int().min(1).max(1_000).optional(),
	idempotent: z.boolean().optional().describe("whether running it twice is harmless"),
};

const taskParams = z.object({ id: name.describe("the task") });
const incomplete = z
	.string()
	.nullable()
	.optional()
	.describe("why the tasks that the hosts of a cluster share are missing; null if they are not");
const taskPage = z.object({ tasks: listOf(task), next: nextPage });

/** The errors of a task that a client waited for; the details contain the task. */
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
	"daemon_stopping",
	"write_failed",
	"cluster_off",
	"cluster_unavailable",
] as const;

export const taskRoutes = defineRoutes({
	"POST /api/v1/tasks": {
		summary:
			"Runs a task on a call or worker agent. The response is sent when the task is stored or, with `wait`, when it is finished. Requests with the same `Idempotency-Key` header create only one task. While the agent's circuit is open the request is refused with `agent_unavailable` and a `Retry-After` header, and nothing is stored.",
		access: "operate",
		stores: "sometimes",
		limited: "subjects",
		agents: "any",
		quiet: true,
		query: z.object({ wait }),
		body: z.object(submissionShape),
		reply: taskDetail,
		errors: [...REFUSALS, ...ENDS],
	},
	"GET /api/v1/tasks": {
		summary: "Lists tasks, newest first.",
		access: "read",
		stores: "never",
		limited: "filtered",
		query: z.object({
			...page,
			agent: name.optional(),
			status: z.enum(TASK_STATUSES).optional(),
			plan: name.optional(),
			part,
			counts: z
				.enum(["0", "1"])
				.optional()
				.describe("`1` counts by status; `status`, `part` and `before` do not apply to the counts"),
		}),
		reply: taskPage.extend({
			incomplete,
			counts: z
				.partialRecord(z.enum(TASK_STATUSES), z.number())
				.readonly()
				.describe("number of tasks by status; statuses without tasks are omitted")
				.optional(),
		}),
		errors: [],
	},
	"GET /api/v1/tasks/:id": {
		summary: "Returns one task with its input, every attempt and its result.",
		access: "read",
		stores: "never",
		limited: "subjects",
		params: taskParams,
		query: z.object({ wait }),
		reply: taskDetail,
		errors: ["task_not_found", "cluster_unavailable"],
	},
	"POST /api/v1/tasks/:id/cancel": {
		summary: "Cancels a task after killing its running attempt.",
		access: "operate",
		stores: "always",
		limited: "subjects",
		params: taskParams,
		reply: taskDetail,
		errors: ["task_not_found", "already_ended", "cluster_unavailable"],
	},
	"GET /api/v1/dead-letters": {
		summary: "Lists dead letters that are neither replayed nor discarded, newest first.",
		access: "read",
		stores: "never",
		limited: "filtered",
		query: z.object({ ...page, agent: name.optional() }),
		reply: taskPage.extend({ incomplete }),
		errors: [],
	},
	"POST /api/v1/dead-letters/:id/replay": {
		summary: "Replays a dead letter as a new task that refers to it.",
		access: "operate",
		stores: "always",
		limited: "subjects",
		params: taskParams,
		reply: taskDetail,
		errors: [
			"task_not_found",
			"not_a_dead_letter",
			"planning_failed",
			"agent_not_found",
			"not_callable",
			"agent_unavailable",
			"queue_full",
			"daemon_stopping",
			"cluster_unavailable",
		],
	},
	"POST /api/v1/dead-letters/:id/discard": {
		summary: "Discards a dead letter. It remains visible as a task.",
		access: "operate",
		stores: "always",
		limited: "subjects",
		params: taskParams,
		reply: taskDetail,
		errors: ["task_not_found", "not_a_dead_letter", "cluster_unavailable"],
	},
});

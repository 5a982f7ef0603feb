/** Errors of calls: tasks, plans and dead letters. */

import { CLI_EXIT } from "./cli-exit.js";
import {
	CONFLICT,
	type ErrorSpec,
	NOT_FOUND,
	NOT_NOW,
	TIMED_OUT,
	TOO_MANY,
} from "./errors-kinds.js";

export const TASK_ERRORS = {
	task_not_found: {
		meaning: "There is no task with this id.",
		hint: "`reeve tasks ls` lists the newest tasks.",
		...NOT_FOUND,
	},
	plan_not_found: {
		meaning: "There is no plan with this id.",
		hint: "`reeve plan ls` lists the newest plans.",
		...NOT_FOUND,
	},
	not_a_dead_letter: {
		meaning: "The task is not a dead letter, or was already replayed or discarded.",
		hint: "`reeve dead-letters ls` lists the dead letters that are neither replayed nor discarded.",
		...CONFLICT,
	},
	already_ended: {
		meaning: "The task or plan has already finished and cannot be cancelled.",
		hint: "`reeve tasks show` and `reeve plan show` print its result.",
		...CONFLICT,
	},
	cancelled: {
		meaning: "The task was cancelled, directly or together with its plan.",
		hint: "`reeve tasks show` prints the reason.",
		httpStatus: 409,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	idempotency_conflict: {
		meaning: "The idempotency key was already used for a different request.",
		hint: "Use a new key for a new request.",
		...CONFLICT,
	},
	queue_full: {
		meaning: "Too many tasks are queued. The request was not accepted.",
		hint: "Try again when some tasks have finished. `reeve tasks ls` lists them.",
		...NOT_NOW,
	},
	over_budget: {
		meaning: "The agent has used up its `budget` for today.",
		hint: "Wait until tomorrow, raise the `budget`, or lift it for today with `reeve resume`.",
		...TOO_MANY,
	},
	not_callable: {
		meaning: "The agent is a session, and sessions accept no requests.",
		hint: "Call an agent of kind `call` or `worker`, or send the session a message with `reeve send`.",
		...CONFLICT,
	},
	planning_failed: {
		meaning:
			"The plan is invalid: it has a cycle, an unknown task, or a reference that cannot be resolved.",
		hint: "Fix the plan.",
		httpStatus: 422,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	execution_failed: {
		meaning: "The agent failed the task, including all retries.",
		hint: "The dead letter contains the input and the error and log of every attempt: `reeve dead-letters show ID`.",
		httpStatus: 502,
		cliExit: CLI_EXIT.failed,
		retryable: true,
	},
	agent_unavailable: {
		meaning:
			"The agent is unavailable: its circuit is open (the request was not accepted; `Retry-After` is the time to wait), or its program cannot be started.",
		hint: "Wait for the cooldown, or fix the cause and close the circuit with `reeve resume`.",
		...NOT_NOW,
	},
	timeout: {
		meaning: "The agent did not respond in time.",
		hint: "Raise the agent's `timeout` if the task needs more time.",
		...TIMED_OUT,
	},
} as const satisfies Record<string, ErrorSpec>;

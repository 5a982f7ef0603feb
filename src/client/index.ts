/**
 * `reeve/client`: the words that cross the wire, for programs that read what Reeve writes as JSON.
 * It holds no code that decides anything, so it is safe to bundle into a page.
 */

export { CLI_EXIT, type CliExit, ERRORS, type ErrorCode, type ErrorSpec } from "../core/errors.js";
export type { EventMap, EventType, ReeveEvent } from "../core/events.js";
export type { ExitCause, ExitKind } from "../core/exit.js";
export type { ActionRequest, ActionResponse, CallerCode } from "../core/outcome.js";
export { PLAN_STATUSES, type PlanStatus } from "../core/plan.js";
export {
	ACTIVITIES,
	type Activity,
	CIRCUIT_STATES,
	type CircuitState,
	HEALTH_STATES,
	type Health,
	POLICY_STATES,
	type PolicyState,
	PROCESS_STATES,
	type ProcessState,
} from "../core/states.js";
export { TASK_STATUSES, type TaskStatus } from "../core/task.js";

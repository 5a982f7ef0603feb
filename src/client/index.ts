/**
 * `reeve/client`: the typed client of a daemon, and the types of the API. A web page can import the
 * types and use its own fetch.
 */

export { ERRORS, type ErrorCode, ReeveError } from "../core/errors.js";
export type { ErrorSpec } from "../core/errors-kinds.js";
export type { EventMap, EventType, ReeveEvent } from "../core/events.js";
export type { ExitCause, ExitKind } from "../core/exit.js";
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
export { type Home, resolveHome } from "../home/paths.js";
export type { ExitJson, ResourcesJson } from "../http/contract/agent-parts.js";
export type {
	AgentConfigJson,
	AgentDetailJson,
	AgentJson,
	SettingJson,
	StartedJson,
} from "../http/contract/agents.js";
export type { DaemonJson, FindingJson, HostJson } from "../http/contract/daemon.js";
export type { ReloadedJson } from "../http/contract/fleet.js";
export type {
	AccountJson,
	AgentHistoryJson,
	RunJson,
	UsageRowJson,
} from "../http/contract/history.js";
export type { LogLineJson } from "../http/contract/logs.js";
export type { JsonRouteName, RouteName, Routes } from "../http/contract/routes.js";
export type {
	ChangedRowsJson,
	ScreenMessages,
	StyledScreenJson,
	TextRunJson,
} from "../http/contract/screens.js";
export type { ErrorJson, StoppedJson } from "../http/contract/shapes.js";
export type { LiveResources, TerminalMessage } from "../http/contract/streams.js";
export type { Address } from "./address.js";
export {
	type CallOptions,
	type Client,
	type ConnectionChange,
	createClient,
	type EventOptions,
	type LogOptions,
	type StreamOptions,
	type TerminalSocket,
} from "./client.js";

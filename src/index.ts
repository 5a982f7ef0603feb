/**
 * `reeve`: the policies as a library, pure functions to which time and randomness are arguments; and
 * `supervise()`, which keeps the parts of any program alive by one of them.
 */

export { type BackoffSettings, backoffDelayMs, type Random, spreadMs } from "./core/backoff.js";
export {
	type Admission,
	admit,
	type BreakerChange,
	type BreakerSettings,
	type BreakerState,
	coolDown,
	DEFAULT_BREAKER,
	decideClose,
	healthOf,
	NEW_BREAKER,
	type Permit,
	recordCancelled,
	recordResult,
	recoverBreaker,
} from "./core/breaker.js";
export { decideAfterExit, decideResume, settle } from "./core/crash-policy.js";
export {
	type CrashAction,
	type CrashContext,
	type CrashDecision,
	type CrashPolicySettings,
	type CrashState,
	DEFAULT_CRASH_POLICY,
	type ExitClass,
	NEW_AGENT,
	NO_WAITS,
	type RecordedExit,
	type Waits,
} from "./core/crash-state.js";
export {
	CLI_EXIT,
	type CliExit,
	ERRORS,
	type ErrorCode,
	type ErrorSpec,
	ReeveError,
} from "./core/errors.js";
export { EVENT_DOCS, type EventMap, type EventType, type ReeveEvent } from "./core/events.js";
export {
	type Asker,
	classifyExit,
	EXIT_CAUSES,
	EXIT_KINDS,
	type ExitCause,
	type ExitKind,
	type ExitReport,
	exitReport,
	renderExit,
} from "./core/exit.js";
export { type DependencyGraph, findCycles, orderByDependencies } from "./core/graph.js";
export {
	type ActionRequest,
	type ActionResponse,
	ATTEMPT_ERROR_TRAITS,
	ATTEMPT_ERRORS,
	type AttemptError,
	type AttemptErrorTraits,
	type CallerCode,
	classifyProcessFailure,
	classifyResponse,
	type Outcome,
	type ProcessFailure,
} from "./core/outcome.js";
export {
	applyPlanEvent,
	decidePlan,
	type FailureMode,
	PLAN_EVENTS,
	PLAN_STATUSES,
	PLAN_TABLE,
	type PlanChange,
	type PlanDecision,
	type PlanEventType,
	type PlanStatus,
	type PlanTask,
} from "./core/plan.js";
export {
	type Rehearsal,
	type RehearsalRow,
	type RehearsalStep,
	rehearse,
} from "./core/rehearse.js";
export {
	type AttemptFacts,
	DEFAULT_RETRY,
	decideRetry,
	type RetryDecision,
	type RetrySettings,
} from "./core/retry.js";
export {
	DEFAULT_SERVICE,
	decideAfterServiceEnd,
	NEW_SERVICE,
	type ServiceAction,
	type ServiceDecision,
	type ServiceEnding,
	type ServicePolicy,
	type ServiceSettings,
	type ServiceState,
	SHUTDOWN,
} from "./core/service-policy.js";
export {
	ACTIVITIES,
	type Activity,
	ADAPTERS,
	type Adapter,
	AGENT_KINDS,
	type AgentKind,
	BACKENDS,
	type Backend,
	CIRCUIT_STATES,
	type CircuitState,
	CLEAN_EXIT_CHOICES,
	HEALTH_STATES,
	type Health,
	type OnCleanExit,
	POLICY_STATES,
	type PolicyState,
	PROCESS_STATES,
	type ProcessState,
} from "./core/states.js";
export {
	applyTaskEvent,
	isEnded,
	newTask,
	TASK_EVENTS,
	TASK_STATUSES,
	TASK_TABLE,
	type TaskChange,
	type TaskEvent,
	type TaskEventType,
	type TaskProgress,
	type TaskStatus,
} from "./core/task.js";
export type { Instant } from "./core/time.js";
export type { Clock } from "./ports/clock.js";
export {
	type Service,
	type ServiceEnd,
	type ServiceStatus,
	type SuperviseOptions,
	type SupervisionEnd,
	type Supervisor,
	supervise,
} from "./services/supervise.js";

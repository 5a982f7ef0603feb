/**
 * `reeve`: the policies as a library: what follows an exit, when a circuit opens, whether to retry.
 * They are pure functions: time and randomness are arguments, state is plain JSON. `supervise()` keeps
 * the services of any Node program running.
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
	recordAttempt,
	recordCancelled,
	recordResult,
	recoverBreaker,
	refusesForMs,
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
	type Asker,
	classifyExit,
	type ExitCause,
	type ExitKind,
	type ExitReport,
	exitReport,
	renderExit,
} from "./core/exit.js";
export {
	type ActionRequest,
	type ActionResponse,
	type AttemptError,
	type CallerCode,
	classifyProcessFailure,
	classifyResponse,
	type Outcome,
	type ProcessFailure,
} from "./core/outcome.js";
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
export type {
	CircuitState,
	Health,
	OnCleanExit,
	PolicyState,
} from "./core/states.js";
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

/**
 * An agent in resolved form: every default applied, every path absolute, every unit in the name. Specs
 * are frozen plain data; the daemon stores them when it accepts a fleet.
 */

import type { UsageLimitSettings } from "../core/account.js";
import type { AdapterProfile } from "../core/adapter.js";
import type { BreakerSettings } from "../core/breaker.js";
import type { DailyBudget, SharedBudget } from "../core/budget.js";
import type { CrashPolicySettings } from "../core/crash-state.js";
import type { HealthSettings } from "../core/health.js";
import type { HibernationSettings } from "../core/hibernation.js";
import type { PlacementSettings } from "../core/lease.js";
import type { RetrySettings } from "../core/retry.js";
import type { CatchUp, Overlap } from "../core/schedule.js";
import type { StallSettings } from "../core/stall.js";
import type {
	Backend,
	DependencyCondition,
	ExtraOutput,
	OnCleanExit,
	Tmpdir,
} from "../core/states.js";
import type { TurnRetrySettings } from "../core/turn-retry.js";

export interface LimitsSpec {
	readonly memoryBytes: number | null;
	/** 100 is one CPU. */
	readonly cpuPercent: number | null;
	readonly pids: number | null;
}

interface CommonSpec {
	/** `project:name`. */
	readonly id: string;
	readonly project: string;
	readonly name: string;
	/** A built-in adapter, or a custom one of the fleet file. */
	readonly adapter: string;
	/** The custom adapter of the fleet file; null for a built-in one. */
	readonly profile: AdapterProfile | null;
	/** Null if the adapter has a default program. */
	readonly command: readonly string[] | null;
	readonly args: readonly string[];
	/** Absolute. */
	readonly cwd: string;
	/** Absolute; read at every start, so its contents are not part of the spec. */
	readonly envFile: string | null;
	/**
	 * Variables from the caller's shell; their known values are in `env`. Omitted if there are none, as
	 * in specs stored by older versions.
	 */
	readonly passEnv?: readonly string[];
	/** Null removes an inherited variable. Values may be secret. */
	readonly env: Readonly<Record<string, string | null>>;
	readonly limits: LimitsSpec;
}

/** The readiness condition of an agent: one field is set, the others are null. */
export interface ReadySpec {
	/** A regular expression that its output must match. */
	readonly log: string | null;
	readonly port: number | null;
	/** A URL; omitted if not set. */
	readonly http?: string | undefined;
	readonly command: readonly string[] | null;
	readonly delayMs: number | null;
}

/** A repeated check of a running agent. One of `http`, `port` and `command` is set. */
export interface HealthSpec extends HealthSettings {
	readonly http: string | null;
	readonly port: number | null;
	readonly command: readonly string[] | null;
	readonly everyMs: number;
	readonly timeoutMs: number;
}

/** An agent that must be ready, by its full id; or one that must be in another state. */
export type DependencySpec =
	| string
	| { readonly agent: string; readonly condition: DependencyCondition };

/** Common settings of long-running processes, in a terminal or on a pipe. */
interface LastingSpec {
	readonly drain: { readonly timeoutMs: number };
	readonly dependsOn: readonly DependencySpec[];
	/** Null: ready as soon as it runs. */
	readonly ready: ReadySpec | null;
	/** Omitted without a check. */
	readonly health?: HealthSpec | undefined;
	/** Absolute paths whose changes restart the agent; omitted if there are none. */
	readonly watch?: readonly string[] | undefined;
	readonly crashPolicy: CrashPolicySettings;
}

/** Common settings of agents that serve requests. */
interface AnsweringSpec {
	readonly timeoutMs: number;
	readonly retry: RetrySettings;
	readonly circuitBreaker: BreakerSettings;
	readonly concurrency: number;
	/** Whether running an action twice is harmless. */
	readonly idempotent: boolean;
	/** Actions that must not run twice although `idempotent` is true. */
	readonly unsafeActions: readonly string[];
	readonly extraOutput: ExtraOutput;
}

/** Settings of agents with a budget. */
interface BudgetedSpec {
	/** Omitted without a limit. */
	readonly budget?: DailyBudget;
	/** The budgets of its project and its account; omitted if there are none. */
	readonly sharedBudgets?: readonly SharedBudget[];
}

interface LimitedSpec {
	/** Null: its own account. */
	readonly account: string | null;
	readonly usageLimit: UsageLimitSettings;
}

export interface SessionSpec extends CommonSpec, LastingSpec, BudgetedSpec, LimitedSpec {
	readonly kind: "session";
	readonly backend: Backend;
	readonly terminal: boolean;
	/** Null: the adapter decides. */
	readonly tmpdir: Tmpdir | null;
	readonly seed: boolean;
	readonly stall: StallSettings;
	/** Null: the adapter decides; 0: none. Undefined in a spec stored by an older daemon. */
	readonly startTimeoutMs?: number | null | undefined;
	/** Undefined in a spec stored by an older daemon. */
	readonly turnRetry?: TurnRetrySettings | undefined;
	/** Omitted if it never hibernates. */
	readonly hibernate?: HibernationSettings | undefined;
	readonly onCleanExit: OnCleanExit;
	/** Which hosts of a cluster may run it; omitted if it runs on this host only. */
	readonly placement?: PlacementSettings | undefined;
}

export interface WorkerSpec extends CommonSpec, LastingSpec, AnsweringSpec {
	readonly kind: "worker";
	readonly workers: { readonly min: number; readonly max: number; readonly idleMs: number };
}

export interface CallSpec extends CommonSpec, AnsweringSpec, BudgetedSpec, LimitedSpec {
	readonly kind: "call";
	/** Which hosts of a cluster share its tasks; omitted if each host runs its own. */
	readonly placement?: Pick<PlacementSettings, "labels"> | undefined;
}

/** Settings of agents with an account. */
export type AccountedSpec = SessionSpec | CallSpec;
export type AgentSpec = SessionSpec | WorkerSpec | CallSpec;

/** The action of a schedule. The payload is JSON, since its keys belong to the user. */
export type ScheduleAction =
	| { readonly type: "send"; readonly agent: string; readonly message: string }
	| {
			readonly type: "call";
			readonly agent: string;
			readonly action: string;
			readonly payload: string | null;
	  }
	/** An absolute path. */
	| { readonly type: "plan"; readonly file: string }
	| { readonly type: "restart"; readonly agent: string };

export interface ScheduleSpec {
	/** `project:name`. */
	readonly id: string;
	readonly project: string;
	readonly name: string;
	/** One of `cron` and `everyMs` is set. */
	readonly cron: string | null;
	readonly everyMs: number | null;
	/** Null: the time zone of the daemon. */
	readonly timezone: string | null;
	readonly action: ScheduleAction;
	readonly overlap: Overlap;
	readonly jitterMs: number;
	readonly catchUp: CatchUp;
}

export interface FleetSpec {
	/** The fleet file, absolute. */
	readonly file: string;
	/** In file order. */
	readonly agents: readonly AgentSpec[];
	/** In file order. Omitted by clients of earlier versions. */
	readonly schedules?: readonly ScheduleSpec[];
}

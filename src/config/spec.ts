/**
 * An agent as the rest of Reeve sees it: every default filled in, every path absolute, every unit in
 * the name. Specs are frozen plain data; the daemon stores them when it takes on a fleet.
 */

import type { UsageLimitSettings } from "../core/account.js";
import type { AdapterProfile } from "../core/adapter.js";
import type { BreakerSettings } from "../core/breaker.js";
import type { DailyBudget } from "../core/budget.js";
import type { CrashPolicySettings } from "../core/crash-state.js";
import type { RetrySettings } from "../core/retry.js";
import type { StallSettings } from "../core/stall.js";
import type { Backend, ExtraOutput, OnCleanExit, Tmpdir } from "../core/states.js";

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
	/** A built-in adapter, or one of the fleet file's own. */
	readonly adapter: string;
	/** What the fleet file says of the adapter; null for a built-in one. */
	readonly profile: AdapterProfile | null;
	/** Null when the adapter knows its program. */
	readonly command: readonly string[] | null;
	readonly args: readonly string[];
	/** Absolute. */
	readonly cwd: string;
	/** Absolute; read at every start, so what it holds is not in here. */
	readonly envFile: string | null;
	/** Null removes an inherited variable. Values may be secret. */
	readonly env: Readonly<Record<string, string | null>>;
	readonly limits: LimitsSpec;
}

/** The one sign by which an agent shows that it is ready; the others are null. */
export interface ReadySpec {
	/** A regular expression that its output must match. */
	readonly log: string | null;
	readonly port: number | null;
	readonly command: readonly string[] | null;
	readonly delayMs: number | null;
}

/** What a process that stays has in common, whether in a terminal or on a pipe. */
interface LastingSpec {
	readonly drain: { readonly timeoutMs: number };
	/** Full ids. */
	readonly dependsOn: readonly string[];
	/** Null: ready as soon as it runs. */
	readonly ready: ReadySpec | null;
	readonly crashPolicy: CrashPolicySettings;
}

/** What an agent that answers requests has in common. */
interface AnsweringSpec {
	readonly timeoutMs: number;
	readonly retry: RetrySettings;
	readonly circuitBreaker: BreakerSettings;
	readonly concurrency: number;
	/** Whether doing an action twice is harmless. */
	readonly idempotent: boolean;
	/** Actions of which that is not true all the same. */
	readonly unsafeActions: readonly string[];
	readonly extraOutput: ExtraOutput;
}

/** What an agent with a bound on its usage has. */
interface BudgetedSpec {
	/** Not there without a bound. */
	readonly budget?: DailyBudget;
}

interface LimitedSpec {
	/** Null: one of its own. */
	readonly account: string | null;
	readonly usageLimit: UsageLimitSettings;
}

export interface SessionSpec extends CommonSpec, LastingSpec, BudgetedSpec, LimitedSpec {
	readonly kind: "session";
	readonly backend: Backend;
	readonly terminal: boolean;
	/** Null: as the adapter has it. */
	readonly tmpdir: Tmpdir | null;
	readonly seed: boolean;
	readonly stall: StallSettings;
	readonly onCleanExit: OnCleanExit;
}

export interface WorkerSpec extends CommonSpec, LastingSpec, AnsweringSpec {
	readonly kind: "worker";
	readonly workers: { readonly min: number; readonly max: number; readonly idleMs: number };
}

export interface CallSpec extends CommonSpec, AnsweringSpec, BudgetedSpec, LimitedSpec {
	readonly kind: "call";
}

/** What is logged in to an account by itself. */
export type AccountedSpec = SessionSpec | CallSpec;
export type AgentSpec = SessionSpec | WorkerSpec | CallSpec;

export interface FleetSpec {
	/** The fleet file, absolute. */
	readonly file: string;
	/** In file order. */
	readonly agents: readonly AgentSpec[];
}

/**
 * The settings of the crash policy (from the fleet file), its state per agent (stored as JSON) and its
 * decision. All plain data. The bounded lists in the state are counted here.
 */

import type { Random } from "./backoff.js";
import type { ExitKind } from "./exit.js";
import type { OnCleanExit, PolicyState } from "./states.js";

/** The settings of the crash policy; the keys of `crash_policy` in the fleet file. */
export interface CrashPolicySettings {
	/** The window of recent exits, in running time. A run of this length is stable. */
	readonly windowMs: number;
	/** This many failed exits within the window count as flapping. */
	readonly flapThreshold: number;
	/** This many flapping exits without a stable run or a clean exit between them halt the agent. */
	readonly haltThreshold: number;
	/** How many exits are kept. */
	readonly history: number;
	readonly transientDelayMs: number;
	readonly flappingDelayMs: number;
	/** Delays that grow with each failure and replace the two fixed ones; null if not set. */
	readonly delay: GrowingDelay | null;
	/** Restart delays are randomly extended by up to this fraction. */
	readonly jitter: number;
	/** The slow-burn budget: this many failed exits within this much running time halt the agent. */
	readonly budget: { readonly exits: number; readonly withinMs: number };
	/** Exit codes that a restart cannot fix. */
	readonly permanentExitCodes: readonly number[];
	/** Whether a crash loop halts the agent, or is retried forever at the longest delay. */
	readonly halt: HaltChoice;
	/** Whether an agent that failed is restarted. */
	readonly onFailure: OnFailure;
}

/** A restart delay that is multiplied by `factor` with each failure since the last stable run. */
export interface GrowingDelay {
	readonly initialMs: number;
	readonly factor: number;
	readonly maxMs: number;
}

export const HALT_CHOICES = ["crash_loop", "never"] as const;
export type HaltChoice = (typeof HALT_CHOICES)[number];

export const FAILURE_CHOICES = ["restart", "stop"] as const;
export type OnFailure = (typeof FAILURE_CHOICES)[number];

/** The default settings of the crash policy. */
export const DEFAULT_CRASH_POLICY: CrashPolicySettings = Object.freeze({
	windowMs: 60_000,
	flapThreshold: 3,
	haltThreshold: 5,
	history: 10,
	transientDelayMs: 2_000,
	flappingDelayMs: 30_000,
	delay: null,
	jitter: 0.1,
	budget: Object.freeze({ exits: 20, withinMs: 3_600_000 }),
	permanentExitCodes: Object.freeze([]),
	halt: "crash_loop",
	onFailure: "restart",
});

/** The classification of an exit by the window. Planned exits and exits with a known cause have no class. */
export type ExitClass = "clean" | "transient" | "flapping";

/** Whether a run failed. A clean exit counts as failed if it came as fast as a crash loop. */
export function isFailure(kind: ExitKind, exitClass: ExitClass | null): boolean {
	if (exitClass === "flapping") return true;
	return kind !== "planned" && kind !== "clean" && kind !== "usage_limit";
}

/** An exit as stored by the crash policy. */
export interface RecordedExit {
	readonly class: ExitClass;
	/** When it happened, on the agent's running-time axis. */
	readonly atRunningMs: number;
	/** Whether it counts in the window: failed exits do, clean ones only if they are restarted. */
	readonly counted: boolean;
}

/** The state that the policy keeps for an agent. Plain data, stored as JSON. */
export interface CrashState {
	readonly policy: PolicyState;
	/** The agent's running time so far, over all its runs. */
	readonly runningMs: number;
	/** The last exits that the window classified, oldest first. */
	readonly exits: readonly RecordedExit[];
	/** Flapping exits since the last stable run or clean exit. */
	readonly flaps: number;
	/**
	 * Failed exits since the last stable run or clean exit, which growing delays depend on. States
	 * stored by earlier versions do not have it.
	 */
	readonly failures?: number;
	/** Running time of the exits that count against the slow-burn budget, at most `budget.exits`. */
	readonly budgetSpentAt: readonly number[];
	/** Running time of out-of-memory kills, at most `haltThreshold`. */
	readonly outOfMemoryAt: readonly number[];
	/** How often it had to wait since its last long run, by cause. */
	readonly waits: Waits;
}

/** The causes that an agent waits for without counting its exits. */
export interface Waits {
	/** For a usage limit of unknown length. */
	readonly limit: number;
	/** For external problems: an overloaded service, an exhausted host. */
	readonly trouble: number;
}

/** The state of an agent that does not wait. */
export const NO_WAITS: Waits = Object.freeze({ limit: 0, trouble: 0 });

/** The action after an exit. */
export type CrashAction =
	| { readonly type: "restart"; readonly afterMs: number; readonly withContinue: boolean }
	/** Wait for a usage limit to lift, then restart. */
	| { readonly type: "park"; readonly afterMs: number }
	| { readonly type: "ask_operator" }
	/** The agent has finished its work and stays down. */
	| { readonly type: "complete" }
	| { readonly type: "stop" }
	| { readonly type: "halt" }
	/** Nothing to do: the requester of the stop decides what happens next, or the agent is halted. */
	| { readonly type: "none" };

/** The new state after an exit, the action, and the reason. */
export interface CrashDecision {
	readonly state: CrashState;
	readonly action: CrashAction;
	readonly reason: string;
	readonly kind: ExitKind;
	readonly class: ExitClass | null;
}

/** The input of the crash policy besides the state and the exit. */
export interface CrashContext {
	readonly settings: CrashPolicySettings;
	readonly onCleanExit: OnCleanExit;
	readonly random: Random;
}

/** The state of an agent that has not exited yet. */
export const NEW_AGENT: CrashState = Object.freeze({
	policy: "healthy",
	runningMs: 0,
	exits: Object.freeze([]),
	flaps: 0,
	failures: 0,
	budgetSpentAt: Object.freeze([]),
	outOfMemoryAt: Object.freeze([]),
	waits: NO_WAITS,
});

/** The newest `size` entries; unlike a bare `slice(-size)`, none if the size is 0. */
export function lastOf<T>(entries: readonly T[], size: number): readonly T[] {
	return entries.slice(Math.max(0, entries.length - size));
}

/** Whether the newest `exits` times, oldest first, are all within one span. */
export function isBudgetUsed(
	momentsMs: readonly number[],
	budget: { readonly exits: number; readonly withinMs: number },
): boolean {
	const newestMs = momentsMs.at(-1);
	const oldestMs = momentsMs.at(-budget.exits);
	if (newestMs === undefined || oldestMs === undefined) return false;
	return newestMs - oldestMs <= budget.withinMs;
}

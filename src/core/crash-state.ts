/**
 * What the crash policy is told (settings), what it remembers of an agent (state) and what it
 * answers (decision). All plain data: settings come from the fleet file, state is stored as JSON.
 */

import type { Random } from "./backoff.js";
import type { ExitKind } from "./exit.js";
import type { OnCleanExit, PolicyState } from "./states.js";

export interface CrashPolicySettings {
	/** How much running time is looked back over. A run this long is a stable one. */
	readonly windowMs: number;
	/** This many failed exits within the window are flapping. */
	readonly flapThreshold: number;
	/** This many flapping exits without a stable run between them halt the agent. */
	readonly haltThreshold: number;
	/** How many exits are remembered. */
	readonly history: number;
	readonly transientDelayMs: number;
	readonly flappingDelayMs: number;
	/** Restart delays are spread upwards by up to this fraction. */
	readonly jitter: number;
	/** The slow-burn budget: this many failed exits within this much running time halt the agent. */
	readonly budget: { readonly exits: number; readonly withinMs: number };
	/** Exit codes that trying again cannot cure. */
	readonly permanentExitCodes: readonly number[];
}

export const DEFAULT_CRASH_POLICY: CrashPolicySettings = Object.freeze({
	windowMs: 60_000,
	flapThreshold: 3,
	haltThreshold: 5,
	history: 10,
	transientDelayMs: 2_000,
	flappingDelayMs: 30_000,
	jitter: 0.1,
	budget: Object.freeze({ exits: 20, withinMs: 3_600_000 }),
	permanentExitCodes: Object.freeze([]),
});

/** What the window says of an exit. Planned exits and those with a cause of their own have no class. */
export type ExitClass = "clean" | "transient" | "flapping";

export interface RecordedExit {
	readonly class: ExitClass;
	/** When it happened, on the agent's running-time axis. */
	readonly atRunningMs: number;
	/** Whether it stands in the window: failed exits do, clean ones only when they are restarted. */
	readonly counted: boolean;
}

/** Everything the policy remembers of an agent. Plain data: it is stored as JSON. */
export interface CrashState {
	readonly policy: PolicyState;
	/** The agent's running time so far, over all its runs. */
	readonly runningMs: number;
	/** The ring of the last exits that the window judged, oldest first. */
	readonly exits: readonly RecordedExit[];
	/** Flapping exits since the last stable run. */
	readonly flaps: number;
	/** Running time of the exits that spend the slow-burn budget, at most `budget.exits` of them. */
	readonly budgetSpentAt: readonly number[];
	/** Running time of kills for lack of memory, at most `haltThreshold` of them. */
	readonly outOfMemoryAt: readonly number[];
	/** How often it had to wait since it last ran for long, by what it waited for. */
	readonly waits: Waits;
}

export interface Waits {
	/** For a usage limit of unknown length. */
	readonly limit: number;
	/** For somebody else's trouble: an overloaded service, an exhausted host. */
	readonly trouble: number;
}

export const NO_WAITS: Waits = Object.freeze({ limit: 0, trouble: 0 });

export type CrashAction =
	| { readonly type: "restart"; readonly afterMs: number; readonly withContinue: boolean }
	/** Wait for a usage limit to lift, then restart. */
	| { readonly type: "park"; readonly afterMs: number }
	| { readonly type: "ask_operator" }
	| { readonly type: "stop" }
	| { readonly type: "halt" }
	/** Whoever asked for the exit decides what comes next, or nothing may. */
	| { readonly type: "none" };

export interface CrashDecision {
	readonly state: CrashState;
	readonly action: CrashAction;
	readonly reason: string;
	readonly kind: ExitKind;
	readonly class: ExitClass | null;
}

export interface CrashContext {
	readonly settings: CrashPolicySettings;
	readonly onCleanExit: OnCleanExit;
	readonly random: Random;
}

export const NEW_AGENT: CrashState = Object.freeze({
	policy: "healthy",
	runningMs: 0,
	exits: Object.freeze([]),
	flaps: 0,
	budgetSpentAt: Object.freeze([]),
	outOfMemoryAt: Object.freeze([]),
	waits: NO_WAITS,
});

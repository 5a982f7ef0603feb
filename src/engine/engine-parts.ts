/** The parts and result types of the engine. */

import type { AgentChange } from "../config/diff.js";
import type { AgentSpec } from "../config/spec.js";
import type { HoldKind, PolicyState } from "../core/states.js";
import type { Usage } from "../core/usage.js";
import type { Backend } from "../ports/backend.js";
import type { Clock } from "../ports/clock.js";
import type { EnvVault } from "../ports/env-vault.js";
import type { Store } from "../ports/store.js";
import type { AccountView } from "./limits/accounts.js";
import type { UsageWorld } from "./limits/usage-book.js";
import type { RunnerWorld } from "./runs/agent-runner.js";
import type { LifeWorld, StartOutcome, StartReport, StopReport } from "./runs/life-world.js";
import type { CallWorld } from "./tasks/agent-calls.js";
import type { TaskLog, TasksWorld } from "./tasks/tasks-world.js";

/** Everything that the engine needs from outside. */
export interface EngineParts extends CallWorld {
	readonly store: Store;
	readonly clock: Clock;
	readonly vault: EnvVault;
	readonly chooseBackend: (spec: AgentSpec) => Backend;
	readonly backendNamed: (name: string) => Backend;
	readonly random: () => number;
	readonly newRunId: () => string;
	/** Of the host's own clock. */
	readonly minuteOfDay: (wallMs: number) => number;
	readonly checkStart: RunnerWorld["checkStart"];
	/** The values of agents' environments, so that no text of an agent shows them (A10). */
	readonly secrets: {
		/** Called for each recorded agent before its data is read. */
		learn(spec: AgentSpec): Promise<void>;
		redact(text: string): string;
	};
	readonly watchReady: LifeWorld["watchReady"];
	readonly sessions: LifeWorld["sessions"];
	/** The day of a time in the host's calendar. */
	readonly dayOf: UsageWorld["dayOf"];
	readonly concurrency: TasksWorld["concurrency"];
	readonly log: TaskLog;
	/** A failure without a waiting caller. */
	readonly onError: (agentId: string, error: unknown) => void;
}

/** The usage of agents by day of the host's calendar, and the accounts that they share. */
export interface EngineUsage {
	readonly today: string;
	readonly accounts: readonly AccountView[];
	/** Newest first. */
	readonly daysOf: (agentId: string) => readonly (readonly [day: string, usage: Usage])[];
}

export interface ResumedAgent {
	/** Its previous state in the crash policy. */
	readonly from: PolicyState;
	/** The holds that were released. */
	readonly released: readonly HoldKind[];
	/** The outcome of its start; null for a call agent, which has none. */
	readonly outcome: StartOutcome | null;
}

export interface Started {
	readonly id: string;
	/** `old_settings`: it runs, and keeps the settings it was started with until a reload. */
	readonly outcome: StartOutcome | "old_settings";
	readonly reason: string | null;
}
export type Stopped = { readonly id: string } & StopReport;
/** The start is null if none was attempted. */
export type RestartedAgent = Stopped & { readonly start: StartReport | null };
export type Reloaded = AgentChange & {
	readonly stopped: StopReport | null;
	readonly start: StartReport | null;
};

/** The parts and result types of the engine. */

import type { AgentChange } from "../config/diff.js";
import type { AgentSpec } from "../config/spec.js";
import type { ReeveError } from "../core/errors.js";
import type { HoldKind, PolicyState } from "../core/states.js";
import type { Usage } from "../core/usage.js";
import type { ProcessIdentity } from "../ports/backend.js";
import type { Calendar, Clock } from "../ports/clock.js";
import type { EnvVault } from "../ports/env-vault.js";
import type { Leases } from "../ports/leases.js";
import type { SharedLimits } from "../ports/shared-limits.js";
import type { Store } from "../ports/store.js";
import type { WatchFiles } from "./file-watches.js";
import type { AccountView } from "./limits/accounts.js";
import type {
	LifeWorld,
	RunBackends,
	StartOutcome,
	StartReport,
	StopReport,
} from "./runs/life-world.js";
import type { SessionWorld } from "./runs/session-world.js";
import type { ScheduleChange } from "./schedules/diff-schedules.js";
import type { ScheduleWorld } from "./schedules/schedules.js";
import type { CallWorld } from "./tasks/agent-calls.js";
import type { TaskLog, TasksWorld } from "./tasks/tasks-world.js";

/** Everything that the engine needs from outside. */
export interface EngineParts extends CallWorld {
	readonly store: Store;
	readonly clock: Clock;
	readonly vault: EnvVault;
	readonly backends: RunBackends;
	readonly random: () => number;
	readonly newRunId: () => string;
	readonly calendar: Calendar;
	/** The values of agents' environments, so that no text of an agent shows them (A10). */
	readonly secrets: {
		/** Called for each recorded agent, with its processes, before its data is read. */
		learn(spec: AgentSpec, running: readonly ProcessIdentity[]): Promise<void>;
		redact(text: string): string;
	};
	readonly watchReady: LifeWorld["watchReady"];
	readonly checkHealth: LifeWorld["checkHealth"];
	readonly watchFiles: WatchFiles;
	readonly sessions: SessionWorld;
	/** Of agents that may run on several hosts; a host without a cluster has none. */
	readonly leases?: Leases;
	/** Why shared tasks cannot be reached now; without it, this host belongs to no cluster. */
	readonly whyNoCluster?: () => ReeveError;
	/** Usage limits that hosts of a cluster share; none without a cluster. */
	readonly sharedLimits?: SharedLimits;
	/** Of this host, for schedules without one of their own. */
	readonly timezone: string;
	readonly readPlan: ScheduleWorld["readPlan"];
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
/** The effect of a reload. */
export interface FleetChanges<Agent extends AgentChange> {
	readonly agents: readonly Agent[];
	readonly schedules: readonly ScheduleChange[];
}
export type Reloaded = AgentChange & {
	readonly stopped: StopReport | null;
	readonly start: StartReport | null;
};

/** What an engine is made of, and how its answers look. */

import type { AgentChange } from "../config/diff.js";
import type { AgentSpec } from "../config/spec.js";
import type { HoldKind, PolicyState } from "../core/states.js";
import type { Backend } from "../ports/backend.js";
import type { Clock } from "../ports/clock.js";
import type { EnvVault } from "../ports/env-vault.js";
import type { Store } from "../ports/store.js";
import type { Hold } from "./limits/accounts.js";
import type { UsageView, UsageWorld } from "./limits/usage-book.js";
import type { AgentSnapshot } from "./runs/agent-state.js";
import type { LifeWorld, StartOutcome, StartReport, StopReport } from "./runs/life-world.js";
import type { PerformWorld } from "./tasks/perform.js";

export interface EngineParts extends PerformWorld {
	readonly store: Store;
	readonly clock: Clock;
	readonly vault: EnvVault;
	readonly chooseBackend: (spec: AgentSpec) => Backend;
	readonly backendNamed: (name: string) => Backend;
	readonly random: () => number;
	readonly newRunId: () => string;
	/** Of the host's own clock. */
	readonly minuteOfDay: (wallMs: number) => number;
	/**
	 * Why the agent cannot be started as things are (program, folder, permission); null when nothing is in the way.
	 * Touches nothing.
	 */
	readonly checkStart: (spec: AgentSpec) => Promise<string | null>;
	/** The values of agents' environments, so that no text of an agent shows them (A10). */
	readonly secrets: {
		/** Called for each recorded agent before anything of it is read. */
		learn(spec: AgentSpec): Promise<void>;
		redact(text: string): string;
	};
	readonly watchReady: LifeWorld["watchReady"];
	readonly sessions: LifeWorld["sessions"];
	/** The day of a moment in the host's calendar. */
	readonly dayOf: UsageWorld["dayOf"];
	/** Something failed that nobody waits for. */
	readonly onError: (agentId: string, error: unknown) => void;
}

export interface AgentView extends AgentSnapshot {
	/** What it waits for before it may start. */
	readonly missing: readonly string[];
	/** The usage limit that keeps it from going on; null when there is none. */
	readonly hold: Hold | null;
	/** Null for an agent that tells nothing of it. */
	readonly usage: UsageView | null;
}

export interface ResumedAgent {
	/** What the crash policy thought of it. */
	readonly from: PolicyState;
	/** What kept it, and does no more. */
	readonly released: readonly HoldKind[];
	/** How its start came out; null for a call agent, which has none. */
	readonly outcome: StartOutcome | null;
}

export interface Started {
	readonly id: string;
	/** `old_settings`: it runs, and keeps the settings it was started with until a reload. */
	readonly outcome: StartOutcome | "old_settings";
	readonly reason: string | null;
}
export type Stopped = { readonly id: string } & StopReport;
/** The start is null when none was tried. */
export type RestartedAgent = Stopped & { readonly start: StartReport | null };
export type Reloaded = AgentChange & {
	readonly stopped: StopReport | null;
	readonly start: StartReport | null;
};

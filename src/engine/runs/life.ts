/** What the engine asks of any agent's life, whatever kind of agent it is. */

import type { Asker } from "../../core/exit.js";
import type { Backend, RunExit, RunHandle } from "../../ports/backend.js";
import type { NewEvent, StoredRun, StoreTransaction } from "../../ports/store.js";
import type { PlannedStart } from "./agent-record.js";
import type { Agent, AgentSnapshot } from "./agent-state.js";
import type { StartOutcome, StopReport } from "./life-world.js";

export interface Life {
	readonly id: string;
	/** Whether it waits for leave to start. */
	readonly wantsToLaunch: boolean;
	snapshot(): AgentSnapshot;
	/** Starts the run it asked for, if nothing has come between. */
	launch(): Promise<void>;
	/** A backend reports the end of a run that may be one of this agent's. */
	exited(exit: RunExit): Promise<void>;
	/** Takes up what an earlier daemon left: its open runs, or its planned start. */
	recover(runs: readonly StoredRun[], planned: PlannedStart | null): Promise<void>;
	/** The backend and the run that it holds; null while none is known to be alive. */
	held(): { readonly backend: Backend; readonly handle: RunHandle } | null;
	/** Whether anything forbids a start now. */
	forbidden(): StartOutcome | null;
	askToStart(withContinue: boolean): Promise<StartOutcome>;
	stop(by: Asker, timeoutMs: number | undefined): Promise<StopReport>;
	/** Makes a change in its turn. */
	record(
		change: (agent: Agent) => readonly [changes: Partial<Agent>, events: readonly NewEvent[]],
		also?: (transaction: StoreTransaction) => void,
	): Promise<void>;
	/** Forgets its timers; what runs on by itself runs on. */
	letGo(): void;
}

/** The interface of every agent's lifecycle, for all kinds of agents. */

import type { Asker } from "../../core/exit.js";
import type { Backend, RunExit, RunHandle } from "../../ports/backend.js";
import type { NewEvent, StoredRun, StoreTransaction } from "../../ports/store.js";
import type { PlannedStart } from "./agent-record.js";
import type { Agent, AgentSnapshot } from "./agent-state.js";
import type { StartOutcome, StopReport } from "./life-world.js";

export interface Life {
	readonly id: string;
	/** Whether it waits for permission to start. */
	readonly wantsToLaunch: boolean;
	snapshot(): AgentSnapshot;
	/** Starts the requested run, if nothing has changed since. */
	launch(): Promise<void>;
	/** Whether this is the agent's run, held by a backend. */
	hasRun(runId: string): boolean;
	/** A backend reports the end of a run of this agent. */
	exited(exit: RunExit): Promise<void>;
	/** Continues the work of an earlier daemon: its open runs, or its planned start. */
	recover(runs: readonly StoredRun[], planned: PlannedStart | null): Promise<void>;
	/** The backend and the handle of its run; null while none is known to be alive. */
	held(): { readonly backend: Backend; readonly handle: RunHandle } | null;
	/** Whether anything forbids a start now. */
	forbidden(): StartOutcome | null;
	askToStart(withContinue: boolean): Promise<StartOutcome>;
	stop(by: Asker, timeoutMs: number | undefined): Promise<StopReport>;
	/** Makes a change in its mailbox. */
	record(
		change: (agent: Agent) => readonly [changes: Partial<Agent>, events: readonly NewEvent[]],
		also?: (transaction: StoreTransaction) => void,
	): Promise<void>;
	/** Cancels its timers; running processes are not affected. */
	letGo(): void;
}

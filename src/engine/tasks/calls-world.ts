/** What calls need of the rest of the engine and of the world. */

import type { AgentSpec, CallSpec, WorkerSpec } from "../../config/spec.js";
import type { ActionRequest } from "../../core/outcome.js";
import type { Clock } from "../../ports/clock.js";
import type { AttemptEnd, LeftAlive } from "../../ports/executor.js";
import type { Store } from "../../ports/store.js";

/** An agent that takes requests. */
export type CallableSpec = CallSpec | WorkerSpec;

/** The spec, if the agent takes requests. */
export function callable(spec: AgentSpec | null): CallableSpec | null {
	return spec === null || spec.kind === "session" ? null : spec;
}

export interface AttemptOrder {
	readonly spec: CallableSpec;
	readonly runId: string;
	readonly request: ActionRequest;
	readonly timeoutMs: number;
}

export interface CallsWorld {
	readonly store: Store;
	readonly clock: Clock;
	readonly random: () => number;
	readonly newId: () => string;
	/** Null when there is no such agent, or no longer. */
	readonly specOf: (agentId: string) => AgentSpec | null;
	/** Why an agent may do nothing more today; null when it may. */
	readonly overBudget: (agentId: string) => string | null;
	/** Whether an agent that has something to do may do it, with this many attempts under way. */
	readonly mayCall: (agentId: string, underWay: number) => boolean;
	/** Runs one attempt; resolves when nothing of it is left. Never rejects. */
	readonly perform: (order: AttemptOrder, signal: AbortSignal) => Promise<AttemptEnd>;
	/** Ends what attempts of an earlier daemon left; says what is not proven to be gone. */
	readonly endLeft: (runIds: readonly string[]) => Promise<readonly LeftAlive[]>;
	/** How many attempts may be under way at once, over all agents of a kind (T10). */
	readonly concurrency: Readonly<Record<CallableSpec["kind"], number>>;
	/** For the daemon's log: one line per attempt that failed, with its ids. */
	readonly log: (message: string, data: object) => void;
	/** Something failed that nobody waits for. */
	readonly onError: (about: string, error: unknown) => void;
}

/** An attempt of a call agent is a process. Those of a worker share its processes, which its pool bounds. */
export const DEFAULT_CONCURRENCY: CallsWorld["concurrency"] = { call: 16, worker: 1_000 };

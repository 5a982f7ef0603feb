/** The interfaces that tasks need from the agents and from the host. */

import type { AgentSpec, CallSpec, WorkerSpec } from "../../config/spec.js";
import type { ActionRequest } from "../../core/outcome.js";
import type { Clock } from "../../ports/clock.js";
import type { AttemptEnd, Executor, LeftAlive } from "../../ports/executor.js";
import type { Store } from "../../ports/store.js";
import type { RunningAttempts } from "./running-attempts.js";

/** An agent that accepts requests. */
export type CallableSpec = CallSpec | WorkerSpec;

/** The spec, if the agent accepts requests. */
export function callable(spec: AgentSpec | null): CallableSpec | null {
	return spec === null || spec.kind === "session" ? null : spec;
}

export interface AttemptOrder {
	readonly spec: CallableSpec;
	readonly runId: string;
	readonly request: ActionRequest;
	readonly timeoutMs: number;
}

/** The agents that run tasks. */
export interface TaskAgents {
	/** Null if the agent no longer exists. */
	specOf(agentId: string): AgentSpec | null;
	/** Why an agent may not continue today; null if it may. */
	overBudget(agentId: string): string | null;
	/** Whether an agent with this many running attempts may start another one. */
	mayCall(agentId: string, underWay: number): boolean;
	/** Runs one attempt; resolves when all of its processes are gone. Never rejects. */
	perform(order: AttemptOrder, signal: AbortSignal): Promise<AttemptEnd>;
}

/** For the daemon's log. */
export interface TaskLog {
	/** One line per failed attempt, with its ids. */
	attemptFailed(reason: string, ids: object): void;
	/** An attempt of an earlier daemon cannot be proven gone. */
	attemptLeft(left: LeftAlive): void;
	/** A failure without a waiting caller. */
	failed(taskId: string, error: unknown): void;
}

export interface TasksWorld {
	readonly store: Store;
	readonly clock: Clock;
	readonly random: () => number;
	readonly newId: () => string;
	readonly agents: TaskAgents;
	readonly executor: Pick<Executor, "endLeft">;
	/** The running attempts of this host, also of tasks that it shares with others. */
	readonly running: RunningAttempts;
	/** How many attempts may run at once, over all agents of a kind (T10). */
	readonly concurrency: Readonly<Record<CallableSpec["kind"], number>>;
	readonly log: TaskLog;
}

/**
 * An attempt of a call agent is a process. Those of a worker share its processes, which its pool
 * limits.
 */
export const DEFAULT_CONCURRENCY: TasksWorld["concurrency"] = { call: 16, worker: 1_000 };

/** The interfaces that calls need from the rest of the engine and from the host. */

import type { AgentSpec, CallSpec, WorkerSpec } from "../../config/spec.js";
import type { ActionRequest } from "../../core/outcome.js";
import type { Clock } from "../../ports/clock.js";
import type { AttemptEnd, LeftAlive } from "../../ports/executor.js";
import type { Store } from "../../ports/store.js";

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

export interface CallsWorld {
	readonly store: Store;
	readonly clock: Clock;
	readonly random: () => number;
	readonly newId: () => string;
	/** Null if there is no such agent any more. */
	readonly specOf: (agentId: string) => AgentSpec | null;
	/** Why an agent may not continue today; null if it may. */
	readonly overBudget: (agentId: string) => string | null;
	/** Whether an agent with this many running attempts may start another one. */
	readonly mayCall: (agentId: string, underWay: number) => boolean;
	/** Runs one attempt; resolves when all of its processes are gone. Never rejects. */
	readonly perform: (order: AttemptOrder, signal: AbortSignal) => Promise<AttemptEnd>;
	/** Kills the attempts of an earlier daemon; returns those that are not proven gone. */
	readonly endLeft: (runIds: readonly string[]) => Promise<readonly LeftAlive[]>;
	/** How many attempts may run at once, over all agents of a kind (T10). */
	readonly concurrency: Readonly<Record<CallableSpec["kind"], number>>;
	/** For the daemon's log: one line per failed attempt, with its ids. */
	readonly log: (message: string, data: object) => void;
	/** A failure without a waiting caller. */
	readonly onError: (about: string, error: unknown) => void;
}

/**
 * An attempt of a call agent is a process. Those of a worker share its processes, which its pool
 * limits.
 */
export const DEFAULT_CONCURRENCY: CallsWorld["concurrency"] = { call: 16, worker: 1_000 };

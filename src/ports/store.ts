/**
 * What the engine remembers across its own death. All writes go through `commit`: state, event and
 * pending effect become durable together or not at all, and only then are events published.
 *
 * No secret is ever handed to the store (A5): an agent's spec comes without the values of its
 * environment.
 */

import type { CrashState, ExitClass } from "../core/crash-state.js";
import type { EventMap, EventType, ReeveEvent } from "../core/events.js";
import type { Asker, ExitCause, ExitKind } from "../core/exit.js";
import type { Retention } from "../core/retention.js";
import type { ConversationLease } from "./adapter.js";
import type { RunHandle } from "./backend.js";
import type { TaskReads, TaskWrites } from "./task-store.js";

export interface StoredAgent {
	/** `project:name`. */
	readonly id: string;
	/** The fleet file that it came from, absolute. */
	readonly fleetFile: string;
	/** Place among the agents of its file. */
	readonly position: number;
	/** The resolved spec, without the values of its environment. */
	readonly spec: unknown;
	readonly desired: "up" | "down";
	readonly crash: CrashState;
	/** The agent ended by itself and a person is to say what comes next. */
	readonly waiting: boolean;
	/** Why it is as it is, in words. */
	readonly reason: string;
	/** Restarts ever. */
	readonly restarts: number;
	/** When a run of it last failed, in wall time. Left out by older versions. */
	readonly lastFailureAtMs?: number | null;
	/** The conversation that it takes up when it starts again. */
	readonly conversation?: string | null;
}

export interface StoredRun {
	readonly runId: string;
	readonly agentId: string;
	readonly backend: string;
	/** `intended` before the start was confirmed, `ended` once its exit is recorded and its processes are gone. */
	readonly state: "intended" | "running" | "ended";
	readonly handle: RunHandle | null;
	readonly intendedAtMs: number;
	/** Who asked it to end, recorded before it is told to. */
	readonly askedBy: Asker | null;
	readonly withContinue: boolean;
	/** The conversation that it holds; null for an agent without one. */
	readonly conversation?: RunConversation | null;
	/** Whether it has been seen ready. */
	readonly ready?: boolean;
	/** Its exit is recorded, but its process tree is not proven gone: it is open for that alone. */
	readonly exitRecorded?: boolean;
}

export interface RunConversation {
	readonly mode: "fresh" | "resume";
	/** Null until the CLI has told it. */
	readonly id: string | null;
	/** The right to hold it; null while it has no id. */
	readonly lease: ConversationLease | null;
}

export interface StoredExit {
	readonly runId: string;
	readonly agentId: string;
	readonly code: number | null;
	readonly signal: string | null;
	readonly cause: ExitCause;
	readonly askedBy: Asker | null;
	readonly kind: ExitKind;
	readonly class: ExitClass | null;
	readonly uptimeMs: number;
	readonly atMs: number;
	readonly reason: string;
}

/** Something that has been decided and must still be done, also by the next daemon. */
export interface PendingEffect {
	/** One effect per key: a later one replaces it. */
	readonly key: string;
	readonly type: string;
	readonly dueAtMs: number;
	readonly payload: unknown;
}

/** An event before it has its place in the sequence. */
export type NewEvent = {
	[Type in EventType]: Omit<Extract<ReeveEvent, { type: Type }>, "seq" | "at" | "data"> & {
		readonly data: EventMap[Type];
	};
}[EventType];

export interface StoreTransaction extends TaskWrites {
	putAgent(agent: StoredAgent): void;
	removeAgent(id: string): void;
	putRun(run: StoredRun): void;
	putExit(exit: StoredExit): void;
	putEffect(effect: PendingEffect): void;
	removeEffect(key: string): void;
	/** Gives the event the next number in the sequence, without gap or repeat (A3). */
	appendEvent(event: NewEvent, atMs: number): void;
	/**
	 * A change that also changes memory registers how to undo that. When its transaction is rolled back,
	 * memory is restored at once, newest change first, and the change runs again at the next attempt.
	 */
	onRollback(undo: () => void): void;
}

export interface EventQuery {
	/** Only events after this one. */
	readonly afterSeq: number;
	readonly limit: number;
	readonly agent?: string;
}

/** How many records were removed. */
export interface Pruned {
	readonly events: number;
	readonly exits: number;
	readonly runs: number;
	readonly tasks: number;
	readonly plans: number;
}

export type StoreHealth =
	| { readonly ok: true }
	/** Nothing can be written now (locked, read-only, full). What is in memory still holds. */
	| { readonly ok: false; readonly reason: string };

/** A request from outside: its changes are refused together while nothing can be written. */
export interface StoreRequest {
	/** One of its changes is durable. */
	readonly hasBegun: boolean;
}

export interface Store extends TaskReads {
	readAgents(): readonly StoredAgent[];
	/** Runs that have not ended. */
	readOpenRuns(): readonly StoredRun[];
	/** The newest exits of an agent, newest first. */
	readExits(agentId: string, limit: number): readonly StoredExit[];
	readEffects(): readonly PendingEffect[];
	readEvents(query: EventQuery): readonly ReeveEvent[];
	/** The number of the newest event, 0 when there is none. */
	lastSeq(): number;
	/** The number of the oldest event that is still kept; the next number when there is none. */
	firstSeq(): number;
	/** Removes history that is not to be kept any more. What is open is not history. */
	prune(retention: Retention, nowMs: number): Promise<Pruned>;
	/**
	 * Applies a change. Changes that wait at the same moment share one durable commit, but each stands
	 * by itself: one that throws is undone alone. Resolves when the change is durable (T4).
	 */
	commit<T>(change: (transaction: StoreTransaction) => T, request?: StoreRequest): Promise<T>;
	/**
	 * Runs an outside request, and answers in time also while nothing can be written. If none of its changes
	 * is durable by then, they are withdrawn and it rejects with `store_unavailable`. Otherwise a part of the
	 * request is durable and may have had effects: it rejects with `outcome_pending`, and the rest goes on.
	 */
	accept<T>(act: () => T | Promise<T>): Promise<T>;
	/**
	 * The same for work that hands the request to its commits itself. Following the asynchronous context instead, as
	 * `accept` does, slows every promise of the process down: too much for requests that come by the thousand.
	 */
	acceptPassing<T>(act: (request: StoreRequest) => T | Promise<T>): Promise<T>;
	/** Runs work that belongs to no request, also when one has asked for it: it is not withdrawn with the request. */
	detach<T>(act: () => T): T;
	/** Calls back with the events of a commit, in order, after it is durable. */
	onCommit(listener: (events: readonly ReeveEvent[]) => void): () => void;
	health(): StoreHealth;
	close(): Promise<void>;
}

/**
 * The persistent state of the engine. All writes go through `commit`: state, event and pending effect
 * become durable together or not at all, and only then are events published.
 *
 * The store never receives a secret (A5): an agent's spec comes without the values of its environment.
 */

import type { CrashState, ExitClass } from "../core/crash-state.js";
import type { EventMap, EventType, ReeveEvent } from "../core/events.js";
import type { Asker, ExitCause, ExitKind } from "../core/exit.js";
import type { Hibernation } from "../core/hibernation.js";
import type { Notice } from "../core/notice.js";
import type { Retention } from "../core/retention.js";
import type { ConversationLease } from "./adapter.js";
import type { AgentStateReads, AgentStateWrites } from "./agent-store.js";
import type { RunHandle } from "./backend.js";
import type { ScheduleReads, ScheduleWrites } from "./schedule-store.js";
import type { TaskReads, TaskWrites } from "./task-store.js";

export interface StoredAgent {
	/** `project:name`. */
	readonly id: string;
	/** Its fleet file, absolute. */
	readonly fleetFile: string;
	/** Position among the agents of its file. */
	readonly position: number;
	/** The resolved spec, without the values of its environment. */
	readonly spec: unknown;
	/** Counts the changes of its settings. Omitted by older versions. */
	readonly revision?: number;
	readonly desired: "up" | "down";
	readonly crash: CrashState;
	/** The agent exited cleanly and waits for the operator's decision. */
	readonly waiting: boolean;
	/** The reason for its state, as text. */
	readonly reason: string;
	/** Total number of restarts. */
	readonly restarts: number;
	/** When one of its runs last failed, in wall time. Omitted by older versions. */
	readonly lastFailureAtMs?: number | null;
	/** The conversation that its next start resumes. */
	readonly conversation?: string | null;
	/** Set while it hibernates, from the decision on. Omitted by older versions. */
	readonly hibernation?: Hibernation | null;
}

export interface StoredRun {
	readonly runId: string;
	readonly agentId: string;
	readonly backend: string;
	/** `intended` before the start was confirmed, `ended` once its exit is recorded and its processes are gone. */
	readonly state: "intended" | "running" | "ended";
	/** The revision of the agent's settings that it was started with. Omitted by older versions. */
	readonly revision?: number;
	readonly handle: RunHandle | null;
	readonly intendedAtMs: number;
	/** Who requested its stop, recorded before it is asked to exit. */
	readonly askedBy: Asker | null;
	/** Why, as text; omitted if the asker gave no reason. */
	readonly askedWhy?: string;
	readonly withContinue: boolean;
	/** Its conversation; null for an agent without one. */
	readonly conversation?: RunConversation | null;
	/** Whether it has been ready. */
	readonly ready?: boolean;
	/**
	 * Its exit is recorded, but its process tree is not proven gone: the run stays open only for that.
	 */
	readonly exitRecorded?: boolean;
	/** Why Reeve ends it; recorded before that, so that the next daemon knows the cause of the exit. */
	readonly failing?: RunFailure;
}

/** A run that Reeve ends because it has failed. */
export interface RunFailure {
	readonly cause: Extract<ExitCause, "start_timeout" | "unhealthy">;
	/** As text. */
	readonly detail: string;
}

export interface RunConversation {
	readonly mode: "fresh" | "resume";
	/** Null until the CLI has reported it. */
	readonly id: string | null;
	/** The lease of the conversation; null while it has no id. */
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
	/** Where its output begins in the log of its agent; null if nothing ran. Omitted by older versions. */
	readonly outputFrom?: number | null;
}

/** The data of each type of pending effect. */
export interface EffectPayloads {
	/** The start that the policy has decided on; `afterMs` is the delay at that time. */
	readonly start: { readonly agent: string; readonly afterMs: number };
	/** An operator wants an agent with `placement` to run, or not; the database of the cluster may not have it yet. */
	readonly wish: { readonly agent: string; readonly wanted: boolean };
	readonly notification: {
		readonly route: string;
		readonly notice: Notice;
		readonly attempts: number;
	};
}

export interface EffectOf<Type extends keyof EffectPayloads> {
	/** One effect per key: a later one replaces it. */
	readonly key: string;
	readonly type: Type;
	readonly dueAtMs: number;
	readonly payload: EffectPayloads[Type];
}

/** A decided action that still has to be performed, if necessary by the next daemon. */
export type PendingEffect = {
	[Type in keyof EffectPayloads]: EffectOf<Type>;
}[keyof EffectPayloads];

/** An event before it has its sequence number. */
export type NewEvent = {
	[Type in EventType]: Omit<Extract<ReeveEvent, { type: Type }>, "seq" | "at" | "data"> & {
		readonly data: EventMap[Type];
	};
}[EventType];

export interface StoreTransaction extends TaskWrites, AgentStateWrites, ScheduleWrites {
	putAgent(agent: StoredAgent): void;
	removeAgent(id: string): void;
	putRun(run: StoredRun): void;
	putExit(exit: StoredExit): void;
	putEffect(effect: PendingEffect): void;
	removeEffect(key: string): void;
	/** How far a reader has processed the events. */
	putCursor(reader: string, seq: number): void;
	removeCursor(reader: string): void;
	/** Gives the event the next sequence number, without gap or repeat (A3). */
	appendEvent(event: NewEvent, atMs: number): void;
	/**
	 * Registers how to undo a change in memory. If the transaction is rolled back, memory is restored
	 * immediately, newest change first, and the change runs again at the next attempt.
	 */
	onRollback(undo: () => void): void;
}

export interface EventQuery {
	/** Only events after this one. */
	readonly afterSeq: number;
	readonly limit: number;
	readonly agent?: string;
	readonly types?: readonly EventType[];
}

export interface EarlierEventQuery {
	/** Only events before this one. */
	readonly beforeSeq: number;
	readonly limit: number;
	readonly agent?: string;
}

/** An exit with its place in the order of recording. */
export interface NumberedExit {
	readonly number: number;
	readonly exit: StoredExit;
}

/** How many records were removed. */
export interface Pruned {
	readonly events: number;
	readonly exits: number;
	readonly runs: number;
	readonly tasks: number;
	readonly plans: number;
	readonly slots: number;
}

export type StoreHealth =
	| { readonly ok: true }
	/** Nothing can be written now (locked, read-only, full). The state in memory stays valid. */
	| { readonly ok: false; readonly reason: string };

/** An external request: while nothing can be written, its changes are rejected together. */
export interface StoreRequest {
	/** Whether one of its changes is durable. */
	readonly hasBegun: boolean;
}

/** The persistent state. Reads are synchronous, all writes go through `commit`. */
export interface Store extends TaskReads, AgentStateReads, ScheduleReads {
	readAgents(): readonly StoredAgent[];
	/** Runs that have not ended. */
	readOpenRuns(): readonly StoredRun[];
	/** The newest exits of an agent, newest first. */
	readExits(agentId: string, limit: number): readonly StoredExit[];
	/** The newest exits of an agent before this number, newest first. */
	readExitsBefore(agentId: string, before: number, limit: number): readonly NumberedExit[];
	/** Those that are due first come first. */
	readEffects<Type extends keyof EffectPayloads>(type: Type): readonly EffectOf<Type>[];
	/** Null for a reader that has not stored one. */
	readCursor(reader: string): number | null;
	readEvents(query: EventQuery): readonly ReeveEvent[];
	/** Newest first. */
	readEventsBefore(query: EarlierEventQuery): readonly ReeveEvent[];
	/**
	 * The number of the first event at or after this time, found by bisection: after the wall clock was set
	 * back, it is one of several such events.
	 */
	seqAt(atMs: number): number;
	/** The number of the newest event, 0 if there is none. */
	lastSeq(): number;
	/** The number of the oldest available event; the next number if there is none. */
	firstSeq(): number;
	/** Removes expired history. Open runs, tasks and plans are not history. */
	prune(retention: Retention, nowMs: number): Promise<Pruned>;
	/**
	 * Applies a change. Changes that are queued at the same moment share one durable commit, but each is
	 * independent: one that throws is undone alone. Resolves when the change is durable (T4).
	 */
	commit<T>(change: (transaction: StoreTransaction) => T, request?: StoreRequest): Promise<T>;
	/**
	 * Runs an external request, and responds in time even while nothing can be written. If none of its
	 * changes is durable by then, they are withdrawn and it rejects with `store_unavailable`. Otherwise a
	 * part of the request is durable and may have had effects: it rejects with `outcome_pending`, and the
	 * rest continues.
	 */
	accept<T>(act: () => T | Promise<T>): Promise<T>;
	/**
	 * The same for work that passes the request to its commits explicitly. Using the asynchronous
	 * context, as `accept` does, slows down every promise of the process, which is too expensive for
	 * thousands of requests.
	 */
	acceptWithRequest<T>(act: (request: StoreRequest) => T | Promise<T>): Promise<T>;
	/**
	 * Runs work that belongs to no request, even if a request caused it: it is not withdrawn with the
	 * request.
	 */
	detach<T>(act: () => T): T;
	/** Calls back with the events of a commit, in order, after it is durable. */
	onCommit(listener: (events: readonly ReeveEvent[]) => void): () => void;
	health(): StoreHealth;
	close(): Promise<void>;
}

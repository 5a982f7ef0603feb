/**
 * Tasks that the hosts of a cluster share. Every change is decided by a pure function from the stored task and the
 * circuit of its agent, while both are locked, and stored in one transaction with its events and with the place of the
 * task in its queue. Times are those of the database's clock.
 */

import type { BreakerState, Permit } from "../core/breaker.js";
import type { Member } from "../core/cluster.js";
import type { TaskStatus } from "../core/task.js";
import type { NewEvent } from "./store.js";
import type {
	LetterCount,
	StoredAttempt,
	StoredBreaker,
	StoredTask,
	TaskCountQuery,
	TaskInput,
	TaskQuery,
} from "./task-store.js";

/** A task with its place in the cluster. */
export interface SharedTask {
	readonly task: StoredTask;
	/** The daemon that runs its attempt; null while none does. */
	readonly runner: Member | null;
	/** The number of its newest place in the queue. Earlier ones have no effect. */
	readonly ticket: number;
	/** The permit of its request from the circuit of its agent. */
	readonly permit: Permit | null;
	/** How often its host was lost. */
	readonly takeovers: number;
	/** Since when the circuit of its agent does not admit it. */
	readonly blockedSinceMs: number | null;
	/** Why its running attempt is to be killed. */
	readonly cancelReason: string | null;
}

/** The state from which a change is decided, and its time. */
export interface SharedState {
	readonly shared: SharedTask;
	readonly circuit: BreakerState;
	/** How many attempts of the agent run in the whole cluster. */
	readonly running: number;
	readonly atMs: number;
}

/** A decided change. */
export interface SharedWrites {
	readonly shared: SharedTask;
	/** The new state of the circuit, if it changed. */
	readonly circuit?: BreakerState;
	readonly attempt?: StoredAttempt;
	readonly result?: { readonly value: unknown };
	readonly events: readonly NewEvent[];
	/** Puts the task into its queue, as its ticket, so that a host gets it after this time. */
	readonly queueAfterMs?: number;
	/** Nothing has to be written: the task has to wait as it is. */
	readonly waits?: true;
}

/** A change that is stored, or a task that waits. */
export interface ChangedShared extends SharedWrites {
	/** Null unless it was asked for. */
	readonly input: TaskInput | null;
}

/** Null if there is nothing to change. */
export type DecideShared = (state: SharedState) => SharedWrites | null;

export interface NewSharedTask {
	readonly shared: SharedTask;
	readonly input: TaskInput;
	readonly events: readonly NewEvent[];
	/** A dead letter that the task replays, and how it is closed. Throws if it is no longer open. */
	readonly replays?: { readonly taskId: string; readonly decide: DecideShared };
}

export interface SharedDetail {
	readonly shared: SharedTask;
	readonly input: TaskInput | null;
	readonly result: unknown;
	readonly attempts: readonly StoredAttempt[];
}

/** An event of a task that this host caused. */
export interface SharedEvent {
	/** Increases with every event of this host. */
	readonly seq: number;
	readonly atMs: number;
	readonly event: NewEvent;
}

/** An agent whose tasks this host may run. */
export interface ServedAgent {
	readonly agent: string;
	/** How many this host takes from the queue at once. */
	readonly slots: number;
}

/** The place of a task in its queue, taken by a daemon. */
export interface Stranded {
	readonly taskId: string;
	readonly ticket: number;
	/** The daemon that took it. */
	readonly boot: string;
}

/** A task that a host gets from a queue. */
export interface Turn extends Omit<Stranded, "boot"> {
	readonly agentId: string;
}

export interface SharedTasksDatabase {
	/** Creates what the queues need; any number of hosts may do so at once. */
	prepare(member: Member): Promise<void>;
	/** The earlier task with the same idempotency key, or null if this one was accepted. */
	accept(member: Member, task: NewSharedTask): Promise<StoredTask | null>;
	/** The decided change, if one was decided and stored. A task that does not exist is left alone. */
	change(
		member: Member,
		taskId: string,
		decide: DecideShared,
		options?: { readonly withInput: boolean },
	): Promise<ChangedShared | null>;
	/** The operator closes a circuit, for example; returns its earlier state. */
	changeCircuit(
		member: Member,
		agentId: string,
		decide: (
			circuit: BreakerState,
			atMs: number,
		) => { readonly circuit: BreakerState; readonly events: readonly NewEvent[] },
	): Promise<BreakerState>;
	read(taskId: string): Promise<SharedDetail | null>;
	list(query: TaskQuery, agents: readonly string[]): Promise<readonly SharedDetail[]>;
	count(
		query: TaskCountQuery,
		agents: readonly string[],
	): Promise<Readonly<Partial<Record<TaskStatus, number>>>>;
	countLetters(agents: readonly string[]): Promise<readonly LetterCount[]>;
	readCircuits(agents: readonly string[]): Promise<readonly StoredBreaker[]>;
	/** Which of these tasks have ended. */
	ended(taskIds: readonly string[]): Promise<readonly string[]>;
	/** The running attempts of this home: of this daemon and of earlier ones. */
	runningOf(home: string): Promise<readonly SharedTask[]>;
	/** Running attempts of hosts that are silent or gone. */
	lost(): Promise<readonly SharedTask[]>;
	/** Tasks that were taken from their queues by daemons that are not alive. */
	stranded(): Promise<readonly Stranded[]>;
	/** Tasks that this daemon has taken from their queues, and that it may no longer know. */
	takenBy(boot: string): Promise<readonly Stranded[]>;
	/** Removes these entries from their queues, after their tasks have new ones. */
	discard(entries: readonly Stranded[]): Promise<void>;
	/** Runs work that one host at a time does; false if another one does it now. */
	exclusively(work: () => Promise<void>): Promise<boolean>;
	/** Events of this host after this number, in order. */
	eventsAfter(home: string, seq: number): Promise<readonly SharedEvent[]>;
	/** Calls back with the events of every change of this host, in order, after it is durable. */
	onEvents(listener: (events: readonly SharedEvent[]) => void): void;
	/**
	 * Removes some tasks that ended before the first time, with everything about them, and some entries that left their
	 * queues before the second. Open dead letters are kept. Returns how many of both.
	 */
	prune(endedBeforeMs: number, leftBeforeMs: number): Promise<number>;
	/**
	 * Takes tasks of these agents from their queues until the signal aborts, and passes each to `run`, which resolves
	 * when the host is done with it.
	 */
	serve(
		member: Member,
		agents: readonly ServedAgent[],
		run: (turn: Turn) => Promise<void>,
		signal: AbortSignal,
	): Promise<void>;
}

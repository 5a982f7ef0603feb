/** The leases of agents that may run on several hosts: for the engine, and in the shared database of a cluster. */

import type { Member } from "../core/cluster.js";
import type {
	Lease,
	LostAnswer,
	OnLost,
	PlacementSettings,
	PlacementState,
} from "../core/lease.js";
import type { Placed, PlacementHost } from "../core/placement.js";
import type { Deadline } from "./backend.js";

/** An agent with `placement`. */
export interface PlacedAgent {
	readonly id: string;
	/** The agent CLI that must be installed; null for none. */
	readonly cli: string | null;
	readonly placement: PlacementSettings;
	/** How long it may take to exit. */
	readonly drainMs: number;
}

export interface PlacementView {
	/**
	 * `held`: it may run here. `elsewhere`: another host has it. `lost`: the host that has it does not renew its lease.
	 * `down`: an operator took it down on some host. `waiting`: no host has it yet. `unavailable`: unknown, without the
	 * database.
	 */
	readonly state: PlacementState;
	/** The host that has its lease; null if none does, or if it is unknown. */
	readonly host: string | null;
	/** Null if it is unknown. */
	readonly epoch: number | null;
	readonly onLost: OnLost;
	readonly reason: string;
	/** It waits although the hosts have been looked at, because none is suitable. */
	readonly noHost: boolean;
	/** Since when an operator is asked what happens, because its host is lost; null if none is. */
	readonly asksSinceMs: number | null;
}

/** An operator wants an agent to run, or not, on whichever host. */
export interface Wish {
	readonly wanted: boolean;
	/** Wall time. */
	readonly atMs: number;
}

/** The agents of this host, as their leases need them. */
export interface LeasedAgents {
	/** Those with `placement`, and whether they are wanted up here. */
	placed(): readonly { readonly agent: PlacedAgent; readonly isUp: boolean }[];
	/** Whether no process of it runs here. */
	isGone(id: string): boolean;
	/** It may start here now. */
	gained(id: string): void;
	/** It must not run here: if it does, it has this long to exit. Called again while that lasts. */
	lost(id: string, graceMs: number, reason: string): void;
	/** The database has the wish. */
	announced(id: string, wish: Wish): void;
	/** Its run may go on until then; a time of 0 is no limit. */
	extended(id: string, deadline: Deadline): void;
	/** An operator must decide about it; `notifies`: this is the host that notifies people. */
	asks(id: string, notifies: boolean): void;
	/** There is no longer anything to decide. */
	asksNoMore(id: string, epoch: number): void;
}

export interface Leases {
	attach(agents: LeasedAgents): void;
	/** Whether the agent may run here now. */
	isHeld(id: string): boolean;
	/** When its run must end unless the lease is renewed; null for no limit. */
	deadline(id: string): Deadline | null;
	view(agent: PlacedAgent): PlacementView;
	/** Sends a wish to the other hosts as soon as possible. */
	setWanted(id: string, wish: Wish): void;
	/** Decides about an agent whose host is lost. False if that is no longer to be decided. */
	answerLost(id: string, epoch: number, answer: LostAnswer): Promise<boolean>;
}

/** An agent that a host could run. */
export interface OfferedAgent {
	readonly agent: string;
	readonly onLost: OnLost;
	readonly leaseMs: number;
}

export interface HeldLease {
	readonly agent: string;
	readonly epoch: number;
}

export interface Assignment extends Placed, HeldLease {
	readonly renewals: number;
}

export interface SentWish {
	readonly agent: string;
	readonly wanted: boolean;
	/** How long ago an operator wished it. */
	readonly ageMs: number;
}

/** Every write names an epoch and, of a daemon, its boot; one that is outdated changes nothing and is reported so. */
export interface LeaseTable {
	/** Announces what the host could run, makes missing rows, and returns the leases of these agents. */
	offer(member: Member, agents: readonly OfferedAgent[]): Promise<readonly Lease[]>;
	/** Returns the agents whose lease was renewed. */
	renew(member: Member, held: readonly HeldLease[]): Promise<readonly string[]>;
	/** Takes leases that are assigned to the host, or were its own. Returns those that it got, with their new epochs. */
	claim(
		member: Member,
		leases: readonly (HeldLease & OfferedAgent)[],
	): Promise<readonly HeldLease[]>;
	/** False if it is outdated. */
	release(member: Member, lease: HeldLease): Promise<boolean>;
	/** True for the first host that asks about the loss of this holder. */
	ask(lease: HeldLease): Promise<boolean>;
	/** Records the decision about the loss of this holder; false if it is outdated. */
	answer(lease: HeldLease, answer: LostAnswer): Promise<boolean>;
	/** Whether agents are to run on any host. A later wish counts more than one that arrives later. */
	setWanted(wishes: readonly SentWish[], by: string): Promise<void>;
	/**
	 * Assigns leases that are free; one host at a time. Null if another host does it now. An assignment that is
	 * outdated is left out.
	 */
	sweep(
		agents: readonly string[],
		decide: (leases: readonly Lease[], hosts: readonly PlacementHost[]) => readonly Assignment[],
	): Promise<readonly Assignment[] | null>;
}

/**
 * Leases of agents that may run on several hosts: who holds one, when its holder must end the agent, and when another
 * host may take it. The holder counts from the moment it sent the last renewal that succeeded, so it always ends the
 * agent before another host can see the lease expire (S1, for all hosts together).
 */

/**
 * The reaction of other hosts when a host no longer renews the lease of its agent: they leave the agent to its host, wait
 * until an operator has removed that host, or replace it.
 */
export const ON_LOST_CHOICES = ["keep", "ask", "replace"] as const;
export type OnLost = (typeof ON_LOST_CHOICES)[number];

/** The decisions of operators about an agent with `ask` whose host is lost. */
export const LOST_ANSWERS = ["wait", "replace"] as const;
export type LostAnswer = (typeof LOST_ANSWERS)[number];

/** The place of an agent, as one host knows it. */
export const PLACEMENT_STATES = [
	"held",
	"elsewhere",
	"lost",
	"down",
	"waiting",
	"unavailable",
] as const;
export type PlacementState = (typeof PLACEMENT_STATES)[number];

export interface PlacementSettings {
	/** Labels that its host must have. */
	readonly labels: Readonly<Record<string, string>>;
	readonly onLost: OnLost;
	readonly leaseMs: number;
}

export const DEFAULT_LEASE_MS = 15_000;
/** A shorter one would leave no time for renewals that fail, for the agent's exit, and for the kill. */
export const LEASE_MS_MIN = 6_000;
const MARGIN_MS_MIN = 1_000;

/** The parts of a lease. */
export interface LeaseTimes {
	/** How often its holder renews it. */
	readonly renewMs: number;
	/** How long the agent has to exit when the lease is lost. */
	readonly graceMs: number;
	/** For the kill, the proof that nothing is left, and clocks that run at different speeds. */
	readonly marginMs: number;
}

export function leaseTimes(leaseMs: number, drainMs: number): LeaseTimes {
	return {
		renewMs: Math.floor(leaseMs / 6),
		graceMs: Math.min(drainMs, Math.floor(leaseMs / 3)),
		marginMs: Math.max(MARGIN_MS_MIN, Math.floor(leaseMs / 15)),
	};
}

/** When the agent must be asked to exit, on the clock on which the renewal was sent. */
export function endsAtMs(sentMs: number, leaseMs: number, drainMs: number): number {
	const { graceMs, marginMs } = leaseTimes(leaseMs, drainMs);
	return sentMs + leaseMs - graceMs - marginMs;
}

/** A lease as the database has it. */
export interface Lease {
	readonly agent: string;
	/** Changes with every holder; a write with an earlier one is refused. */
	readonly epoch: number;
	/** Counts the renewals. */
	readonly renewals: number;
	/** The host that holds it or is to take it; null for none. */
	readonly host: string | null;
	/** The home of that host. */
	readonly home: string | null;
	/** The daemon that holds it; null if the host has not taken it yet. */
	readonly boot: string | null;
	readonly onLost: OnLost;
	readonly leaseMs: number;
	/** How long it still lasts, by the database's clock; 0 or less if it has expired. */
	readonly leftMs: number;
	/** Whether its host is a member of the cluster, alive or not. */
	readonly isHostKnown: boolean;
	/** Whether that host is about to restart, and gives its agents to other hosts. */
	readonly isHostLeaving: boolean;
	/** Whether the agent is to run at all. */
	readonly wanted: boolean;
	/** Why it is on its host, or the host that took it down. */
	readonly reason: string;
	/** The decision of an operator since this holder was lost; null if there is none. */
	readonly answer: LostAnswer | null;
}

/** Whether another host may take the lease now. */
export function isFree(
	lease: Omit<Lease, "agent" | "epoch" | "renewals" | "reason" | "isHostLeaving">,
): boolean {
	const { host, boot, onLost, leftMs, isHostKnown, answer } = lease;
	const isOver = leftMs <= 0;
	if (host === null) return true;
	// It was never taken, so nothing runs there.
	if (boot === null) return isOver || !isHostKnown;
	if (onLost === "keep") return !isHostKnown;
	return isOver && (onLost === "replace" || !isHostKnown || answer === "replace");
}

/** Whether its host is lost, so that an operator may have to decide what happens. */
function isLost({ host, boot, leftMs, isHostKnown }: Lease): boolean {
	return host !== null && boot !== null && leftMs <= 0 && isHostKnown;
}

/** Whether an operator has to decide: the lease is over by both clocks, as for a host that replaces the agent. */
export function mustAsk(lease: Lease, observed: Observed, nowMs: number): boolean {
	if (lease.onLost !== "ask" || lease.answer !== null || !lease.wanted) return false;
	return isLost(lease) && nowMs - observed.sinceMs >= lease.leaseMs;
}

/** The next step of a host with the lease of an agent that it could run. */
export type LeaseStep =
	/** It holds the lease. */
	| "hold"
	/** The lease is assigned to it, or was its own before. */
	| "claim"
	/** Another host may be chosen, or this one. */
	| "place"
	/** Another host has it. */
	| "leave"
	/** It holds the lease, and is to give the agent to another host. */
	| "hand_over"
	/** The agent is to run nowhere. */
	| "stop";

export function decideStep(
	lease: Lease,
	me: { readonly home: string; readonly boot: string; readonly heldEpoch: number | null },
): LeaseStep {
	if (!lease.wanted) return "stop";
	if (lease.home === me.home && lease.host !== null) {
		if (lease.isHostLeaving && lease.onLost === "replace") return "hand_over";
		return lease.boot === me.boot && lease.epoch === me.heldEpoch ? "hold" : "claim";
	}
	return isFree(lease) ? "place" : "leave";
}

/** A lease as this host last saw it change. */
export interface Observed {
	readonly epoch: number;
	readonly renewals: number;
	/** On the steady clock, after the answer had arrived. */
	readonly sinceMs: number;
}

/** Remembers when a lease last changed. */
export function observe(before: Observed | null, lease: Lease, nowMs: number): Observed {
	const { epoch, renewals } = lease;
	if (before?.epoch === epoch && before.renewals === renewals) return before;
	return { epoch, renewals, sinceMs: nowMs };
}

/**
 * Whether a free lease may be taken. The database's clock may be set, so a lease that another host held must also have
 * been unchanged for its whole length by the clock of the host that takes it.
 */
export function mayTake(lease: Lease, observed: Observed, nowMs: number): boolean {
	if (!isFree(lease)) return false;
	if (lease.host === null || lease.boot === null || lease.onLost === "keep") return true;
	return nowMs - observed.sinceMs >= lease.leaseMs;
}

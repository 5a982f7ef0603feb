/**
 * The leases of this host. Each keeps the agent of one row of the database here; the agent ends before its lease can be
 * taken by another host, whether or not the database answers (S1). The daemon watches the time on the clock that
 * continues while the host is suspended, and gives each run the deadline at which its shim ends it without a daemon.
 */

import type { Member } from "../core/cluster.js";
import { ReeveError } from "../core/errors.js";
import {
	decideStep,
	endsAtMs,
	type Lease,
	type LostAnswer,
	leaseTimes,
	mayTake,
	type Observed,
	observe,
} from "../core/lease.js";
import type { Deadline } from "../ports/backend.js";
import type {
	LeasedAgents,
	Leases,
	LeaseTable,
	PlacedAgent,
	PlacementView,
	Wish,
} from "../ports/leases.js";
import type { NewEvent } from "../ports/store.js";
import { AskedAgents } from "./asked-agents.js";
import { viewLease } from "./lease-view.js";
import { sweepLeases } from "./sweep.js";

/** How often the host looks at the leases of its agents, if none is renewed more often. */
const TICK_MS_MAX = 2_500;
/** An assignment of this host's own sweep is taken at once. */
const SOON_MS = 20;
const WATCH_MS = 100;

export interface HostLeases extends Leases {
	/** Takes and renews leases until the signal aborts. Those that it has stay until they end. */
	run(member: Member, table: LeaseTable, signal: AbortSignal): Promise<void>;
	close(): void;
}

interface Held {
	readonly epoch: number;
	readonly agent: PlacedAgent;
	readonly reason: string;
	/** When it must be asked to exit, on the clock of the host since boot; null for never. */
	endsAtMs: number | null;
}

/** A lease that this host is to take. */
interface Claim {
	readonly agent: PlacedAgent;
	readonly lease: Lease;
}

export interface LeaseParts {
	/** The clock of this host since its boot, which continues while the host is suspended; null if there is none. */
	readonly bootMs: () => number | null;
	readonly steadyMs: () => number;
	readonly wallMs: () => number;
	/** Why the cluster is not available, as text; null if it is. */
	readonly unavailable: () => string | null;
	readonly note: (event: NewEvent) => void;
	readonly random: () => number;
	/** Resolves after the time, or when the signal aborts. */
	readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
	/** Calls back repeatedly until the returned function is called. */
	readonly every: (ms: number, run: () => void) => () => void;
}

export function createHostLeases(parts: LeaseParts): HostLeases {
	return new ClusterLeases(parts);
}

class ClusterLeases implements HostLeases {
	readonly #parts: LeaseParts;
	readonly #held = new Map<string, Held>();
	readonly #seen = new Map<string, Lease>();
	readonly #observed = new Map<string, Observed>();
	/** Why no host is suitable for an agent. */
	readonly #unplaced = new Map<string, string>();
	/** Wishes of operators that the database does not have yet. */
	readonly #wanted = new Map<string, Wish>();
	#agents: LeasedAgents | null = null;
	/** Why the last tick failed; null if it did not. */
	#problem: string | null = null;
	#member: Member | null = null;
	/** Whether the database may have offers of this host. */
	#hasOffered = true;
	/** While this host is a member. */
	#table: LeaseTable | null = null;
	readonly #asked = new AskedAgents();
	#wake = () => {};
	#stopWatch: (() => void) | null = null;

	constructor(parts: LeaseParts) {
		this.#parts = parts;
	}

	attach(agents: LeasedAgents): void {
		this.#agents = agents;
	}

	isHeld(id: string): boolean {
		const held = this.#held.get(id);
		if (held === undefined) return false;
		return held.endsAtMs === null || (this.#parts.bootMs() ?? Number.NaN) < held.endsAtMs;
	}

	deadline(id: string): Deadline | null {
		const held = this.#held.get(id);
		if (held === undefined || held.endsAtMs === null) return null;
		return { atBootMs: held.endsAtMs, graceMs: graceOf(held.agent) };
	}

	view(agent: PlacedAgent): PlacementView {
		const { id, placement } = agent;
		const held = this.#held.get(id);
		if (held !== undefined && this.isHeld(id)) {
			const { epoch, reason } = held;
			const about = { host: this.#member?.host ?? null, epoch, onLost: placement.onLost, reason };
			return { ...about, state: "held", asksSinceMs: null, noHost: false };
		}
		return viewLease(agent, {
			lease: this.#seen.get(id) ?? null,
			home: this.#member?.home ?? null,
			unavailable: this.#parts.unavailable() ?? this.#cannotHold(agent) ?? this.#problem,
			unplaced: this.#unplaced.get(id) ?? null,
			asksSinceMs: this.#asked.sinceMs(id),
		});
	}

	setWanted(id: string, wish: Wish): void {
		this.#wanted.set(id, wish);
		this.#wake();
	}

	async answerLost(id: string, epoch: number, answer: LostAnswer): Promise<boolean> {
		const reason = this.#parts.unavailable();
		if (this.#table === null || reason !== null) {
			const why = reason === null ? "" : `: ${reason}`;
			throw new ReeveError("cluster_unavailable", `the cluster is not available${why}`);
		}
		const isDone = await this.#table.answer({ agent: id, epoch }, answer);
		const lease = this.#seen.get(id);
		if (isDone && lease?.epoch === epoch) this.#seen.set(id, { ...lease, answer });
		if (isDone) this.#asked.answered(id);
		this.#wake();
		return isDone;
	}

	async run(member: Member, table: LeaseTable, signal: AbortSignal): Promise<void> {
		this.#member = member;
		this.#table = table;
		this.#hasOffered = true;
		while (!signal.aborted) {
			let isSoon = false;
			try {
				isSoon = await this.#tick(member, table, signal);
				this.#problem = null;
			} catch (error) {
				// The next tick tries again.
				this.#problem = error instanceof Error ? error.message : String(error);
			}
			await this.#pause(isSoon ? SOON_MS : this.#tickMs(), signal);
		}
		this.#table = null;
	}

	close(): void {
		this.#stopWatch?.();
		this.#stopWatch = null;
	}

	/** Where the better clock is missing, no agent ends in time by itself, so only `keep` is offered. */
	#nowMs(): number {
		return this.#parts.bootMs() ?? this.#parts.steadyMs();
	}

	/** Without that clock, a suspended host would not know that its lease is over. */
	#cannotHold({ placement }: PlacedAgent): string | null {
		if (placement.onLost === "keep" || this.#parts.bootMs() !== null) return null;
		return "this system has no clock that continues while it is suspended, so `on_lost` must be `keep`";
	}

	#tickMs(): number {
		const up = (this.#agents?.placed() ?? []).filter(({ isUp }) => isUp);
		const renewMs = up.map(({ agent }) => leaseTimes(agent.placement.leaseMs, 0).renewMs);
		return Math.min(TICK_MS_MAX, ...renewMs) * (0.8 + 0.2 * this.#parts.random());
	}

	async #pause(ms: number, signal: AbortSignal): Promise<void> {
		const woken = new AbortController();
		this.#wake = () => woken.abort();
		const any = AbortSignal.any([signal, woken.signal]);
		await this.#parts.sleep(ms, any);
	}

	/** Returns whether to look again at once. */
	async #tick(member: Member, table: LeaseTable, signal: AbortSignal): Promise<boolean> {
		await this.#renew(member, table);
		await this.#sendWishes(member, table);
		const known = this.#agents?.placed() ?? [];
		const offered = known
			.filter(({ agent, isUp }) => isUp && this.#cannotHold(agent) === null)
			.map(({ agent }) => agent);
		if (offered.length === 0 && !this.#hasOffered) return false;
		const leases = await table.offer(member, offered.map(termsOf));
		this.#hasOffered = offered.length > 0 || this.#held.size > 0;
		await this.#releaseUnwanted(member, table, new Set(offered.map(({ id }) => id)));
		const agents = new Map(offered.map((agent) => [agent.id, agent]));
		const free: Lease[] = [];
		const claims: Claim[] = [];
		for (const lease of leases) {
			const agent = agents.get(lease.agent);
			if (agent === undefined || signal.aborted) continue;
			this.#see(lease);
			const heldEpoch = this.#held.get(lease.agent)?.epoch ?? null;
			switch (decideStep(lease, { ...member, heldEpoch })) {
				case "hold":
					// A reload has changed its terms.
					if (isSame(this.#held.get(lease.agent)?.agent, agent)) break;
					claims.push({ agent, lease });
					break;
				case "claim":
					claims.push({ agent, lease });
					break;
				case "place":
					this.#leave(agent, lease);
					free.push(lease);
					break;
				case "leave":
					this.#leave(agent, lease);
					break;
				case "hand_over":
					await this.#stop(member, table, agent, lease, "this host is about to restart");
					break;
				case "stop":
					await this.#stop(member, table, agent, lease, `taken down on ${lease.reason}`);
			}
		}
		await this.#claim(member, table, claims);
		await this.#asked.look({
			...{ table, agents: this.#agents, leases: this.#seen, observed: this.#observed },
			...{ nowMs: this.#nowMs(), wallMs: this.#parts.wallMs() },
		});
		const takable = free.filter((lease) => this.#mayTake(lease)).map(({ agent }) => agent);
		if (takable.length === 0) return false;
		const made = await sweepLeases(takable, {
			...{ table, agents, observed: this.#observed },
			explain: (agent, reason) => {
				if (reason === null) this.#unplaced.delete(agent);
				else this.#unplaced.set(agent, reason);
			},
		});
		return made.some(({ home }) => home === member.home);
	}

	async #sendWishes(member: Member, table: LeaseTable): Promise<void> {
		const wishes = [...this.#wanted];
		if (wishes.length === 0) return;
		const nowMs = this.#parts.wallMs();
		await table.setWanted(
			wishes.map(([agent, { wanted, atMs }]) => ({
				...{ agent, wanted, ageMs: Math.max(0, nowMs - atMs) },
			})),
			member.host,
		);
		for (const [agent, wish] of wishes) {
			if (this.#wanted.get(agent) === wish) this.#wanted.delete(agent);
			this.#agents?.announced(agent, wish);
		}
	}

	/** From the moment it is sent: the database cannot have extended the lease before. */
	async #renew(member: Member, table: LeaseTable): Promise<void> {
		const held = [...this.#held].map(([agent, { epoch }]) => ({ agent, epoch }));
		if (held.length === 0) return;
		const sentMs = this.#parts.bootMs();
		const renewed = new Set(await table.renew(member, held));
		for (const { agent, epoch } of held) {
			const now = this.#held.get(agent);
			if (now === undefined || now.epoch !== epoch) continue;
			if (!renewed.has(agent)) this.#drop(agent, "its lease is no longer that of this host");
			else this.#extend(agent, now, sentMs);
		}
	}

	#extend(agent: string, held: Held, sentMs: number | null): void {
		const { placement, drainMs } = held.agent;
		if (placement.onLost === "keep" || sentMs === null) return;
		held.endsAtMs = endsAtMs(sentMs, placement.leaseMs, drainMs);
		this.#agents?.extended(agent, { atBootMs: held.endsAtMs, graceMs: graceOf(held.agent) });
	}

	async #claim(member: Member, table: LeaseTable, wanted: readonly Claim[]): Promise<void> {
		if (wanted.length === 0) return;
		const sentMs = this.#parts.bootMs();
		const got = await table.claim(
			member,
			wanted.map(({ agent, lease }) => ({ ...termsOf(agent), epoch: lease.epoch })),
		);
		const epochs = new Map(got.map(({ agent, epoch }) => [agent, epoch]));
		for (const { agent, lease } of wanted) {
			const epoch = epochs.get(agent.id);
			if (epoch === undefined) continue;
			const { reason } = lease;
			const held: Held = { epoch, agent, reason, endsAtMs: null };
			this.#extend(agent.id, held, sentMs);
			this.#held.set(agent.id, held);
			if (held.endsAtMs === null) this.#agents?.extended(agent.id, NO_DEADLINE);
			this.#stopWatch ??= this.#parts.every(WATCH_MS, () => this.#dropExpired());
			const data = { host: member.host, epoch, reason };
			this.#parts.note({ type: "agent.lease_acquired", agent: agent.id, data });
			this.#agents?.gained(agent.id);
		}
	}

	#dropExpired(): void {
		for (const agent of [...this.#held.keys()]) {
			if (!this.isHeld(agent)) this.#drop(agent, "its lease could not be renewed in time");
		}
	}

	#drop(agent: string, reason: string): void {
		const held = this.#held.get(agent);
		if (held === undefined) return;
		this.#held.delete(agent);
		const data = { host: this.#member?.host ?? "", epoch: held.epoch, reason };
		this.#parts.note({ type: "agent.lease_lost", agent, data });
		this.#agents?.lost(agent, graceOf(held.agent), reason);
		this.#wake();
	}

	/** Also stops what an earlier daemon has started, before the lease went to another host. */
	#leave(agent: PlacedAgent, lease: Lease): void {
		const where = lease.host === null ? "no host has its lease" : `${lease.host} has its lease`;
		if (this.#held.has(lease.agent)) this.#drop(lease.agent, where);
		else this.#agents?.lost(lease.agent, graceOf(agent), where);
	}

	/** Another host took it down, or gets it. Its shim ends it in time if this daemon dies meanwhile. */
	async #stop(
		member: Member,
		table: LeaseTable,
		{ drainMs }: PlacedAgent,
		{ agent, epoch, home, boot }: Lease,
		why: string,
	): Promise<void> {
		// First, so that it is not started again.
		this.#held.delete(agent);
		this.#agents?.lost(agent, drainMs, why);
		const isMine = home === member.home && boot === member.boot;
		if (isMine && this.#agents?.isGone(agent) === true) {
			await table.release(member, { agent, epoch });
		}
	}

	/** Those that are down here, or no longer in a fleet. */
	async #releaseUnwanted(
		member: Member,
		table: LeaseTable,
		offered: ReadonlySet<string>,
	): Promise<void> {
		for (const agent of [...this.#held.keys()]) {
			if (!offered.has(agent)) await this.#releaseIfGone(member, table, agent);
		}
		for (const agent of [...this.#seen.keys()]) {
			if (offered.has(agent)) continue;
			this.#seen.delete(agent);
			this.#observed.delete(agent);
			this.#unplaced.delete(agent);
		}
	}

	async #releaseIfGone(member: Member, table: LeaseTable, agent: string): Promise<void> {
		const held = this.#held.get(agent);
		if (held === undefined || this.#agents?.isGone(agent) !== true) return;
		// Before the request: the database may release it although its answer is lost.
		this.#held.delete(agent);
		await table.release(member, { agent, epoch: held.epoch });
	}

	#see(lease: Lease): void {
		const nowMs = this.#nowMs();
		const before = this.#observed.get(lease.agent) ?? null;
		this.#seen.set(lease.agent, lease);
		this.#observed.set(lease.agent, observe(before, lease, nowMs));
	}

	#mayTake(lease: Lease): boolean {
		const nowMs = this.#nowMs();
		const observed = this.#observed.get(lease.agent);
		return observed !== undefined && mayTake(lease, observed, nowMs);
	}
}

const NO_DEADLINE: Deadline = { atBootMs: 0, graceMs: 0 };

const isSame = (one: PlacedAgent | undefined, other: PlacedAgent) =>
	one !== undefined &&
	one.drainMs === other.drainMs &&
	one.placement.onLost === other.placement.onLost &&
	one.placement.leaseMs === other.placement.leaseMs;

const graceOf = ({ placement, drainMs }: PlacedAgent) =>
	leaseTimes(placement.leaseMs, drainMs).graceMs;

const termsOf = ({ id, placement: { onLost, leaseMs } }: PlacedAgent) => ({
	agent: id,
	onLost,
	leaseMs,
});

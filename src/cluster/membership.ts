/**
 * The membership of this host in a cluster: joins, reports that the host is alive, and joins again when
 * that was interrupted. Nothing on this host waits for the database: while it does not answer, requests
 * about the cluster fail immediately, and agents are not affected.
 */

import { setTimeout as sleep } from "node:timers/promises";
import {
	type ClusterHost,
	type HostFacts,
	heartbeatDelayMs,
	hostState,
	type Member,
	refuseToJoin,
	rejoinDelayMs,
} from "../core/cluster.js";
import { ReeveError } from "../core/errors.js";
import { renderElapsed } from "../core/units.js";
import type { Cluster, ClusterDatabase, ClusterView } from "../ports/cluster.js";

/** A cluster to belong to. */
export interface ClusterPlace {
	readonly member: Member;
	readonly open: () => Promise<ClusterDatabase>;
	readonly facts: () => Promise<HostFacts>;
	/** Runs while this host is a member. Must not reject. */
	readonly serve?: (database: ClusterDatabase, signal: AbortSignal) => Promise<void>;
}

export interface Membership extends Cluster {
	/** Belongs to the cluster until the signal aborts. */
	run(place: ClusterPlace, signal: AbortSignal): Promise<void>;
	/** Reports why this host cannot join. */
	fail(host: string, reason: string, hint: string | null): void;
}

const OFF: ClusterView = { state: "off", host: null, reason: null, hint: null, memberAtMs: null };

export function createMembership(parts: {
	readonly onChange: (view: ClusterView, before: ClusterView) => void;
	readonly wallMs: () => number;
}): Membership {
	let view = OFF;
	let database: ClusterDatabase | null = null;

	function become(change: Partial<ClusterView>): void {
		const before = view;
		view = { ...view, ...change };
		if (view.state !== before.state || view.reason !== before.reason) parts.onChange(view, before);
	}

	function becomeMember(): void {
		become({ state: "member", reason: null, hint: null, memberAtMs: parts.wallMs() });
	}

	/** The database, if this host is a member. */
	function reach(): ClusterDatabase {
		if (view.state === "off") {
			throw new ReeveError("cluster_off", "this host belongs to no cluster");
		}
		if (view.state === "member" && database !== null) return database;
		const { memberAtMs } = view;
		const since =
			memberAtMs === null
				? ""
				: `, last connected ${renderElapsed(parts.wallMs() - memberAtMs)} ago`;
		const reason = view.state === "joining" ? "this host is joining it" : view.reason;
		throw new ReeveError(
			"cluster_unavailable",
			`the cluster is not available${since}: ${reason}`,
			view.hint ?? undefined,
		);
	}

	async function find(name: string): Promise<ClusterHost> {
		const hosts = await reach().hosts();
		const found = hosts.find(({ host }) => host === name);
		if (found !== undefined) return found;
		const known = hosts.map(({ host }) => host).join(", ");
		throw new ReeveError("host_not_found", `unknown host ${name}`, `Known hosts: ${known}.`);
	}

	/** Returns when this host is no longer a member, with the reason if the others refuse it. */
	async function belong(
		open: ClusterDatabase,
		{ member, facts, serve }: ClusterPlace,
		wasMember: boolean,
		signal: AbortSignal,
	): Promise<string | null> {
		await open.prepare();
		const first = await facts();
		const refused = await open.join(member, first, (hosts) =>
			refuseToJoin({ ...member, version: first.version }, hosts, wasMember),
		);
		if (refused !== null) return refused;
		becomeMember();
		const over = new AbortController();
		const served = serve?.(open, AbortSignal.any([signal, over.signal]));
		try {
			while (!signal.aborted) {
				await pause(heartbeatDelayMs(Math.random()), signal);
				if (signal.aborted) return null;
				if (!(await open.beat(member, await facts()))) return null;
				becomeMember();
			}
			return null;
		} finally {
			over.abort();
			await served;
		}
	}

	return {
		view: () => view,
		assertMember: () => void reach(),
		hosts: async () => reach().hosts(),
		host: find,
		async setDraining(name, draining) {
			if (!(await reach().setDraining(name, draining))) await find(name);
			return find(name);
		},
		async remove(name) {
			const removed = await reach().remove(name);
			if (removed === "removed") return;
			const host = await find(name);
			throw new ReeveError(
				"host_alive",
				`host ${name} is ${hostState(host)}: its last heartbeat was ${renderElapsed(host.ageMs)} ago`,
			);
		},
		fail(host, reason, hint) {
			become({ state: "unavailable", host, reason, hint });
		},
		async run(place, signal) {
			let [failures, wasMember] = [0, false];
			become({ ...OFF, state: "joining", host: place.member.host });
			while (!signal.aborted) {
				let opened: ClusterDatabase | null = null;
				try {
					opened = await place.open();
					database = opened;
					const refused = await belong(opened, place, wasMember, signal);
					if (refused !== null) become({ state: "refused", reason: refused, hint: null });
				} catch (error) {
					if (!signal.aborted) become({ state: "unavailable", ...explain(error) });
				}
				// A member that was removed, or silent for too long, joins again immediately.
				const wasLost = view.state === "member";
				if (wasLost) become({ state: "joining" });
				wasMember ||= view.memberAtMs !== null;
				failures = wasLost ? 1 : failures + 1;
				database = null;
				await opened?.close().catch(() => {});
				await pause(rejoinDelayMs(failures, Math.random()), signal);
			}
			become(OFF);
		},
	};
}

function explain(error: unknown): { readonly reason: string; readonly hint: string | null } {
	if (error instanceof ReeveError) return { reason: error.message, hint: error.hint };
	return { reason: error instanceof Error ? error.message : String(error), hint: null };
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
	await sleep(ms, undefined, { signal }).catch(() => {});
}

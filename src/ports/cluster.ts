/** The cluster: hosts that share a database. Each keeps its own agents alive, with or without it. */

import type { ClusterHost, HostFacts, Member } from "../core/cluster.js";
import type { LeaseTable } from "./leases.js";
import type { LimitTable } from "./shared-limits.js";
import type { SharedTasksDatabase } from "./shared-tasks.js";

/**
 * A draining host gets no more agents. `until_restart`: its daemon is about to restart, so it also gives the agents that
 * other hosts may replace to those.
 */
export type Draining = boolean | "until_restart";

/** The shared database. Every call is bounded in time, and throws `cluster_unavailable` if it fails. */
export interface ClusterDatabase {
	/** Creates the tables, or brings them up to date; any number of hosts may do so at once. */
	prepare(): Promise<void>;
	/**
	 * Makes this daemon the one of its host, unless `refuse` returns a reason, which is returned. One
	 * host at a time.
	 */
	join(
		member: Member,
		facts: HostFacts,
		refuse: (hosts: readonly ClusterHost[]) => string | null,
	): Promise<string | null>;
	/** False if this daemon is no longer a member: it was removed or replaced, or was silent for too long. */
	beat(member: Member, facts: HostFacts): Promise<boolean>;
	hosts(): Promise<readonly ClusterHost[]>;
	/** False if there is no such host. */
	setDraining(host: string, draining: Draining): Promise<boolean>;
	/** Only a silent host is removed. */
	remove(host: string): Promise<"removed" | "alive" | "unknown">;
	readonly leases: LeaseTable;
	readonly tasks: SharedTasksDatabase;
	readonly limits: LimitTable;
	close(): Promise<void>;
}

/** `off`: no cluster is configured. `refused`: the other hosts do not accept this one. */
export type ClusterState = "off" | "joining" | "member" | "refused" | "unavailable";

/** This host and the cluster. */
export interface ClusterView {
	readonly state: ClusterState;
	/** The name of this host; null without a cluster. */
	readonly host: string | null;
	/** Why it is refused or unavailable; null in other states. */
	readonly reason: string | null;
	/** How to fix it; null if there is nothing to do. */
	readonly hint: string | null;
	/** When it was last a member; null if it has not been since this daemon started. */
	readonly memberAtMs: number | null;
}

/** Requests fail immediately unless this host is a member: `cluster_off`, `cluster_unavailable`. */
export interface Cluster {
	view(): ClusterView;
	/** Throws unless this host is a member. */
	assertMember(): void;
	hosts(): Promise<readonly ClusterHost[]>;
	/** Throws `host_not_found`. */
	host(name: string): Promise<ClusterHost>;
	setDraining(name: string, draining: Draining): Promise<ClusterHost>;
	/** Throws `host_alive` unless the host is silent. */
	remove(name: string): Promise<void>;
}

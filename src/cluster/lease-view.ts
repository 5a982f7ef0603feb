/** The place of an agent as people see it: which host has its lease, and why it does not run here. */

import type { Lease } from "../core/lease.js";
import type { PlacedAgent, PlacementView } from "../ports/leases.js";

/** The knowledge of this host about a lease that it does not hold. */
export interface KnownLease {
	/** As this host last read it; null if it has not. */
	readonly lease: Lease | null;
	/** The home of this host. */
	readonly home: string | null;
	/** Why the cluster cannot be asked, as text; null if it can. */
	readonly unavailable: string | null;
	/** Why no host is suitable, as text; null if one may be. */
	readonly unplaced: string | null;
	/** Since when an operator is asked; null if none is. */
	readonly asksSinceMs: number | null;
}

export function viewLease({ placement }: PlacedAgent, known: KnownLease): PlacementView {
	const { lease, unavailable, unplaced, asksSinceMs } = known;
	const about = {
		...{ host: lease?.host ?? null, epoch: lease?.epoch ?? null },
		...{ onLost: placement.onLost, asksSinceMs: null, noHost: false },
	};
	if (unavailable !== null || lease === null) {
		const reason = `waits for the cluster${unavailable === null ? "" : `: ${unavailable}`}`;
		return { ...about, host: null, state: "unavailable", reason };
	}
	if (!lease.wanted) {
		return { ...about, state: "down", reason: `was taken down on ${lease.reason}` };
	}
	if (lease.host === null || lease.home === known.home) {
		const reason = `waits for a host: ${unplaced ?? "one is being chosen"}`;
		return { ...about, host: null, state: "waiting", reason, noHost: unplaced !== null };
	}
	if (lease.leftMs > 0 || lease.boot === null) {
		return { ...about, state: "elsewhere", reason: `runs on ${lease.host}` };
	}
	const reason = `its host ${lease.host} does not renew its lease; ${afterLoss(lease, unplaced)}`;
	return { ...about, state: "lost", reason, asksSinceMs };
}

/** The future of an agent whose host is lost. */
function afterLoss({ host, onLost, answer, isHostKnown }: Lease, unplaced: string | null): string {
	const replaced = "another host replaces it";
	if (onLost === "replace" || answer === "replace" || !isHostKnown) {
		return unplaced === null ? replaced : `${replaced}: ${unplaced}`;
	}
	const remove = `run \`reeve host remove ${host}\``;
	if (onLost === "keep") return `if that host is down permanently, ${remove}`;
	if (answer === "wait") return `it waits for that host, as was decided; to replace it, ${remove}`;
	return "if that lasts, you decide whether another host replaces it";
}

/** Leases that a test grants and revokes. */

import type { Deadline } from "../../src/ports/backend.js";
import type { LeasedAgents, Leases } from "../../src/ports/leases.js";

export interface ScriptedLeases extends Leases {
	grant(id: string, deadline: Deadline | null): void;
	/** The lease is gone, and the engine is not notified. */
	forget(id: string): void;
	revoke(id: string, graceMs: number, reason: string): void;
	extend(id: string, deadline: Deadline): void;
	/** The wishes of operators, in order. */
	readonly wanted: readonly (readonly [id: string, wanted: boolean])[];
}

export function createScriptedLeases(): ScriptedLeases {
	const held = new Map<string, Deadline | null>();
	const wanted: [string, boolean][] = [];
	let agents: LeasedAgents | null = null;
	return {
		wanted,
		attach(next) {
			agents = next;
		},
		isHeld: (id) => held.has(id),
		deadline: (id) => held.get(id) ?? null,
		view: ({ id, placement: { onLost } }) =>
			held.has(id)
				? { state: "held", host: "here", epoch: 1, onLost, reason: "granted" }
				: { state: "elsewhere", host: "there", epoch: 2, onLost, reason: "runs on there" },
		setWanted: (id, isWanted) => void wanted.push([id, isWanted]),
		grant(id, deadline) {
			held.set(id, deadline);
			agents?.gained(id);
		},
		forget: (id) => void held.delete(id),
		revoke(id, graceMs, reason) {
			held.delete(id);
			agents?.lost(id, graceMs, reason);
		},
		extend(id, deadline) {
			held.set(id, deadline);
			agents?.extended(id, deadline);
		},
	};
}

/** Leases that a test grants and revokes. */

import type { LostAnswer } from "../../src/core/lease.js";
import type { Deadline } from "../../src/ports/backend.js";
import type { LeasedAgents, Leases, Wish } from "../../src/ports/leases.js";

export interface ScriptedLeases extends Leases {
	grant(id: string, deadline: Deadline | null): void;
	/** The lease is gone, and the engine is not notified. */
	forget(id: string): void;
	revoke(id: string, graceMs: number, reason: string): void;
	extend(id: string, deadline: Deadline): void;
	/** Whether any host is suitable for agents without a lease. */
	setPlaceable(isPlaceable: boolean): void;
	/** The host of the agent is lost, and operators are asked. */
	lose(id: string, notifies: boolean): void;
	/** Nothing is to be decided from now on. */
	find(id: string): void;
	/** The decisions about lost hosts, in order. */
	readonly answers: readonly (readonly [id: string, epoch: number, answer: LostAnswer])[];
	/** The database has the last wish about the agent. */
	announce(id: string): void;
	/** The wishes of operators, in order. */
	readonly wanted: readonly (readonly [id: string, wanted: boolean])[];
}

export function createScriptedLeases(): ScriptedLeases {
	const held = new Map<string, Deadline | null>();
	const wanted: [string, boolean][] = [];
	const answers: [string, number, LostAnswer][] = [];
	const lost = new Set<string>();
	let placeable = true;
	const wishes = new Map<string, Wish>();
	let agents: LeasedAgents | null = null;
	return {
		...{ wanted, answers },
		attach(next) {
			agents = next;
		},
		isHeld: (id) => held.has(id),
		deadline: (id) => held.get(id) ?? null,
		view: ({ id, placement: { onLost } }) => {
			const about = { onLost, asksSinceMs: null, noHost: !placeable };
			if (held.has(id)) {
				return { ...about, state: "held", host: "here", epoch: 1, reason: "granted" };
			}
			if (!placeable) {
				return { ...about, state: "waiting", host: null, epoch: 2, reason: "no host is suitable" };
			}
			const there = { ...about, host: "there", epoch: 2 };
			if (!lost.has(id)) return { ...there, state: "elsewhere", reason: "runs on there" };
			return { ...there, state: "lost", reason: "there is silent", asksSinceMs: 1_000 };
		},
		async answerLost(id, epoch, answer) {
			if (!lost.has(id)) return false;
			answers.push([id, epoch, answer]);
			return true;
		},
		setPlaceable(isPlaceable) {
			placeable = isPlaceable;
		},
		lose(id, notifies) {
			lost.add(id);
			agents?.asks(id, notifies);
		},
		find(id) {
			lost.delete(id);
			agents?.asksNoMore(id, 2);
		},
		setWanted(id, wish) {
			wanted.push([id, wish.wanted]);
			wishes.set(id, wish);
		},
		announce(id) {
			const wish = wishes.get(id);
			if (wish !== undefined) agents?.announced(id, wish);
		},
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

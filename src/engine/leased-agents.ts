/** Carries out what the leases of this host's agents demand: starts, stops and deadlines. */

import type { Leases } from "../ports/leases.js";
import type { Agents } from "./agents.js";
import type { Inbox } from "./attending/inbox.js";
import type { LostHosts } from "./attending/lost-hosts.js";
import { placedOf, placementOf } from "./placement.js";
import type { AgentRunner } from "./runs/agent-runner.js";
import type { Wishes } from "./wishes.js";

interface LeasedWorld {
	readonly agents: Agents;
	readonly gate: { startWaiting(): void };
	readonly lost: LostHosts;
	readonly wishes: Wishes;
	readonly inbox: Inbox;
	readonly onError: (agentId: string, error: unknown) => void;
}

export function attachLeases(
	leases: Leases,
	{ agents, gate, lost, wishes, inbox, onError }: LeasedWorld,
): void {
	const stopping = new Set<string>();
	const stop = async (runner: AgentRunner, graceMs: number, reason: string) => {
		await runner.hold(graceMs, reason);
		// It waits for the next lease.
		void runner.startHeld();
	};
	/** Another host runs it: its conversation there does not get what this host has accepted. */
	const returnMessages = ({ id, spec }: AgentRunner) => {
		const placement = placementOf(leases, spec);
		if (placement?.state !== "elsewhere" || inbox.head(id) === null) return;
		const reason = `accepted on this host, and ${id} runs on ${placement.host} now`;
		inbox.allDead(id, reason).catch((error: unknown) => onError(id, error));
	};
	leases.attach({
		placed: () =>
			[...agents.values()].flatMap(({ spec }) => {
				const agent = placedOf(spec);
				return agent === null ? [] : [{ agent, isUp: isUp(agents, agent.id) }];
			}),
		isGone(id) {
			const snapshot = agents.get(id)?.snapshot();
			if (snapshot === undefined) return true;
			return snapshot.run === null && snapshot.process !== "stopping";
		},
		gained: () => gate.startWaiting(),
		lost(id, graceMs, reason) {
			const runner = agents.get(id);
			if (runner === undefined || stopping.has(id)) return;
			if (runner.snapshot().run === null) return returnMessages(runner);
			stopping.add(id);
			stop(runner, graceMs, reason)
				.catch((error: unknown) => onError(id, error))
				.finally(() => stopping.delete(id));
		},
		announced: (id, wish) => wishes.announced(id, wish),
		asks(id, notifies) {
			const agent = agents.get(id)?.snapshot().agent;
			if (agent === undefined) return;
			lost.asked(agent, notifies).catch((error: unknown) => onError(id, error));
		},
		asksNoMore: (id, epoch) =>
			void lost.gone(id, epoch).catch((error: unknown) => onError(id, error)),
		extended: (id, deadline) => agents.get(id)?.session?.extend(deadline),
	});
}

function isUp(agents: Agents, id: string): boolean {
	return agents.get(id)?.snapshot().agent.desired === "up";
}

/** Adds and removes the recorded agents of a fleet file. */

import type { AgentSpec, FleetSpec } from "../config/spec.js";
import { NEW_AGENT } from "../core/crash-state.js";
import type { Clock } from "../ports/clock.js";
import type { Store } from "../ports/store.js";
import { putAgent } from "./runs/agent-record.js";
import type { Agent } from "./runs/agent-state.js";

interface Recorder {
	readonly store: Store;
	readonly clock: Clock;
}

export function newAgent(spec: AgentSpec, fleetFile: string, position: number): Agent {
	return {
		...{ id: spec.id, fleetFile, position, spec },
		// A call agent is always available.
		desired: spec.kind === "call" ? "up" : "down",
		...{ crash: NEW_AGENT, waiting: false, reason: "new", restarts: 0 },
	};
}

/** All in one commit: a fleet of hundreds must not wait for the disk once per agent. */
export async function recordAdded(
	{ store, clock }: Recorder,
	agents: readonly Agent[],
): Promise<void> {
	const atMs = clock.now().wallMs;
	await store.commit((transaction) => {
		for (const agent of agents) {
			putAgent(transaction, agent);
			const data = { fleet_file: agent.fleetFile };
			transaction.appendEvent({ type: "agent.added", agent: agent.id, data }, atMs);
		}
	});
}

export async function recordRemoved({ store, clock }: Recorder, id: string): Promise<void> {
	await store.commit((transaction) => {
		transaction.removeAgent(id);
		transaction.appendEvent({ type: "agent.removed", agent: id, data: {} }, clock.now().wallMs);
	});
}

/** The recorded fleet of a file. */
export function recordedFleet(agents: readonly Agent[], file: string): FleetSpec {
	const own = agents
		.filter((agent) => agent.fleetFile === file)
		.sort((a, b) => a.position - b.position);
	return { file, agents: own.map(({ spec }) => spec) };
}

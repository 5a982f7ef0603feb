/** Agents that come and go with a fleet file, as they are recorded. */

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
		// What runs only when it is called is always there to be called.
		desired: spec.kind === "call" ? "up" : "down",
		...{ crash: NEW_AGENT, waiting: false, reason: "new", restarts: 0 },
	};
}

export async function recordAdded({ store, clock }: Recorder, agent: Agent): Promise<void> {
	const { id, fleetFile } = agent;
	await store.commit((transaction) => {
		putAgent(transaction, agent);
		const data = { fleet_file: fleetFile };
		transaction.appendEvent({ type: "agent.added", agent: id, data }, clock.now().wallMs);
	});
}

export async function recordRemoved({ store, clock }: Recorder, id: string): Promise<void> {
	await store.commit((transaction) => {
		transaction.removeAgent(id);
		transaction.appendEvent({ type: "agent.removed", agent: id, data: {} }, clock.now().wallMs);
	});
}

/** The fleet of a file as it was last taken on. */
export function recordedFleet(agents: readonly Agent[], file: string): FleetSpec {
	const own = agents
		.filter((agent) => agent.fleetFile === file)
		.sort((a, b) => a.position - b.position);
	return { file, agents: own.map(({ spec }) => spec) };
}

/** The agents of all fleets, by id. */

import { ReeveError } from "../core/errors.js";
import type { AgentRunner } from "./runs/agent-runner.js";

export class Agents extends Map<string, AgentRunner> {
	/** Throws with the known agents if there is none with this id. */
	require(id: string): AgentRunner {
		const agent = this.get(id);
		if (agent !== undefined) return agent;
		const known = [...this.keys()].join(", ");
		const hint = known === "" ? "The daemon has no agents." : `Known agents: ${known}.`;
		throw new ReeveError("agent_not_found", `unknown agent ${id}`, hint);
	}
}

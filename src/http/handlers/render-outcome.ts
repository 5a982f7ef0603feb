/** How starts and stops went, in the words of the contract. */

import type { Engine } from "../../engine/engine.js";
import type { Started, Stopped } from "../../engine/engine-parts.js";
import type { StartedJson } from "../contract/agents.js";
import type { StoppedJson } from "../contract/shapes.js";

export function renderStopped({ id, outcome, durationMs, reason }: Stopped): StoppedJson {
	return { id, outcome, duration_ms: durationMs, reason };
}

export function renderStarted(engine: Engine, { id, outcome }: Started): StartedJson {
	const { agent, missing, usage } = engine.get(id);
	const why = usage?.held?.reason ?? agent.reason;
	const reason = missing.length > 0 ? `waits for ${missing.join(", ")}` : why;
	return { id, outcome, reason };
}

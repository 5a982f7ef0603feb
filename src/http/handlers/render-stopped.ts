import type { Stopped } from "../../engine/engine.js";
import type { StoppedJson } from "../contract/shapes.js";

/** How a stop went, in the words of the contract. */
export function renderStopped({ id, outcome, durationMs, reason }: Stopped): StoppedJson {
	return { id, outcome, duration_ms: durationMs, reason };
}

/** Converts outcomes of starts and stops to the format of the contract. */

import type { Engine } from "../../engine/engine.js";
import type { RestartedAgent, Started, Stopped } from "../../engine/engine-parts.js";
import type { RestartedJson, StartedJson } from "../contract/agents.js";
import type { StoppedJson } from "../contract/shapes.js";

/** The maximum number of processes to list; a tree may have thousands. */
const NAMED_MAX = 20;

export function renderKilled(killed: Stopped["killed"]): StoppedJson["killed"] {
	return killed.slice(0, NAMED_MAX).map(({ pid, name }) => ({ pid, name }));
}

export function renderStopped({ id, outcome, durationMs, reason, killed }: Stopped): StoppedJson {
	return { id, outcome, duration_ms: durationMs, reason, killed: renderKilled(killed) };
}

export function renderRestarted(engine: Engine, restarted: RestartedAgent): RestartedJson {
	const { id, start } = restarted;
	return { ...renderStopped(restarted), start: start && renderStarted(engine, { id, ...start }) };
}

export function renderStarted(engine: Engine, { id, outcome, reason }: Started): StartedJson {
	const { agent, missing, blocked, usage, run, hold, placement } = engine.get(id);
	const isAway = outcome === "waiting" && placement !== null && placement.state !== "held";
	const held = outcome === "waiting" ? (hold?.reason ?? null) : null;
	const why = isAway ? placement.reason : (held ?? usage?.held?.reason ?? agent.reason);
	const because = blocked === null ? "" : `; ${blocked}`;
	const waits = missing.length > 0 ? `waits for ${missing.join(", ")}${because}` : why;
	return { id, outcome, reason: reason ?? waits, pid: run?.handle?.process.pid ?? null };
}

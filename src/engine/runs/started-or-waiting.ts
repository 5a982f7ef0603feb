/** How a start came out for whoever asked, who does not want to wait for ever. */

import type { Clock } from "../../ports/clock.js";
import type { UsageBook } from "../limits/usage-book.js";
import { withDeadline } from "../waiting.js";
import type { AgentSnapshot } from "./agent-state.js";
import type { StartOutcome } from "./life-world.js";

/** How long `up` waits for a start before it answers that the agent still waits. */
const START_WAIT_MS = 60_000;
const START_LOOK_MS = 250;

/** `waiting` when the start does not come about while what it needs is not there. */
export async function startedOrWaiting(
	clock: Clock,
	start: Promise<StartOutcome>,
	isHopeless: () => boolean,
): Promise<StartOutcome> {
	const untilMs = clock.now().steadyMs + START_WAIT_MS;
	while ((await withDeadline(clock, start, START_LOOK_MS)) === "late") {
		if (isHopeless() || clock.now().steadyMs >= untilMs) return "waiting";
	}
	return start;
}

/** Whether an agent that does not run has to wait for somebody, or for a new day. */
export function isHeldDown({ agent, run }: AgentSnapshot, usage: UsageBook): boolean {
	if (run !== null) return false;
	const { desired, crash, waiting, spec } = agent;
	return desired === "down" || crash.policy === "halted" || waiting || usage.held(spec) !== null;
}

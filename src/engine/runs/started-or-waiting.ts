/** The result of a start for its requester, with a limited wait. */

import type { Clock } from "../../ports/clock.js";
import type { UsageBook } from "../limits/usage-book.js";
import { withDeadline } from "../waiting.js";
import type { AgentSnapshot } from "./agent-state.js";
import type { StartOutcome } from "./life-world.js";

/** How long `up` waits for a start before it reports that the agent is still waiting. */
const START_WAIT_MS = 60_000;
const START_LOOK_MS = 250;

/** `waiting` if the start does not happen because a dependency is missing. */
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

/** Whether a stopped agent waits for the operator, or for the next day. */
export function isHeldDown({ agent, run }: AgentSnapshot, usage: UsageBook): boolean {
	if (run !== null) return false;
	const { desired, crash, waiting, spec } = agent;
	return desired === "down" || crash.policy === "halted" || waiting || usage.held(spec) !== null;
}

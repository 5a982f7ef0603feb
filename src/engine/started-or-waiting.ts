/** How a start came out for whoever asked, who does not want to wait for ever. */

import type { Clock } from "../ports/clock.js";
import type { StartOutcome } from "./life-world.js";
import { withDeadline } from "./waiting.js";

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

/** The meaning of a worker's exit for the worker and for its requests. */

import { classifyProcessFailure, type Outcome } from "../core/outcome.js";
import type { WorkerEnd } from "../ports/executor.js";
import type { HeldRequest } from "./held-requests.js";
import { type ProgramEnd, renderEnd } from "./program.js";

export type Ending = Pick<WorkerEnd, "cause" | "reason">;

/** It could not be killed, so its exit is unknown. */
export const UNKNOWN_END = (): ProgramEnd => ({
	code: null,
	signal: null,
	outOfMemory: false,
	atMs: Date.now(),
});

/** For a worker that exited by itself. */
export function endingOf(end: ProgramEnd, isStopping: boolean): Ending {
	return { cause: isStopping ? "stopped" : "exited", reason: renderEnd(end) };
}

export function displacedOutcome(detail: string): Outcome {
	return classifyProcessFailure({ type: "displaced", detail });
}

/** Only requests that the worker had received count against it. */
export function classifyHeld(
	{ verdict, isSent }: HeldRequest,
	{ cause, reason }: Ending,
	/** Why the worker is not proven gone, if it is not. */
	left: string | null,
): Outcome | null {
	if (left !== null && isSent && verdict !== null) {
		return classifyProcessFailure({ type: "left_alive", detail: left });
	}
	if (verdict !== undefined) return verdict;
	if (!isSent) return displacedOutcome("its worker exited before it received the request");
	switch (cause) {
		case "exited": {
			const detail = `its worker ${reason} without a response`;
			return classifyProcessFailure({ type: "no_answer", detail });
		}
		case "sick":
			return classifyProcessFailure({ type: "bad_answer", detail: `its worker ${reason}` });
		case "timed_out":
		case "called_off":
			return displacedOutcome(`its worker was killed: ${reason}`);
		case "stopped":
			return displacedOutcome("its worker was stopped before it responded");
	}
}

/**
 * Ends a run that Reeve judges as failed: a start that never became ready, an agent that is unhealthy.
 * The cause is recorded first; the exit then goes to the crash policy, as after a crash.
 */

import { renderDuration } from "../../core/units.js";
import type { NewEvent, RunFailure } from "../../ports/store.js";
import type { PersistedAgent } from "./persisted-agent.js";
import { type SessionRun, toStoredRun } from "./run.js";

/** The detail of a start that timed out. */
export function renderStartTimeout(afterMs: number, screen: readonly string[]): string {
	const last = screen.at(-1);
	const shown = last === undefined ? "its screen is empty" : `the last line of its screen: ${last}`;
	return `it was not ready after ${renderDuration(afterMs)}; ${shown}`;
}

/** Records why a run is ended. False if it is ending already. */
export async function recordFailing(
	agent: PersistedAgent,
	run: SessionRun,
	failing: RunFailure,
	events: readonly NewEvent[],
): Promise<boolean> {
	if (run.handle === null || run.askedBy !== null || run.failing !== null) return false;
	await agent.save({ reason: failing.detail }, events, (transaction) =>
		transaction.putRun(toStoredRun(agent.now.id, { ...run, failing }, "running")),
	);
	run.failing = failing;
	return true;
}

/** Kills the run with all its processes, unless they are gone. */
export async function killFailing(agent: PersistedAgent, run: SessionRun): Promise<void> {
	const { backend, handle, runId, failing } = run;
	if (handle === null || failing === null || run.gone !== null) return;
	const killed = await backend.kill({ runId, handle });
	if (killed.ok) return;
	await agent.save({ reason: `${failing.detail}; it cannot be killed: ${killed.reason}` }, []);
}

/**
 * Ends a run that Reeve judges as failed: a start that never became ready, an agent that is unhealthy.
 * The cause is recorded first; the exit then goes to the crash policy, as after a crash.
 */

import { renderDuration } from "../../core/units.js";
import type { NewEvent, RunFailure } from "../../ports/store.js";
import type { PersistedAgent } from "./persisted-agent.js";
import { type SessionRun, toStoredRun } from "./run.js";

/** Ends a start that never became ready. */
export async function failStart(
	agent: PersistedAgent,
	run: SessionRun,
	afterMs: number,
	screen: readonly string[],
): Promise<void> {
	if (run.ready) return;
	const last = screen.at(-1);
	const shown = last === undefined ? "its screen is empty" : `the last line of its screen: ${last}`;
	const detail = `it was not ready after ${renderDuration(afterMs)}; ${shown}`;
	const about = { agent: agent.now.id, run_id: run.runId };
	const data = { after_ms: afterMs, screen };
	const event: NewEvent = { ...about, type: "agent.start_timeout", data };
	if (await recordFailing(agent, run, { cause: "start_timeout", detail }, [event])) {
		await killFailing(agent, run);
	}
}

/** Records that an agent is ended because it is unhealthy. False if it is ending already. */
export const recordUnhealthy = (agent: PersistedAgent, run: SessionRun, detail: string) =>
	recordFailing(agent, run, { cause: "unhealthy", detail }, []);

/** Records why a run is ended. False if it is ending already. */
async function recordFailing(
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

/** Records changes of a run while it is alive. */

import { renderDuration } from "../../core/units.js";
import type { NewEvent } from "../../ports/store.js";
import { settledAgent, toStoredRun } from "./agent-record.js";
import type { LiveRun } from "./agent-state.js";
import type { KeptAgent } from "./kept-agent.js";
import type { LifeWorld } from "./life-world.js";
import { hearConversation } from "./run-conversation.js";
import type { RunNews } from "./run-watch.js";

export async function recordReady(kept: KeptAgent, live: LiveRun, afterMs: number): Promise<void> {
	const { id } = kept.now;
	live.ready = true;
	const about = { agent: id, run_id: live.runId };
	const event: NewEvent = { ...about, type: "agent.ready", data: { after_ms: afterMs } };
	await kept.save({}, [event], (transaction) =>
		transaction.putRun(toStoredRun(id, live, "running")),
	);
}

/**
 * A start that never became ready has failed: the agent is killed, and its exit goes to the crash
 * policy.
 */
async function giveUpStart(
	kept: KeptAgent,
	live: LiveRun,
	afterMs: number,
	screen: readonly string[],
): Promise<void> {
	const { backend, handle, runId } = live;
	if (handle === null || live.ready || live.askedBy !== null) return;
	const last = screen.at(-1);
	const shown = last === undefined ? "its screen is empty" : `the last line of its screen: ${last}`;
	const detail = `it was not ready after ${renderDuration(afterMs)}; ${shown}`;
	const data = { after_ms: afterMs, screen };
	const about = { agent: kept.now.id, run_id: runId };
	await kept.save({ reason: detail }, [{ ...about, type: "agent.start_timeout", data }]);
	live.startTimedOut = detail;
	const killed = await backend.kill({ runId, handle });
	if (!killed.ok)
		await kept.save({ reason: `${detail}; it cannot be killed: ${killed.reason}` }, []);
}

/** The run lasted a whole window of the crash policy. */
async function recordStable(kept: KeptAgent): Promise<void> {
	const settled = settledAgent(kept.now);
	if (settled !== null) await kept.save({ crash: settled.crash }, settled.events);
}

/**
 * The CLI has reported its conversation: from now on the agent resumes this one, and holds its lease.
 */
async function recordConversation(
	{ sessions }: LifeWorld,
	kept: KeptAgent,
	live: LiveRun,
	conversation: string,
): Promise<void> {
	const { id } = kept.now;
	const told = await hearConversation(sessions, kept.now, live, conversation);
	if (told === null) return;
	live.conversation = told;
	await kept.save({ conversation }, [], (transaction) =>
		transaction.putRun(toStoredRun(id, live, "running")),
	);
}

/** Records the changes of a run, while `ifCurrent` confirms that it is the agent's current run. */
export function recordNews(
	world: LifeWorld,
	kept: KeptAgent,
	live: LiveRun,
	ifCurrent: (task: () => Promise<void>) => void,
): Pick<RunNews, "onStable" | "onConversation" | "onStartTimeout"> {
	return {
		onStable: () => ifCurrent(() => recordStable(kept)),
		onConversation: (id) => ifCurrent(() => recordConversation(world, kept, live, id)),
		onStartTimeout: (afterMs, screen) => ifCurrent(() => giveUpStart(kept, live, afterMs, screen)),
	};
}

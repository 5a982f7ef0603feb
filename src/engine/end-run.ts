/** Records the end of a run in one commit: the exit, the policy's decision and the planned restart. */

import { decideAfterExit } from "../core/crash-policy.js";
import type { ExitReport } from "../core/exit.js";
import type { StoredExit } from "../ports/store.js";
import { type PlannedStart, recordExit, startEffect, toStoredRun } from "./agent-record.js";
import type { LiveRun } from "./agent-state.js";
import { classifyRun } from "./classify-run.js";
import { isTreeGone } from "./end-tree.js";
import type { LifeWorld } from "./life-world.js";
import type { PersistedAgent } from "./persisted-agent.js";
import { endConversation } from "./run-conversation.js";

export interface RecordedEnd {
	readonly exit: StoredExit;
	/** The restart that the policy decided on; null if there is none. */
	readonly planned: PlannedStart | null;
	/** The agent waits for its account, which decides when it starts again. */
	readonly isParked: boolean;
}

export async function recordEnd(
	world: LifeWorld,
	kept: PersistedAgent,
	live: LiveRun,
	facts: ExitReport,
	atMs: number,
): Promise<RecordedEnd> {
	// Before the commit: a daemon that is killed here must leave the run open for the next one.
	live.exitRecorded = !(await isTreeGone(live));
	const { id, spec } = kept.now;
	if (spec.kind === "call") throw new Error(`${id} is a call agent and has no runs`);
	const judged = await classifyRun(world.sessions, spec, live, facts, atMs);
	const { report } = judged;
	await world.inbox.settle(id, judged.signs);
	const decision = decideAfterExit(kept.now.crash, report, {
		settings: spec.crashPolicy,
		onCleanExit: spec.kind === "session" ? spec.onCleanExit : "restart",
		random: world.random(),
	});
	const times = { atMs, nowMs: world.clock.now().wallMs };
	const parked = world.accounts.ended(spec, decision.action, report, atMs);
	const record = recordExit(kept.now, live.runId, report, decision, times, parked);
	const { planned } = record;
	const after = await endConversation(world.sessions, kept.now, live, judged);
	const changes = { ...record.changes, ...after.changes };
	await kept.save(changes, [...record.events, ...after.events], (transaction) => {
		transaction.putRun(toStoredRun(id, live, live.exitRecorded ? "running" : "ended"));
		transaction.putExit(record.exit);
		parked?.write(transaction);
		if (planned !== null) transaction.putEffect(startEffect(id, planned));
	});
	return { exit: record.exit, planned, isParked: parked !== null };
}

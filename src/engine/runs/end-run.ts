/**
 * Records the end of a run in one commit: the exit, the policy's decision and the planned restart. A restart without a
 * delay is recorded in the same commit as the run that follows, so that nothing lies between an exit and the next start
 * but one wait for the disk.
 */

import { decideAfterExit } from "../../core/crash-policy.js";
import type { ExitReport } from "../../core/exit.js";
import type { StoredExit } from "../../ports/store.js";
import {
	type PlannedStart,
	recordExit,
	startEffect,
	startEffectKey,
	toStoredRun,
} from "./agent-record.js";
import type { Agent, LiveRun } from "./agent-state.js";
import { isTreeGone } from "./end-tree.js";
import { judgeRun } from "./judge-run.js";
import type { KeptAgent } from "./kept-agent.js";
import { STARTING } from "./launch-run.js";
import type { LifeWorld } from "./life-world.js";
import { endConversation } from "./run-conversation.js";

export interface RecordedEnd {
	readonly exit: StoredExit;
	/** The restart that the policy decided on; null if there is none, or if it is recorded as a run already. */
	readonly planned: PlannedStart | null;
	/** The run that follows at once; recorded as intended. */
	readonly successor: Successor | null;
	/** The agent waits for its account, which decides when it starts again. */
	readonly isParked: boolean;
}

/** A run that was admitted to start at once. */
export interface Successor {
	readonly live: LiveRun;
	/** To be called when its start is over. */
	readonly leave: () => void;
}

/** `succeed` is asked for the next run when the policy wants one without a delay; null to have it planned. */
export async function recordEnd(
	world: LifeWorld,
	kept: KeptAgent,
	live: LiveRun,
	facts: ExitReport,
	atMs: number,
	succeed: () => Successor | null,
): Promise<RecordedEnd> {
	// Before the commit: a daemon that is killed here must leave the run open for the next one.
	live.exitRecorded = !(await isTreeGone(live));
	const { id, spec } = kept.now;
	if (spec.kind === "call") throw new Error(`${id} is a call agent and has no runs`);
	const judged = await judgeRun(world.sessions, spec, live, facts, atMs);
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
	const after = await endConversation(world.sessions, kept.now, live, judged);
	const follows = record.planned?.afterMs === 0 && !live.exitRecorded && isUp(record.changes);
	const successor = follows ? succeed() : null;
	const planned = successor === null ? record.planned : null;
	const changes = {
		...{ ...record.changes, ...after.changes },
		...(successor === null ? {} : { reason: STARTING }),
	};
	try {
		await kept.save(changes, [...record.events, ...after.events], (transaction) => {
			transaction.putRun(toStoredRun(id, live, live.exitRecorded ? "running" : "ended"));
			transaction.putExit(record.exit);
			parked?.write(transaction);
			if (planned !== null) transaction.putEffect(startEffect(id, planned));
			if (successor === null) return;
			transaction.putRun(toStoredRun(id, successor.live, "intended"));
			transaction.removeEffect(startEffectKey(id));
		});
	} catch (error) {
		successor?.leave();
		throw error;
	}
	return { exit: record.exit, planned, successor, isParked: parked !== null };
}

/** The agent may start after the exit (S2, S15). */
const isUp = ({ desired, waiting, crash }: Partial<Agent>) =>
	desired === "up" && waiting === false && crash?.policy !== "halted";

/**
 * Kills the rest of a run's process tree: SIGTERM to each process, SIGKILL to those still alive after
 * the grace period, and proof that none is left.
 *
 * Keeps S11 (an empty tree), S12 (no SIGKILL before the grace period ends) and S18 (the tree of a run
 * is gone before a successor starts).
 */

import type { RunProcess, RunReference } from "../../ports/backend.js";
import type { Clock } from "../../ports/clock.js";
import { pass } from "../waiting.js";
import type { SessionRun } from "./run.js";

const CHECK_MS_MIN = 20;
const CHECK_MS_MAX = 250;
/** A process that forks during a listing can be missed by it. */
const EMPTY_CHECKS = 2;

export type TreeEnd =
	| {
			readonly gone: true;
			/** Every process that was alive at some check. */
			readonly found: readonly RunProcess[];
			/** Those that had to be killed. */
			readonly killed: readonly RunProcess[];
	  }
	| { readonly gone: false; readonly reason: string };

export interface TreeEnding {
	/** Steady time at which the grace period ends. May be shortened in the meantime. */
	untilMs: number;
	/** Processes that already got SIGTERM. */
	readonly asked: Set<string>;
	/** Called before any process is killed. */
	readonly onKill: () => Promise<void>;
	/** Stops without a result, when the daemon exits. */
	isCalledOff: boolean;
}

export const processKey = ({ pid, startTime }: RunProcess) => `${pid} ${startTime}`;

function referenceTo({ runId, handle, exitSeen }: SessionRun): RunReference {
	return { runId, handle, justExited: exitSeen };
}

/** Whether no process of the run is alive. Also false if that is unknown. */
export async function isTreeGone(run: SessionRun): Promise<boolean> {
	if (run.treeGone) return true;
	for (let look = 0; look < EMPTY_CHECKS; look++) {
		const found = await run.backend.processes(referenceTo(run)).catch(() => null);
		if (!found?.ok || found.processes.length > 0) return false;
	}
	return true;
}

export async function endTree(run: SessionRun, clock: Clock, ending: TreeEnding): Promise<TreeEnd> {
	const { backend } = run;
	const reference = referenceTo(run);
	const seen = new Map<string, RunProcess>();
	let emptyChecks = 0;
	let waitMs = CHECK_MS_MIN;
	let hasAskedLate = false;
	for (;;) {
		const found = await backend.processes(reference);
		const isOver = clock.now().steadyMs >= ending.untilMs;
		const processes = found.ok ? found.processes : [];
		for (const each of processes) seen.set(processKey(each), each);
		emptyChecks = found.ok && processes.length === 0 ? emptyChecks + 1 : 0;
		if (emptyChecks >= EMPTY_CHECKS) return { gone: true, found: [...seen.values()], killed: [] };
		if (ending.isCalledOff) return { gone: false, reason: "the daemon stopped in the meantime" };
		if (emptyChecks > 0) continue;
		const fresh = processes.filter((each) => !ending.asked.has(processKey(each)));
		// Without any time left, each process still gets SIGTERM, and is checked once again.
		if (isOver && (fresh.length === 0 || hasAskedLate)) break;
		hasAskedLate = isOver;
		if (fresh.length > 0) {
			for (const each of fresh) ending.asked.add(processKey(each));
			await backend.signalEach(reference, fresh, "SIGTERM");
		}
		if (isOver) continue;
		await pass(clock, Math.min(waitMs, Math.max(0, ending.untilMs - clock.now().steadyMs)));
		waitMs = Math.min(waitMs * 2, CHECK_MS_MAX);
	}
	await ending.onKill();
	const killed = await backend.kill(reference);
	if (!killed.ok) return { gone: false, reason: killed.reason };
	return { gone: true, found: [...seen.values()], killed: killed.killed };
}

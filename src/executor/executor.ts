/**
 * Runs the programs of call and worker agents. Owns every process that it started until the whole tree
 * is gone; decides nothing: each attempt returns an `Outcome`.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { readBootId } from "../host/process-identity.js";
import { nextProcessTable } from "../host/process-table.js";
import { killTree } from "../host/process-tree.js";
import type { Executor, LeftAlive } from "../ports/executor.js";
import { callProgram } from "./call.js";
import { startWorker } from "./worker.js";
import { createWorld, type World } from "./world.js";

export interface ExecutorOptions {
	/** Distinguishes the control groups of several executors on one host, such as those of two homes. */
	readonly owner: string;
	readonly answerBytesMax?: number;
	readonly logBytesMax?: number;
	readonly unreadBytesMax?: number;
	/** A message for the daemon's log; never a value of an environment. */
	readonly onTrouble?: (message: string) => void;
}

const KIB = 1024;

export function createExecutor(options: ExecutorOptions): Executor {
	// Cached now: a host without free file descriptors must not prevent kills later.
	readBootId();
	const world = createWorld({
		owner: options.owner,
		bounds: {
			answerBytesMax: options.answerBytesMax ?? 16 * KIB * KIB,
			logBytesMax: options.logBytesMax ?? 64 * KIB,
			unreadBytesMax: options.unreadBytesMax ?? 256 * KIB,
		},
		onTrouble: options.onTrouble ?? (() => {}),
	});
	return {
		call: (attempt, signal) => callProgram(attempt, signal, world),
		startWorker: (start) => startWorker(start, world),
		endLeft: (runIds) => endLeft(runIds, world),
		close: () => world.close(),
	};
}

/** A forking tree may hide a process from one listing; several listings without it prove that it is gone. */
const CHECKS_MAX = 10;
const RETRY_MS = 500;

async function endLeft(runIds: readonly string[], world: World): Promise<readonly LeftAlive[]> {
	if (runIds.length === 0) return [];
	const wanted = new Set(runIds);
	const stuck = new Map<string, string>();
	let emptyChecks = 0;
	let unseen = "";
	for (let look = 0; emptyChecks < 2 && look < CHECKS_MAX; look++) {
		try {
			const found = (await findMarked(wanted, world)).filter((runId) => !stuck.has(runId));
			emptyChecks = found.length === 0 ? emptyChecks + 1 : 0;
			for (const { runId, reason } of await endMarked(found, world)) stuck.set(runId, reason);
		} catch (error) {
			// A failed process listing does not mean that there are no processes.
			unseen = `cannot list the processes: ${(error as Error).message}`;
			await sleep(RETRY_MS);
		}
	}
	if (emptyChecks < 2)
		for (const runId of wanted) stuck.set(runId, unseen || "new processes keep appearing");
	return [...stuck].map(([runId, reason]) => ({ runId, reason }));
}

async function findMarked(wanted: ReadonlySet<string>, world: World): Promise<string[]> {
	const found = new Set([...wanted].filter((runId) => world.groupsOf(runId).length > 0));
	const table = await nextProcessTable();
	for (const { pid, ended } of table.entries) {
		const runId = ended ? null : table.runIdOf(pid);
		if (runId !== null && wanted.has(runId)) found.add(runId);
	}
	return [...found];
}

async function endMarked(runIds: readonly string[], world: World): Promise<LeftAlive[]> {
	const ends = runIds.map(async (runId) => {
		const groups = world.groupsOf(runId);
		const killed = await killTree({ runId, root: null, groups });
		world.removeGroups(groups);
		return killed.ok ? [] : [{ runId, reason: killed.reason }];
	});
	return (await Promise.all(ends)).flat();
}

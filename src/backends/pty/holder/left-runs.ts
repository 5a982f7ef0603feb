/**
 * What an earlier holder has left behind when it was killed. A run that lost its terminal is asked to
 * end, and ended after a grace period (S12); one that never had a terminal is watched until it ends.
 * How such a run ended nobody can know.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { Groups } from "../../../host/cgroup.js";
import { openSharedLog, type SharedLog } from "../../../host/log-files.js";
import { isAlive, readBootId } from "../../../host/process-identity.js";
import { type ProcessTable, readProcessTable } from "../../../host/process-table.js";
import { killTree, signalVerified, watchTree } from "../../../host/process-tree.js";
import type { RunHandle } from "../../../ports/backend.js";
import { groupsOf, handleData } from "../handle.js";
import type { Records, RunRecord } from "./records.js";

/** A run that was started, and had not ended as far as the records go. */
export interface LeftRun extends RunRecord {
	readonly handle: RunHandle;
}

const LOOK_MS = 250;

/**
 * Runs of this boot. A holder that was killed between a start and its record leaves the intention;
 * then the run's groups and the mark in the environment tell whether something was started. What was
 * not is forgotten.
 */
export function findLeftRuns(records: Records, groups: Groups): LeftRun[] {
	let table: ProcessTable | undefined;
	return records.listRuns().flatMap((record) => {
		if (records.readExit(record.runId) !== null) {
			records.removeRun(record.runId);
			return [];
		}
		table ??= readProcessTable();
		const handle = record.handle ?? findStarted(record.runId, table, groups.find(record.runId));
		if (handle === null) records.removeRun(record.runId);
		return handle === null || handle.process.bootId !== readBootId() ? [] : [{ ...record, handle }];
	});
}

function findStarted(
	runId: string,
	table: ProcessTable,
	groups: readonly string[],
): RunHandle | null {
	const members = watchTree({ runId, root: null, groups }).members(table);
	const pids = new Set(members.map(({ pid }) => pid));
	// The one whose parent is not of the run is the one that was started, or what is left of it.
	const eldest = members.find(({ ppid }) => !pids.has(ppid));
	if (eldest === undefined) return null;
	const { pid, startTime } = eldest;
	return {
		backend: "pty",
		runId,
		process: { bootId: readBootId(), pid, startTime },
		startedAtMs: Date.now(),
		data: handleData(groups, []),
	};
}

/** Resolves when the run's own process is gone. */
export async function outlive(
	{ runId, handle, terminal, logDir }: LeftRun,
	graceMs: number,
	onTrouble: (message: string) => void,
): Promise<void> {
	const deadlineMs = performance.now() + graceMs;
	const log = terminal ? null : openLog(logDir);
	if (terminal) signalVerified(handle.process, "SIGTERM");
	try {
		while (isAlive(handle.process) !== false) {
			await sleep(LOOK_MS);
			log?.trim();
			if (!terminal || performance.now() < deadlineMs) continue;
			const killed = await killTree({ runId, root: handle.process, groups: groupsOf(handle) });
			if (!killed.ok) onTrouble(`${runId}: ${killed.reason}`);
		}
	} finally {
		log?.close();
	}
}

function openLog(folder: string): SharedLog | null {
	try {
		return openSharedLog(folder);
	} catch {
		return null;
	}
}

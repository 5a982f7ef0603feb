/**
 * Finds a run through its shim, or through the record that the shim left. "Not found" and "unknown" are
 * different results, and nothing here turns the second into the first.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { isAlive, readBootId } from "../../host/process-identity.js";
import type { AgentFolders } from "./agent-folder.js";
import { isAbsence } from "./connection.js";
import { type RunRecord, readRecord } from "./run-record.js";
import { openShim, type ShimConnection } from "./shim-connection.js";
import type { ShimExit } from "./shim-messages.js";

export type FoundRun =
	| { readonly state: "held"; readonly agent: string; readonly shim: ShimConnection }
	| {
			readonly state: "exited";
			readonly agent: string;
			readonly record: RunRecord;
			readonly exit: ShimExit;
	  }
	/** Its shim was killed: the agent may still run, and its exit will not be observed. */
	| { readonly state: "lost"; readonly agent: string; readonly record: RunRecord }
	| { readonly state: "rebooted" }
	/** No run with this id was started here. */
	| { readonly state: "none" }
	| { readonly state: "unknown"; readonly reason: string };

const CHECKS_MAX = 5;
const RETRY_MS = 10;

/** `agent` is the name of its directory; null if only the run's id is known. */
export async function findRun(
	folders: AgentFolders,
	runId: string,
	agent: string | null,
): Promise<FoundRun> {
	try {
		const name = agent ?? findFolder(folders, runId);
		if (name === null) return { state: "none" };
		for (let looks = 1; ; looks++) {
			const found = await look(folders, runId, name);
			if (found.state !== "unknown" || looks === CHECKS_MAX) return found;
			// Between two steps of the shim: it has closed its socket and is about to exit.
			await sleep(RETRY_MS * looks);
		}
	} catch (error) {
		return { state: "unknown", reason: (error as Error).message };
	}
}

function findFolder(folders: AgentFolders, runId: string): string | null {
	let problem: unknown = null;
	for (const name of folders.list()) {
		try {
			if (readRecord(folders.pathOf(name))?.runId === runId) return name;
		} catch (error) {
			problem = error;
		}
	}
	// The unreadable one may be this run.
	if (problem !== null) throw problem;
	return null;
}

async function look(folders: AgentFolders, runId: string, agent: string): Promise<FoundRun> {
	const shim = await openIfThere(folders.socketOf(agent));
	if (shim !== null) {
		if (shim.status.runId === runId) return { state: "held", agent, shim };
		shim.connection.close();
	}
	const record = readRecord(folders.pathOf(agent));
	// A later run has replaced it, which only happens once the exit is stored.
	if (record === null || record.runId !== runId) return { state: "none" };
	if (record.bootId !== readBootId()) return { state: "rebooted" };
	if (record.state === "failed") return { state: "none" };
	if (record.exit !== null) return { state: "exited", agent, record, exit: record.exit };
	const holder = {
		bootId: record.bootId,
		pid: record.shimPid,
		startTime: record.shimStart,
	};
	if (isAlive(holder) === false) return { state: "lost", agent, record };
	return { state: "unknown", reason: "its shim is running but not reachable" };
}

async function openIfThere(path: string): Promise<ShimConnection | null> {
	try {
		return await openShim(path);
	} catch (error) {
		if (isAbsence(error)) return null;
		throw error;
	}
}

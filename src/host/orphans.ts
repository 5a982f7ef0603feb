/**
 * Whether a run whose own process has ended has left anybody behind, found without reading the whole
 * process table: whoever outlives its parent is given to an ancestor of this process, so on Linux it is
 * enough to look at the children of those few. The mark in the environment tells whose it is.
 *
 * A hint that is cheap enough for every call; whoever acts on it looks again at the whole table.
 */

import { Buffer } from "node:buffer";
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { lookUp } from "./process-identity.js";
import { parseEnviron } from "./process-table.js";

/** How long it is believed that a process is nobody's; after that its number may be another's. */
const BELIEVED_MS = 1_000;
const ANCESTORS_MAX = 64;

export interface OrphanLook {
	/** Whether an orphan carries this mark; false also where the system does not tell. */
	hasOrphan(runId: string): boolean;
}

export function createOrphanLook(): OrphanLook {
	/** Open lists of the children of each ancestor: opening costs more than reading. */
	let lists: number[] = [];
	/** Processes that were looked at, and the run of each. */
	const runIds = new Map<number, string | null>();
	let believedUntilMs = 0;

	function forgetOld(): void {
		const nowMs = performance.now();
		if (nowMs < believedUntilMs) return;
		believedUntilMs = nowMs + BELIEVED_MS;
		for (const fd of lists) closeSync(fd);
		lists = readAncestors().flatMap((pid) => openIfThere(`/proc/${pid}/task/${pid}/children`));
		runIds.clear();
	}

	function runIdOf(pid: number): string | null {
		let runId = runIds.get(pid);
		if (runId === undefined) {
			runId = parseEnviron(readIfThere(`/proc/${pid}/environ`));
			runIds.set(pid, runId);
		}
		return runId;
	}

	return {
		hasOrphan(runId) {
			if (process.platform !== "linux") return false;
			forgetOld();
			return lists.some((fd) => readPids(fd).some((pid) => runIdOf(pid) === runId));
		},
	};
}

const buffer = Buffer.alloc(64 * 1024);

function readPids(fd: number): number[] {
	let length = 0;
	try {
		for (let read = -1; read !== 0 && length < buffer.length; length += read) {
			read = readSync(fd, buffer, length, buffer.length - length, length);
		}
	} catch {
		// That ancestor has ended; its successor is known when the lists are opened anew.
	}
	return length === 0 ? [] : buffer.toString("latin1", 0, length).trim().split(" ").map(Number);
}

function openIfThere(path: string): number[] {
	try {
		return [openSync(path, "r")];
	} catch {
		return [];
	}
}

/** The parents above this process, who are given the orphans. */
function readAncestors(): number[] {
	const ancestors: number[] = [];
	for (let pid = process.ppid; pid > 0 && ancestors.length < ANCESTORS_MAX; ) {
		ancestors.push(pid);
		const entry = lookUp(pid);
		pid = typeof entry === "string" ? 0 : entry.ppid;
	}
	// Hidden from us, perhaps, but always there.
	return ancestors.includes(1) ? ancestors : [...ancestors, 1];
}

function readIfThere(path: string): string {
	try {
		return readFileSync(path, "latin1");
	} catch {
		return "";
	}
}

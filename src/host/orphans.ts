/**
 * Whether a run whose own process has exited has left processes behind, without reading the whole
 * process table: an orphan is adopted by an ancestor of this process, so on Linux it is enough to check
 * the children of those few. The mark in the environment identifies its run.
 *
 * A hint that is cheap enough for every call; callers that act on it check the whole table again.
 */

import { Buffer } from "node:buffer";
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { lookUp } from "./process-identity.js";
import { parseEnviron } from "./process-table.js";

/** How long a process without a mark is remembered; after that its pid may be reused. */
const BELIEVED_MS = 1_000;
const ANCESTORS_MAX = 64;

export interface OrphanFinder {
	/** Whether an orphan carries this mark; also false if the system does not report it. */
	hasOrphan(runId: string): boolean;
}

export function createOrphanFinder(): OrphanFinder {
	/** Open files with the children of each ancestor: opening costs more than reading. */
	let lists: number[] = [];
	/** Inspected processes, and the run of each. */
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
		// That ancestor has exited; its successor is found when the lists are reopened.
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

/** The ancestors of this process, which adopt orphans. */
function readAncestors(): number[] {
	const ancestors: number[] = [];
	for (let pid = process.ppid; pid > 0 && ancestors.length < ANCESTORS_MAX; ) {
		ancestors.push(pid);
		const entry = lookUp(pid);
		pid = typeof entry === "string" ? 0 : entry.ppid;
	}
	// Possibly hidden, but it always exists.
	return ancestors.includes(1) ? ancestors : [...ancestors, 1];
}

function readIfThere(path: string): string {
	try {
		return readFileSync(path, "latin1");
	} catch {
		return "";
	}
}

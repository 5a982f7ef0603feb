/** The processes of this host that own terminals of agents, and the runs recorded in this home. */

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { type RunRecord, readRecord } from "../../backends/pty/run-record.js";
import type { Home } from "../../home/paths.js";
import { isAlive, readBootId, runSystemProgram } from "../../host/process-identity.js";
import { readProcessTable } from "../../host/process-table.js";
import { identityOf } from "../self-care/home-claim.js";
import { type Holder, holderFolder, isShimOfRun, type SeenProcess } from "./strays.js";

export interface Seen {
	readonly processes: readonly SeenProcess[];
	/** Of this home only. */
	readonly holders: readonly Holder[];
	readonly otherShims: ReadonlySet<number>;
	/** Runs that have not ended according to the backends' own files. */
	readonly recordedRuns: ReadonlySet<string>;
}

export function listProcesses({ runtime }: Home): Seen {
	const table = readProcessTable();
	const processes = table.entries
		.filter(({ ended, pid }) => !ended && pid !== process.pid)
		.map(({ pid, ppid }) => ({ pid, ppid, runId: table.runIdOf(pid) }));
	const argvOf = process.platform === "linux" ? readArgv : listArgv();
	const shims: number[] = [];
	const holders = processes.flatMap(({ pid }): Holder[] => {
		const argv = argvOf(pid);
		if (isShimOfRun(argv)) shims.push(pid);
		const folder = holderFolder(argv);
		if (folder === null || !folder.startsWith(runtime + sep)) return [];
		const place = findHolderFolder(pid, folder);
		return place === "elsewhere" ? [] : [{ pid, folder, folderIsThere: place === "here" }];
	});
	const recorded = readRecorded(runtime);
	const own = new Set(recorded.shims.map(({ pid }) => pid));
	return {
		processes,
		holders: [...holders, ...recorded.shims],
		otherShims: new Set(shims.filter((pid) => !own.has(pid))),
		recordedRuns: recorded.runIds,
	};
}

/**
 * Whether a process refers to this directory by this path. A process in another mount namespace, as in a container, has
 * its own directories under the same names, and one of another user cannot be inspected: neither counts.
 */
function findHolderFolder(pid: number, folder: string): "here" | "gone" | "elsewhere" {
	const here = identityOf(folder);
	if (process.platform !== "linux") return here === null ? "gone" : "here";
	try {
		const seen = identityOf(`/proc/${pid}/root${folder}`);
		if (seen !== here) return "elsewhere";
		if (seen !== null) return "here";
		return mountsOf(pid) === mountsOf("self") ? "gone" : "elsewhere";
	} catch {
		return "elsewhere";
	}
}

const mountsOf = (pid: number | "self") => statSync(`/proc/${pid}/ns/mnt`, { bigint: true }).ino;

/** The depth of run records below the runtime directory: `launchd` has one directory per run. */
const DEPTH_MAX = 3;

interface Recorded {
	readonly runIds: Set<string>;
	/** Live shims, by their own records: they own agents even if their starter was killed. */
	readonly shims: Holder[];
}

/**
 * In `agents`, one directory per agent with the record of its shim. In `runs`, several files per run,
 * one of which marks its end (tmux), or one (pty before the shim).
 */
function readRecorded(
	folder: string,
	depth = 0,
	found: Recorded = { runIds: new Set(), shims: [] },
): Recorded {
	for (const entry of entriesOf(folder)) {
		if (!entry.isDirectory()) continue;
		const path = join(folder, entry.name);
		if (entry.name === "runs") {
			for (const runId of openRunsIn(entriesOf(path).map(({ name }) => name))) {
				found.runIds.add(runId);
			}
		} else if (entry.name === "agents") addShims(path, found);
		else if (depth < DEPTH_MAX) readRecorded(path, depth + 1, found);
	}
	return found;
}

function addShims(agents: string, found: Recorded): void {
	for (const { name } of entriesOf(agents)) {
		const folder = join(agents, name);
		const record = readRecordIfSound(folder);
		if (record === null || record.bootId !== readBootId()) continue;
		const { bootId, shimPid: pid, shimStart: startTime, exit, state, runId } = record;
		if (state === "failed" || exit?.treeEmpty === true) continue;
		found.runIds.add(runId);
		if (isAlive({ bootId, pid, startTime }) !== true || !keepsOpen(pid, folder)) continue;
		found.shims.push({ pid, folder, folderIsThere: true });
	}
}

/** Whether a shim belongs to this folder, and not to the one that this is a copy of: it keeps its own folder open. */
function keepsOpen(pid: number, folder: string): boolean {
	const files = `/proc/${pid}/fd`;
	if (process.platform !== "linux") return true;
	const wanted = identityOf(folder);
	return entriesOf(files).some(({ name }) => identityOf(`${files}/${name}`) === wanted);
}

function readRecordIfSound(folder: string): RunRecord | null {
	try {
		return readRecord(folder);
	} catch {
		return null;
	}
}

function openRunsIn(names: readonly string[]): ReadonlySet<string> {
	const open = new Set<string>();
	for (const name of names) {
		const match = /^(.+)\.(?:json|started|handle)$/.exec(name);
		if (match?.[1] !== undefined) open.add(match[1]);
	}
	for (const name of names) open.delete(/^(.+)\.(?:exit|failed)$/.exec(name)?.[1] ?? "");
	return open;
}

function entriesOf(folder: string) {
	try {
		return readdirSync(folder, { withFileTypes: true });
	} catch {
		return [];
	}
}

function readArgv(pid: number): string[] {
	try {
		return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
	} catch {
		return [];
	}
}

/** Split at spaces: sufficient only for the directories that Reeve creates. */
function listArgv(): (pid: number) => string[] {
	const lines = runSystemProgram("ps", ["-axww", "-o", "pid=,command="]).split("\n");
	const byPid = new Map(lines.map((line) => [Number.parseInt(line, 10), line.trim().split(/\s+/)]));
	return (pid) => byPid.get(pid)?.slice(1) ?? [];
}

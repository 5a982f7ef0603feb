/** The processes of this host that hold terminals for agents, of this home or of another. */

import { existsSync, readFileSync } from "node:fs";
import { sep } from "node:path";
import type { Home } from "../client/home.js";
import { runSystemProgram } from "../host/process-identity.js";
import { readProcessTable } from "../host/process-table.js";
import { type Holder, holderFolder, type SeenProcess } from "./strays.js";

export interface Seen {
	readonly processes: readonly SeenProcess[];
	readonly holders: readonly Holder[];
}

export function seeProcesses({ runtime }: Home): Seen {
	const table = readProcessTable();
	const processes = table.entries
		.filter(({ ended, pid }) => !ended && pid !== process.pid)
		.map(({ pid, ppid }) => ({ pid, ppid, runId: table.runIdOf(pid) }));
	const argvOf = process.platform === "linux" ? readArgv : listArgv();
	const holders = processes.flatMap(({ pid }) => {
		const folder = holderFolder(argvOf(pid));
		if (folder === null) return [];
		const isOfThisHome = folder.startsWith(runtime + sep);
		return [{ pid, folder, folderIsThere: existsSync(folder), isOfThisHome }];
	});
	return { processes, holders };
}

function readArgv(pid: number): string[] {
	try {
		return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
	} catch {
		return [];
	}
}

/** Split at spaces: good enough for the folders that Reeve makes, and for nothing else. */
function listArgv(): (pid: number) => string[] {
	const lines = runSystemProgram("ps", ["-axww", "-o", "pid=,command="]).split("\n");
	const byPid = new Map(lines.map((line) => [Number.parseInt(line, 10), line.trim().split(/\s+/)]));
	return (pid) => byPid.get(pid)?.slice(1) ?? [];
}

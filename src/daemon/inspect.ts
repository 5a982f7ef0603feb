/** What the doctor asks of the daemon's own parts, as a program that ends at once. Leaves nothing changed. */

import { existsSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { sep } from "node:path";
import { resolveHome } from "../client/home.js";
import type { DatabaseFinding, Inspection } from "../client/inspection.js";
import { describeLimits } from "../host/cgroup.js";
import { runSystemProgram } from "../host/process-identity.js";
import { readProcessTable } from "../host/process-table.js";
import { type DatabaseLook, lookAtDatabase } from "../store/sqlite/inspect-database.js";
import { renderLimits } from "./status.js";
import { findStrays, type Holder, holderFolder } from "./strays.js";

const home = resolveHome(process.env);
process.stdout.write(JSON.stringify(await inspect()));

async function inspect(): Promise<Inspection> {
	const table = readProcessTable();
	const processes = table.entries
		.filter(({ ended, pid }) => !ended && pid !== process.pid)
		.map(({ pid, ppid }) => ({ pid, ppid, runId: table.runIdOf(pid) }));
	const runIds = [...new Set(processes.flatMap(({ runId }) => runId ?? []))];
	const database = await lookAtDatabase(home.database, runIds);
	const strays = findStrays({
		processes,
		holders: findHolders(processes.map(({ pid }) => pid)),
		runs: "runs" in database ? database.runs : [],
		hasDaemon: await hasDaemon(),
	});
	return { database: tell(database), limits: renderLimits(describeLimits()), strays };
}

function tell(look: DatabaseLook): DatabaseFinding {
	return look.state === "sound" || look.state === "unread"
		? { state: look.state, bytes: look.bytes }
		: look;
}

function findHolders(pids: readonly number[]): Holder[] {
	const argvOf = process.platform === "linux" ? readArgv : listArgv();
	return pids.flatMap((pid) => {
		const folder = holderFolder(argvOf(pid));
		if (folder === null) return [];
		const isOfThisHome = folder.startsWith(home.runtime + sep);
		return [{ pid, folder, folderIsThere: existsSync(folder), isOfThisHome }];
	});
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

function hasDaemon(): Promise<boolean> {
	return new Promise((resolve) => {
		const socket = connect(home.socket);
		const end = (answer: boolean) => {
			socket.destroy();
			resolve(answer);
		};
		socket.once("connect", () => end(true)).once("error", () => end(false));
	});
}

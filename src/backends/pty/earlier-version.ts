/**
 * Runs that a version before the shim has started. Their terminals were held by one Node process (`pty`), or by a tmux
 * server with a launcher per run (`tmux`, `systemd`). Nothing else can take over those terminals, so a run that is still
 * alive is ended and started again; an exit that was recorded is read as it is.
 */

import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { readJsonFile } from "../../home/numbered-files.js";
import { readIdentity } from "../../host/process-identity.js";
import { readProcessTable } from "../../host/process-table.js";
import { signalVerified } from "../../host/process-tree.js";
import { socketPathIn } from "../../host/socket-path.js";
import type { RunExit, RunHandle } from "../../ports/backend.js";

export const REPLACED =
	"started by an earlier version of Reeve, whose terminals this version cannot adopt: stopped and started again";

export interface EarlierFiles {
	/** The exit that was recorded; null when there is none. */
	exit(runId: string): RunExit | null;
	/** The handle of an unfinished run; null if there is none. */
	handle(runId: string): RunHandle | null;
	/** The exit is stored. The tmux server of the run exits with its last program. */
	forget(runId: string): void;
}

export function createEarlierFiles(folder: string, backend: string): EarlierFiles {
	const runs = join(folder, "runs");
	const exitOfHolder = join(folder, "exits");
	const handle = (runId: string) =>
		readJsonFile<{ readonly handle: RunHandle | null }>(join(runs, `${runId}.json`))?.handle ??
		readJsonFile<RunHandle>(join(runs, `${runId}.handle`)) ??
		readStarted(join(runs, `${runId}.started`), runId, backend);
	return {
		exit: (runId) =>
			readJsonFile<{ readonly exit: RunExit }>(join(exitOfHolder, `${runId}.json`))?.exit ??
			readLauncherExit(join(runs, `${runId}.exit`), runId),
		handle,
		forget(runId) {
			const names = listOf(runs).filter((name) => name.slice(0, name.lastIndexOf(".")) === runId);
			if (names.length === 0) return rmSync(join(exitOfHolder, `${runId}.json`), { force: true });
			const server = serverOf(handle(runId));
			for (const name of names) rmSync(join(runs, name), { force: true });
			if (server !== null) endIdleServer(server, socketPathIn(folder, "tmux.sock"));
		},
	};
}

function listOf(folder: string): string[] {
	try {
		return readdirSync(folder);
	} catch {
		return [];
	}
}

/** The launcher's record of an exit: `code 3`, `signal 9`, `signal 9 oom` or `unknown 0`. */
function readLauncherExit(path: string, runId: string): RunExit | null {
	try {
		const found = /^(code|signal|unknown) (\d+)( oom)?\n$/.exec(readFileSync(path, "utf8"));
		if (found === null) return null;
		const [, kind, number] = found;
		const isNamed = ([, value]: [string, number]) => value === Number(number);
		const [signal = `SIG${number}`] = Object.entries(constants.signals).find(isNamed) ?? [];
		return {
			runId,
			code: kind === "code" ? Number(number) : null,
			signal: kind === "signal" ? signal : null,
			atMs: statSync(path).mtimeMs,
			outOfMemory: found[3] !== undefined,
		};
	} catch {
		return null;
	}
}

/** The launcher's record of a start that no daemon has confirmed; null unless the process carries the run's mark (S10). */
function readStarted(path: string, runId: string, backend: string): RunHandle | null {
	try {
		const pid = Number(readFileSync(path, "utf8").split(" ")[0]);
		const process = readProcessTable().runIdOf(pid) === runId ? readIdentity(pid) : null;
		if (process === null) return null;
		return { backend, runId, process, startedAtMs: statSync(path).mtimeMs, data: {} };
	} catch {
		return null;
	}
}

interface Server {
	readonly pid: number;
	readonly startTime: string;
}

function serverOf(handle: RunHandle | null): Server | null {
	const { serverPid: pid, serverStartTime: startTime } = handle?.data ?? {};
	return typeof pid === "number" && typeof startTime === "string" ? { pid, startTime } : null;
}

function endIdleServer(server: Server, socket: string): void {
	const isChild = ({ ppid, ended }: { ppid: number; ended: boolean }) =>
		ppid === server.pid && !ended;
	if (readProcessTable().entries.some(isChild)) return;
	if (signalVerified(server, "SIGKILL") === "sent") rmSync(socket, { force: true });
}

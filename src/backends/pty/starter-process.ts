/**
 * Connects to the starter of a directory, and starts one if there is none: in its own session and with
 * its own environment, so that no variable of this process is passed on (A5).
 */

import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, statSync, truncateSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Argv } from "../../host/cgroup.js";
import { makePrivateFolder, socketPathIn } from "../../host/socket-path.js";
import { type Connection, isAbsence, openConnection, type Peer } from "./connection.js";
import { STARTER_PAYLOAD_MAX } from "./frames.js";
import { FAILED, STARTED, STRANGER_LIST, STRANGERS_KILLED } from "./starter-messages.js";

export interface StarterPaths {
	/** The directory of the starter's socket, lock and log. */
	readonly folder: string;
	/** The program `reeve-shim`; throws with the reason if there is none. */
	readonly program: () => string;
	/** Variables of the starter besides PATH; for tests. */
	readonly env: Readonly<Record<string, string>>;
	/** A command line that runs another program outside of this process's own unit, if necessary. */
	readonly enclose: ((argv: Argv) => Argv) | null;
}

const START_MS_MAX = 20_000;
const LOG_BYTES_MAX = 1024 * 1024;
const SOCKET = "starter.sock";
const ANSWERS = new Set([STARTED, FAILED, STRANGER_LIST, STRANGERS_KILLED]);

/** The directory of the starter: another one if the path would be too long for a socket. */
export function starterFolder(folder: string): string {
	const socket = socketPathIn(folder, SOCKET);
	return dirname(socket) === folder ? folder : socket.replace(/\.sock$/, "");
}

export const starterSocketPath = (folder: string) => join(starterFolder(folder), SOCKET);
export const starterLogPath = (folder: string) => join(folder, "starter.log");

const peerIn = (folder: string): Peer => ({
	name: "starter",
	path: starterSocketPath(folder),
	payloadMax: STARTER_PAYLOAD_MAX,
	answers: ANSWERS,
});

/** Connects to the starter of a folder, if there is one. */
export const findStarter = (folder: string): Promise<Connection> => openConnection(peerIn(folder));

/** Connects to the starter, starting it if necessary. Rejects with the reason. */
export async function reachStarter(place: StarterPaths): Promise<Connection> {
	const peer = peerIn(place.folder);
	const deadlineMs = performance.now() + START_MS_MAX;
	let starter: StartedProcess | null = null;
	for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 2, 100)) {
		try {
			return await openConnection(peer);
		} catch (error) {
			if (!isAbsence(error)) throw error;
		}
		if (starter?.failed === true)
			throw new Error(`the starter failed to start: ${lastLine(place)}`);
		// A starter that exited because another was faster is replaced, in case that one has exited too.
		if (starter === null || starter.left) starter = startStarter(place);
		if (performance.now() > deadlineMs) {
			throw new Error(`the starter does not respond on ${peer.path}`);
		}
		await sleep(pauseMs);
	}
}

interface StartedProcess {
	/** It exited with an error. */
	readonly failed: boolean;
	readonly left: boolean;
}

/** Without the environment of this process: agents get theirs with each request. */
export const starterEnvironment = (more: Readonly<Record<string, string>>) => ({
	PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
	...more,
});

export const starterArgv = (program: string, folder: string): Argv => [
	program,
	"starter",
	starterFolder(folder),
];

function startStarter({ folder, program, env, enclose }: StarterPaths): StartedProcess {
	makePrivateFolder(folder);
	makePrivateFolder(starterFolder(folder));
	const state = { failed: false, left: false };
	const log = openLog(starterLogPath(folder));
	try {
		const argv = starterArgv(program(), folder);
		const [first, ...args] = enclose === null ? argv : enclose(argv);
		const child = spawn(first, args, {
			cwd: "/",
			detached: true,
			env: starterEnvironment(env),
			stdio: ["ignore", log, log],
		});
		child.unref();
		child.once("error", () => {
			state.failed = true;
		});
		child.once("exit", (code) => {
			state.left = true;
			state.failed = code !== 0;
		});
	} finally {
		closeSync(log);
	}
	return state;
}

function openLog(path: string): number {
	const found = statSync(path, { throwIfNoEntry: false });
	if (found !== undefined && found.size > LOG_BYTES_MAX) truncateSync(path);
	return openSync(path, "a", 0o600);
}

export function lastLine({ folder }: StarterPaths): string {
	try {
		return readFileSync(starterLogPath(folder), "utf8").trimEnd().split("\n").at(-1) ?? "";
	} catch {
		return "its log is empty";
	}
}

/**
 * Reaching the holder, and starting one where there is none: in a session of its own, with an
 * environment of its own, so that nothing of whoever starts it is handed on (A5).
 */

import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, statSync, truncateSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Argv } from "../../host/cgroup.js";
import { makePrivateFolder } from "../../host/socket-path.js";
import { holderLogPath, holderSocketPath } from "./holder-paths.js";
import {
	agreeOnVersion,
	createFrameDecoder,
	encodeFrame,
	type Frame,
	type FromHolder,
	SPOKEN,
	type VersionRange,
} from "./protocol.js";

export interface HolderPlace {
	/** The holder's own folder: socket, lock, log and records. */
	readonly folder: string;
	/** The holder's program. */
	readonly program: string;
	/** What the holder's environment has besides PATH; for tests. */
	readonly env: Readonly<Record<string, string>>;
	/** The command line that runs another outside of this process's own unit, where that is needed. */
	readonly enclose: ((argv: Argv) => Argv) | null;
}

/** A connection on which both sides have said hello. */
export interface Greeted {
	readonly socket: Socket;
	/** Takes frames from here on; until then they wait. */
	receive(onFrame: (frame: Frame<FromHolder>) => void): void;
}

const START_MS_MAX = 20_000;
const LOG_BYTES_MAX = 1024 * 1024;

/** Connects to the holder, starting it if need be. Rejects with what went wrong, in words. */
export async function reachHolder(place: HolderPlace): Promise<Greeted> {
	const path = holderSocketPath(place.folder);
	const deadlineMs = performance.now() + START_MS_MAX;
	let holder: StartedHolder | null = null;
	for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 2, 100)) {
		try {
			return await greet(await connectTo(path));
		} catch (error) {
			if (!isAbsence(error)) throw error;
		}
		if (holder?.failed === true) throw new Error(`the holder does not start: ${lastWords(place)}`);
		// One that has left because another was quicker is followed by the next, should that have left too.
		if (holder === null || holder.left) holder = startHolder(place);
		if (performance.now() > deadlineMs) throw new Error(`the holder does not answer on ${path}`);
		await sleep(pauseMs);
	}
}

/** Nobody is there, or whoever was there has just left. */
function isAbsence(error: unknown): boolean {
	const { code } = error as NodeJS.ErrnoException;
	return ["ENOENT", "ECONNREFUSED", "ECONNRESET", "EPIPE"].includes(code ?? "");
}

function connectTo(path: string): Promise<Socket> {
	return new Promise((resolve, reject) => {
		const socket = connect(path);
		socket.once("connect", () => {
			socket.removeListener("error", reject);
			resolve(socket);
		});
		socket.once("error", reject);
	});
}

/** Says hello and waits for the answer. */
export function greet(socket: Socket, spoken: VersionRange = SPOKEN): Promise<Greeted> {
	const decode = createFrameDecoder<FromHolder>();
	const waiting: Frame<FromHolder>[] = [];
	let onFrame: ((frame: Frame<FromHolder>) => void) | null = null;
	return new Promise((resolve, reject) => {
		const fail = (error: Error) => {
			socket.destroy();
			reject(error);
		};
		const gone = () => fail(Object.assign(new Error("the holder hung up"), { code: "ECONNRESET" }));
		let isGreeted = false;

		function onHello({ header }: Frame<FromHolder>): void {
			const problem = problemWith(header, spoken);
			if (problem !== null) {
				fail(new Error(problem));
				return;
			}
			isGreeted = true;
			socket.removeListener("close", gone);
			resolve({
				socket,
				receive(listener) {
					onFrame = listener;
					for (const frame of waiting.splice(0)) listener(frame);
				},
			});
		}

		socket.on("data", (piece) => {
			try {
				for (const frame of decode(piece)) {
					if (!isGreeted) onHello(frame);
					else if (onFrame === null) waiting.push(frame);
					else onFrame(frame);
				}
			} catch (error) {
				fail(error as Error);
			}
		});
		socket.on("error", fail);
		socket.once("close", gone);
		socket.write(encodeFrame({ type: "hello", ...spoken, pid: process.pid }));
	});
}

function problemWith(header: FromHolder, spoken: VersionRange): string | null {
	if (header.type === "refused") return `the holder refuses: ${header.reason}`;
	if (header.type !== "hello") return "the holder does not say hello";
	const agreed = agreeOnVersion(spoken, header);
	return "refused" in agreed ? agreed.refused : null;
}

interface StartedHolder {
	/** It ended with an error. */
	readonly failed: boolean;
	readonly left: boolean;
}

/** Nothing of whoever starts it: agents get theirs with each request. */
export const holderEnvironment = (more: Readonly<Record<string, string>>) => ({
	PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
	...more,
});

function startHolder({ folder, program, env, enclose }: HolderPlace): StartedHolder {
	makePrivateFolder(folder);
	const state = { failed: false, left: false };
	const log = openLog(holderLogPath(folder));
	try {
		const argv: Argv = [process.execPath, program, folder];
		const [first, ...args] = enclose === null ? argv : enclose(argv);
		const child = spawn(first, args, {
			cwd: "/",
			detached: true,
			env: holderEnvironment(env),
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

function lastWords({ folder }: HolderPlace): string {
	try {
		return readFileSync(holderLogPath(folder), "utf8").trimEnd().split("\n").at(-1) ?? "";
	} catch {
		return "it left no log";
	}
}

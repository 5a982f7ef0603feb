/**
 * Sends messages to the socket of the service manager, which Node cannot do: a child process
 * (`reeve-shim notify`) reads them from stdin and sends them in order. A child that dies is replaced.
 */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Writable } from "node:stream";
import { describeShim } from "../../native/find-binary.js";

export interface NotifyRelay {
	send(text: string): void;
	/** Resolves when everything was sent, or after a second. */
	close(): Promise<void>;
	/** The current child; for tests. */
	readonly pid: number | undefined;
}

const RETRY_MS = 1_000;
const CLOSE_MS_MAX = 1_000;

export interface RelayOptions {
	/** The socket's path, or its abstract name after an @. */
	readonly path: string;
	/** The relay program; the native program of this package by default. */
	readonly program?: string;
	/** A new child was started: the last messages of the previous one may be lost. */
	readonly onRestart: () => void;
	readonly onTrouble: (message: string) => void;
}

export function createNotifyRelay({
	path,
	program = findProgram(),
	onRestart,
	onTrouble,
}: RelayOptions): NotifyRelay {
	let isClosed = false;
	let isReported = false;
	let child = start();

	function report(reason: string): void {
		if (!isReported) onTrouble(`cannot notify the service manager: ${reason}`);
		isReported = true;
	}

	function start(): ChildProcessByStdio<Writable, null, null> {
		const started = spawn(program, ["notify", path], {
			env: {},
			stdio: ["pipe", "ignore", "ignore"],
		});
		started.stdin.on("error", () => {});
		started.on("error", (error) => report(error.message));
		started.once("close", (code, signal) => {
			if (isClosed) return;
			// It exits by itself only if it cannot work; a signal is an accident.
			if (signal === null) report(`${program} exited with code ${code}`);
			setTimeout(() => {
				if (isClosed) return;
				child = start();
				onRestart();
			}, RETRY_MS).unref();
		});
		return started;
	}

	return {
		send: (text) => void child.stdin.write(`${text}\0`),
		async close() {
			isClosed = true;
			if (child.exitCode !== null || child.signalCode !== null) return;
			await new Promise<void>((resolve) => {
				const giveUp = setTimeout(resolve, CLOSE_MS_MAX);
				child.once("close", () => {
					clearTimeout(giveUp);
					resolve();
				});
				child.stdin.end();
			});
		},
		get pid() {
			return child.pid;
		},
	};
}

/** Without a native program no agent can run, which is reported where agents start. */
function findProgram(): string {
	return describeShim().path ?? "reeve-shim";
}

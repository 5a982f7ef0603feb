/**
 * A process under a new terminal, and the bytes in both directions.
 *
 * Uses the binary of node-pty without its JavaScript, which loses the end of the output: it closes the
 * terminal 200 ms after the exit even when it is being read slowly, and libuv stops reading at the
 * hang-up although bytes are waiting. Here the other side of the terminal is held open until the process
 * has ended, and then everything that is left is read in one go.
 */

import { spawn } from "node:child_process";
import {
	closeSync,
	constants as fsConstants,
	fstatSync,
	openSync,
	readSync,
	statSync,
} from "node:fs";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { ReadStream } from "node:tty";
import { requireBinary } from "@lydell/node-pty/requireBinary.js";
import type { RunGroups } from "../../../host/cgroup.js";
import type { Launch } from "../../../host/spawn-errors.js";
import type { TerminalSize } from "../../../ports/backend.js";
import { CAN_PREPARE, prepareLaunch } from "./prepare-launch.js";

interface Binary {
	fork(
		file: string,
		args: string[],
		env: string[],
		cwd: string,
		columns: number,
		rows: number,
		uid: number,
		gid: number,
		utf8: boolean,
		helperPath: string,
		onExit: (code: number, signal: number) => void,
	): { fd: number; pid: number; pty: string };
	open(columns: number, rows: number): { master: number; slave: number; pty: string };
	resize(fd: number, columns: number, rows: number): void;
}

const binary = requireBinary("pty.node") as Binary;

export interface ProcessEnd {
	readonly code: number | null;
	readonly signal: string | null;
}

export interface OpenTerminal {
	readonly pid: number;
	/** Resolves when the bytes have been taken by the terminal. */
	write(bytes: Uint8Array): Promise<void>;
	/** Bytes that the terminal has not taken yet. */
	readonly waitingBytes: number;
	resize(size: TerminalSize): void;
	pause(): void;
	resume(): void;
}

export interface TerminalEvents {
	onOutput(bytes: Buffer): void;
	/** After the last output. */
	onEnd(end: ProcessEnd): void;
}

/** A process and the terminal that it is in. */
interface Fork {
	readonly pid: number;
	/** Our side of the terminal. */
	readonly fd: number;
	/** The process's side, if it could be held open. */
	readonly otherSide: number | null;
}

type OnExit = (end: ProcessEnd) => void;

/** Throws when there is no terminal or process to be had. */
export function openTerminal(
	launch: Launch,
	size: TerminalSize,
	groups: RunGroups,
	events: TerminalEvents,
): OpenTerminal {
	// Called from the event loop, so never before the rest of this function has run.
	const onExit: OnExit = (how) => end(how);
	const fork = CAN_PREPARE
		? spawnInTerminal(launch, size, groups.paths, onExit)
		: groups.inside(() => forkTerminal(launch, size, onExit));
	const stream = new ReadStream(fork.fd);
	stream.on("data", events.onOutput);
	// EIO is how a terminal says that its other side is closed.
	stream.on("error", () => stream.destroy());

	function end(how: ProcessEnd): void {
		readRest(stream, fork.fd, events.onOutput);
		if (fork.otherSide !== null) closeSync(fork.otherSide);
		stream.destroy();
		events.onEnd(how);
	}

	return {
		pid: fork.pid,
		write: (bytes) =>
			new Promise((resolve, reject) => {
				if (stream.destroyed) return reject(new Error("the terminal is closed"));
				stream.write(bytes, (error) => (error ? reject(error) : resolve()));
			}),
		get waitingBytes() {
			return stream.writableLength;
		},
		resize({ columns, rows }) {
			if (!stream.destroyed) binary.resize(fork.fd, columns, rows);
		},
		pause: () => stream.pause(),
		resume: () => stream.resume(),
	};
}

/**
 * Node's own way to start a process does not copy the holder's memory, which takes the longer the more
 * runs it has, and needs no thread to wait for each.
 */
function spawnInTerminal(
	launch: Launch,
	{ columns, rows }: TerminalSize,
	groups: readonly string[],
	onExit: OnExit,
): Fork {
	const { master, slave, pty } = binary.open(columns, rows);
	let otherSide: number | null = null;
	try {
		// The one that came along does not block, and the agent would share that.
		otherSide = openSync(pty, fsConstants.O_RDWR | fsConstants.O_NOCTTY);
		const { argv, cwd, env } = prepareLaunch(launch, { groups, terminal: pty });
		const [program, ...args] = argv;
		const stdio = [otherSide, otherSide, otherSide];
		const child = spawn(program, args, { cwd, env, detached: true, stdio });
		child.on("error", () => {});
		if (child.pid === undefined) throw new Error("no process could be started");
		child.once("exit", (code, signal) => onExit({ code, signal }));
		return { pid: child.pid, fd: master, otherSide };
	} catch (error) {
		if (otherSide !== null) closeSync(otherSide);
		closeSync(master);
		throw error;
	} finally {
		closeSync(slave);
	}
}

function forkTerminal(
	{ argv, cwd, env }: Launch,
	{ columns, rows }: TerminalSize,
	onExit: OnExit,
): Fork {
	const [program, ...args] = argv;
	const pairs = Object.entries(env).map(([key, value]) => `${key}=${value}`);
	const { pid, fd, pty } = binary.fork(
		...([program, args, pairs, cwd, columns, rows, -1, -1, true, helperPath()] as const),
		(code, signal) =>
			onExit(signal === 0 ? { code, signal: null } : { code: null, signal: signalName(signal) }),
	);
	return { pid, fd, otherSide: holdOtherSide(fd, pty) };
}

const READ_BYTES = 65_536;
/** A descendant that goes on printing must not keep the exit from being seen. */
const REST_BYTES_MAX = 4 * 1024 * 1024;

/** What was read but not handed on, then what the kernel still has. It says EAGAIN only when that is all. */
function readRest(stream: ReadStream, fd: number, onOutput: (bytes: Buffer) => void): void {
	if (stream.destroyed) return;
	stream.removeListener("data", onOutput);
	stream.pause();
	const buffered = stream.read() as Buffer | null;
	if (buffered !== null) onOutput(buffered);
	const space = Buffer.alloc(READ_BYTES);
	let total = 0;
	try {
		while (total < REST_BYTES_MAX) {
			const length = readSync(fd, space);
			if (length === 0) return;
			total += length;
			onOutput(Buffer.from(space.subarray(0, length)));
		}
	} catch {
		// EAGAIN or EIO: nothing is left.
	}
}

/** Without it the terminal would hang up at the exit, and what was still in it could not be read. */
function holdOtherSide(fd: number, path: string): number | null {
	try {
		// On macOS node-pty forgets to close the other side, which is then what is held.
		if (process.platform === "darwin") {
			const { rdev } = statSync(path);
			for (let other = fd + 1; other < fd + 8; other++) {
				if (isDevice(other, rdev)) return other;
			}
		}
		return openSync(path, fsConstants.O_RDWR | fsConstants.O_NOCTTY);
	} catch {
		return null;
	}
}

function isDevice(fd: number, rdev: number): boolean {
	try {
		return fstatSync(fd).rdev === rdev;
	} catch {
		return false;
	}
}

function signalName(number: number): string {
	const found = Object.entries(constants.signals).find(([, value]) => value === number);
	return found?.[0] ?? `SIG${number}`;
}

/** macOS starts the process through a small program that node-pty brings along. */
function helperPath(): string {
	if (process.platform !== "darwin") return "";
	const require = createRequire(import.meta.url);
	const fromPackage = createRequire(require.resolve("@lydell/node-pty"));
	return fromPackage.resolve(`@lydell/node-pty-${process.platform}-${process.arch}/spawn-helper`);
}

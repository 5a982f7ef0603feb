/** The stderr output of a worker: all of it in files, the end of it in memory. Bounded (A6). */

import { Buffer } from "node:buffer";
import { mkdirSync, renameSync, rmSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { createLogTail, type LogTail } from "./log-tail.js";

/** How much may be queued for the disk before the worker's stderr is no longer read. */
const WAITING_BYTES_MAX = 1024 * 1024;

export interface WorkerLog {
	readonly tail: LogTail;
	/** A message of Reeve itself. */
	note(message: string): void;
	/** For messages that could repeat with every line: logged at the 1st, 2nd, 4th, 8th… time. */
	count(what: string, detail: string): void;
	close(): Promise<void>;
}

export function createWorkerLog(stderr: Readable, folder: string, bytesMax: number): WorkerLog {
	const tail = createLogTail(bytesMax);
	const writer = createLogWriter(folder, () => {
		if (writer.waitingBytes < WAITING_BYTES_MAX / 4) stderr.resume();
	});
	const counts = new Map<string, number>();

	function append(bytes: Buffer): void {
		tail.append(bytes);
		writer.append(bytes);
		if (writer.waitingBytes > WAITING_BYTES_MAX) stderr.pause();
	}
	stderr.on("data", append);

	function note(message: string): void {
		append(Buffer.from(`[reeve ${new Date().toISOString()}] ${message}\n`));
	}

	return {
		tail,
		note,
		count(what, detail) {
			const times = (counts.get(what) ?? 0) + 1;
			counts.set(what, times);
			// Powers of two have one bit.
			if ((times & (times - 1)) === 0) note(`${what} (${times}×): ${detail}`);
		},
		// Output that the disk does not accept is lost, which is not a failure.
		close: () => writer.close().catch(() => {}),
	};
}

/*
 * The complete output of an agent, in files of bounded size (A6): `current.log`, and older
 * `current.log.1`, `current.log.2`… A full disk loses output and never blocks an agent.
 */

interface LogBounds {
	readonly bytesPerFile: number;
	/** Including the current one. */
	readonly files: number;
}

const LOG_BOUNDS: LogBounds = { bytesPerFile: 10 * 1024 * 1024, files: 5 };

const pathOf = (folder: string, number: number) =>
	join(folder, number === 0 ? "current.log" : `current.log.${number}`);

/** Frees `current.log` by shifting every file by one; the oldest is removed. */
function shiftFiles(folder: string, files: number): void {
	rmSync(pathOf(folder, files - 1), { force: true });
	for (let number = files - 2; number >= 0; number--) {
		try {
			renameSync(pathOf(folder, number), pathOf(folder, number + 1));
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
		}
	}
}

interface LogWriter {
	append(bytes: Buffer): void;
	/** Bytes that are not in the file yet. */
	readonly waitingBytes: number;
	/** Resolves when everything appended so far is written or dropped. */
	flush(): Promise<void>;
	close(): Promise<void>;
}

/** `onWritten` is called after every write. */
function createLogWriter(
	folder: string,
	onWritten: () => void,
	bounds: LogBounds = LOG_BOUNDS,
): LogWriter {
	let waiting: Buffer[] = [];
	let waitingBytes = 0;
	let file: FileHandle | null = null;
	let size = 0;
	let working: Promise<void> | null = null;

	async function openCurrent(): Promise<FileHandle> {
		mkdirSync(folder, { recursive: true, mode: 0o700 });
		const opened = await open(pathOf(folder, 0), "a", 0o600);
		({ size } = await opened.stat());
		return opened;
	}

	async function rotate(): Promise<void> {
		await file?.close();
		file = null;
		shiftFiles(folder, bounds.files);
		file = await openCurrent();
	}

	async function write(bytes: Buffer): Promise<void> {
		file ??= await openCurrent();
		for (let from = 0; from < bytes.length; ) {
			if (size >= bounds.bytesPerFile) await rotate();
			const room = Math.max(1, bounds.bytesPerFile - size);
			const { bytesWritten } = await file.write(bytes, from, Math.min(room, bytes.length - from));
			from += bytesWritten;
			size += bytesWritten;
		}
	}

	async function work(): Promise<void> {
		while (waiting.length > 0) {
			const bytes = waiting.length === 1 ? (waiting[0] as Buffer) : Buffer.concat(waiting);
			waiting = [];
			try {
				await write(bytes);
			} catch {
				// No space, or the directory is gone: this output is lost, but the agent continues.
			}
			waitingBytes -= bytes.length;
			onWritten();
		}
		working = null;
	}

	const writer: LogWriter = {
		append(bytes) {
			waiting.push(bytes);
			waitingBytes += bytes.length;
			working ??= work();
		},
		get waitingBytes() {
			return waitingBytes;
		},
		async flush() {
			while (working !== null) await working;
		},
		async close() {
			await writer.flush();
			const closing = file;
			file = null;
			await closing?.close();
		},
	};
	return writer;
}

/** The stderr output of a worker: all of it in files, the end of it in memory. Bounded (A6). */

import { Buffer } from "node:buffer";
import { mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import {
	encodeTime,
	encodeTimesHeader,
	hasRoom,
	TIME_PRECISION_MS,
	TIME_RECORD_BYTES,
} from "../core/log-times.js";
import { createLogTail, type LogTail } from "./log-tail.js";

/** How much may be queued for the disk before the worker's stderr is no longer read. */
const WAITING_BYTES_MAX = 1024 * 1024;

export interface WorkerLog {
	/** Where the output of this worker begins in the file. */
	readonly from: number;
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
	const from = statSync(pathOf(folder, 0), { throwIfNoEntry: false })?.size ?? 0;

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
		from,
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

const pathOf = (folder: string, number: number, name = "current.log") =>
	join(folder, number === 0 ? name : `${name}.${number}`);

/** Frees `current.log` and `times` by shifting every file by one; the oldest are removed. */
function shiftFiles(folder: string, files: number): void {
	for (const name of ["current.log", "times"]) {
		rmSync(pathOf(folder, files - 1, name), { force: true });
		for (let number = files - 2; number >= 0; number--) {
			try {
				renameSync(pathOf(folder, number, name), pathOf(folder, number + 1, name));
			} catch (error) {
				if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
			}
		}
	}
}

/** When which byte of the current file arrived, as the shim notes it for sessions. */
interface TimesWriter {
	note(offset: number): Promise<void>;
	close(): Promise<void>;
}

/** A log works without its times: failures only leave them out. */
async function openTimes(folder: string, log: FileHandle, size: number): Promise<TimesWriter> {
	const { ino } = await log.stat({ bigint: true });
	const path = pathOf(folder, 0, "times");
	// Output of an earlier worker that has times keeps them; its file is continued.
	const isOwn = size > 0 && (await readHeader(path)).equals(encodeTimesHeader(ino));
	const file = await open(path, isOwn ? "a" : "w", 0o600).catch(() => null);
	let written = isOwn ? (((await file?.stat())?.size ?? 0) >> 4) << 4 : 0;
	let nextMs = 0;
	// Nothing was noted between the earlier worker and this one.
	let isSkipped = size > 0;

	async function add(record: Uint8Array): Promise<boolean> {
		try {
			const done = await file?.write(record);
			if (done?.bytesWritten !== TIME_RECORD_BYTES) return false;
			written += TIME_RECORD_BYTES;
			return true;
		} catch {
			return false;
		}
	}
	const hasHeader = isOwn || (await add(encodeTimesHeader(ino)));
	return {
		async note(offset) {
			const nowMs = performance.now();
			if (!hasHeader || nowMs < nextMs) return;
			const isAdded =
				hasRoom(written, offset) && (await add(encodeTime(offset, Date.now(), isSkipped)));
			isSkipped = !isAdded;
			if (isAdded) nextMs = nowMs + TIME_PRECISION_MS;
		},
		close: async () => void (await file?.close().catch(() => {})),
	};
}

async function readHeader(path: string): Promise<Buffer> {
	const header = Buffer.alloc(TIME_RECORD_BYTES);
	const file = await open(path, "r").catch(() => null);
	await file?.read(header, 0, TIME_RECORD_BYTES, 0).finally(() => file.close());
	return header;
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
	let times: TimesWriter | null = null;
	let size = 0;
	let working: Promise<void> | null = null;

	async function openCurrent(): Promise<FileHandle> {
		mkdirSync(folder, { recursive: true, mode: 0o700 });
		const opened = await open(pathOf(folder, 0), "a", 0o600);
		({ size } = await opened.stat());
		times = await openTimes(folder, opened, size);
		return opened;
	}

	async function closeFiles(): Promise<void> {
		const closing = [file, times];
		file = null;
		times = null;
		for (const each of closing) await each?.close();
	}

	async function rotate(): Promise<void> {
		await closeFiles();
		shiftFiles(folder, bounds.files);
		file = await openCurrent();
	}

	async function write(bytes: Buffer): Promise<void> {
		file ??= await openCurrent();
		for (let from = 0; from < bytes.length; ) {
			if (size >= bounds.bytesPerFile) await rotate();
			await times?.note(size);
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
			await closeFiles();
		},
	};
	return writer;
}

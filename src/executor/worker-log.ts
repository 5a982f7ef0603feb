/** The stderr output of a worker: all of it in files, the end of it in memory. Bounded (A6). */

import { Buffer } from "node:buffer";
import type { Readable } from "node:stream";
import { createLogWriter } from "../host/log-files.js";
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

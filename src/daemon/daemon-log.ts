/**
 * The daemon's own log file, bounded (A6) and reopened on request after it was moved away. Lines also go to stderr, for
 * terminals and service managers, unless stderr is this file: then it also contains what Node prints when it crashes.
 *
 * Written synchronously, since the last line may explain a crash.
 */

import {
	closeSync,
	copyFileSync,
	fstatSync,
	ftruncateSync,
	openSync,
	renameSync,
	writeSync,
} from "node:fs";

export interface DaemonLog {
	write(line: string): void;
	/** Continues in the file that is now at the path. */
	reopen(): void;
}

export interface DaemonLogOptions {
	readonly bytesMax?: number;
	/** Number of older files to keep. */
	readonly olderMax?: number;
	readonly stderr?: { readonly fd: number; write(line: string): unknown };
}

const BYTES_MAX = 10 * 1024 * 1024;
const OLDER_MAX = 3;

export function openDaemonLog(
	path: string,
	{ bytesMax = BYTES_MAX, olderMax = OLDER_MAX, stderr = process.stderr }: DaemonLogOptions = {},
): DaemonLog {
	let fd = openOrNull(path);
	const echoes = fd === null || !isSameFile(fd, stderr.fd);

	/** Truncated in place, not replaced: stderr may be the same file, and cannot be redirected. */
	function rotate(full: number): void {
		for (let number = olderMax - 1; number >= 1; number--) {
			try {
				renameSync(`${path}.${number}`, `${path}.${number + 1}`);
			} catch {}
		}
		try {
			copyFileSync(path, `${path}.1`);
		} catch {
			// No space for a copy: truncating is even more important then.
		}
		ftruncateSync(full, 0);
	}

	return {
		write(line) {
			if (echoes) stderr.write(line);
			if (fd === null) return;
			try {
				if (fstatSync(fd).size >= bytesMax) rotate(fd);
				writeSync(fd, line);
			} catch {
				// A full disk must not crash the daemon.
			}
		},
		reopen() {
			const next = openOrNull(path);
			if (next === null) return;
			if (fd !== null) closeSync(fd);
			fd = next;
		},
	};
}

function openOrNull(path: string): number | null {
	try {
		return openSync(path, "a", 0o600);
	} catch {
		return null;
	}
}

function isSameFile(one: number, other: number): boolean {
	try {
		const [a, b] = [fstatSync(one), fstatSync(other)];
		return a.dev === b.dev && a.ino === b.ino;
	} catch {
		return false;
	}
}

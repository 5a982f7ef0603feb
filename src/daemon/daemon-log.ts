/**
 * The daemon's own log file, which it keeps within bounds (A6) and opens anew when it is told that somebody
 * has moved it away. Lines go to stderr as well, for terminals and service managers, unless stderr is this
 * very file: then whatever Node itself prints as it dies is in it too.
 *
 * Written at once, since the last line may be the one that tells why.
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
	/** Goes on in the file that is now at the path. */
	reopen(): void;
}

export interface DaemonLogOptions {
	readonly bytesMax?: number;
	/** Older files that are kept. */
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

	/** Emptied in place, not exchanged: stderr may be the same file, and cannot be led elsewhere. */
	function rotate(full: number): void {
		for (let number = olderMax - 1; number >= 1; number--) {
			try {
				renameSync(`${path}.${number}`, `${path}.${number + 1}`);
			} catch {}
		}
		try {
			copyFileSync(path, `${path}.1`);
		} catch {
			// No space for a copy: then it is needed all the more.
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
				// A full disk must not end whoever has something to say about it.
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

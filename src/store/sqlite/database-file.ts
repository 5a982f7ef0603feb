/**
 * The files of the database: they exist, are private to their owner, and were not replaced. Problems
 * are returned as values; existing files are never replaced.
 */

import {
	accessSync,
	type BigIntStats,
	chmodSync,
	closeSync,
	constants,
	fsyncSync,
	lstatSync,
	openSync,
	statSync,
} from "node:fs";
import { dirname } from "node:path";

export interface Refusal {
	readonly ok: false;
	/** The problem, as text. */
	readonly reason: string;
	/** How to fix it. */
	readonly hint: string;
}

const OWNER_ONLY = 0o600;
const OTHERS = 0o077n;

/** The database and the files that SQLite keeps next to it. */
function filesOf(path: string): readonly string[] {
	return [path, `${path}-wal`, `${path}-shm`];
}

/** Prepares a file that SQLite can open, and creates a missing one; null on success. */
export function prepareFile(path: string): Refusal | null {
	try {
		const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
		if (stats === undefined) {
			createEmpty(path);
			return null;
		}
		return refuseByShape(path, stats) ?? claimFile(path);
	} catch (error) {
		return refuseByError(path, error);
	}
}

/** SQLite gives its other files the mode of this one. */
function createEmpty(path: string): void {
	// Exclusive: a file that appeared in the meantime is not opened, not even through a link.
	const descriptor = openSync(path, "wx", OWNER_ONLY);
	try {
		fsyncSync(descriptor);
	} finally {
		closeSync(descriptor);
	}
}

function refuseByShape(path: string, stats: BigIntStats): Refusal | null {
	if (!stats.isFile()) {
		const kind = stats.isDirectory() ? "a directory" : "not a regular file";
		return refusal(`${path} is ${kind}`, "Move it, or use another path for the database.");
	}
	const log = statSync(`${path}-wal`, { bigint: true, throwIfNoEntry: false });
	if (stats.size === 0n && log !== undefined && log.size > 0n) {
		// SQLite would treat the empty file as a new database and delete the log.
		return refusal(
			`${path} is empty, but ${path}-wal contains changes to it`,
			`Nothing was changed. Restore the correct file, or move both files to start with an empty database.`,
		);
	}
	return null;
}

function claimFile(path: string): null {
	for (const file of filesOf(path)) {
		const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
		if (stats !== undefined && (stats.mode & OTHERS) !== 0n) chmodSync(file, OWNER_ONLY);
	}
	// Without write permission, SQLite would silently open it read-only.
	accessSync(path, constants.R_OK | constants.W_OK);
	accessSync(dirname(path), constants.W_OK | constants.X_OK);
	return null;
}

const HINTS: Readonly<Record<string, string>> = {
	ENOENT: "Create the directory first, for its owner only (mode 0700).",
	ENOTDIR: "Create the directory first, for its owner only (mode 0700).",
	EACCES: "The directory and the file must be writable and belong to the user who runs Reeve.",
	EPERM: "The directory and the file must be writable and belong to the user who runs Reeve.",
	EROFS: "The file system is mounted read-only: remount it, or use another path for the database.",
	ENOSPC: "Free some space on the disk.",
	EDQUOT: "Free some space: the quota of the disk is used up.",
};

function refuseByError(path: string, error: unknown): Refusal {
	const { code = "unknown", message } = error as NodeJS.ErrnoException;
	return refusal(
		`cannot open ${path}: ${message}`,
		HINTS[code] ?? `Check the file and its directory (${code}).`,
	);
}

export function refusal(reason: string, hint: string): Refusal {
	return { ok: false, reason, hint };
}

/**
 * Remembers the files' identities and reports changes. Writes to a removed file would be lost with the
 * process, without any error.
 */
export function watchFiles(path: string): () => string | null {
	const [main, log] = filesOf(path) as [string, string];
	const known = [main, log].map((file) => ({ file, identity: identityOf(file) }));
	return () => {
		const lost = known.find(({ file, identity }) => identityOf(file) !== identity);
		return lost === undefined
			? null
			: `${lost.file} was removed or replaced while in use; restore it or restart the daemon`;
	};
}

function identityOf(file: string): string | null {
	const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
	return stats === undefined ? null : `${stats.dev}:${stats.ino}`;
}

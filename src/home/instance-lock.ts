/**
 * At most one live owner of a directory. Node has no file locks, so it consists of files that are
 * linked into place: `lock.1`, `lock.2`… The highest number is valid, and names its owner by identity.
 * A process that finds that owner dead tries to create the next number; only one can succeed. Numbers
 * are never reused while a higher one exists, so a new lock is never mistaken for a stale one.
 */

import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isAlive, readIdentity } from "../host/process-identity.js";
import type { ProcessIdentity } from "../ports/backend.js";
import { createNumberedFile, newestNumber, numbers, readJsonFile } from "./numbered-files.js";

export type LockResult =
	| { readonly ok: true }
	/** The owner; null if another process was faster. */
	| { readonly ok: false; readonly owner: ProcessIdentity | null; readonly isDamaged?: false }
	/** The newest lock names no owner, for example because a power failure left it empty. */
	| { readonly ok: false; readonly owner: null; readonly isDamaged: true };

/**
 * Acquires the lock for this process; it ends with the process. A damaged lock is acquired only if the
 * caller has verified that it has no owner.
 */
export function acquireLock(folder: string, name: string, takesDamaged = false): LockResult {
	const newest = newestNumber(folder, name);
	if (newest > 0) {
		const path = join(folder, `${name}.${newest}`);
		const owner = readJsonFile<ProcessIdentity>(path);
		const isDamaged = owner === null && existsSync(path);
		if (isDamaged && !takesDamaged) return { ok: false, owner: null, isDamaged };
		// An unknown state counts as alive.
		if (!isDamaged && (owner === null || isAlive(owner) !== false)) return { ok: false, owner };
	}
	const own = newest + 1;
	if (!createNumberedFile(folder, name, own, readIdentity(process.pid)))
		return { ok: false, owner: null };
	if (newestNumber(folder, name) !== own) {
		rmSync(join(folder, `${name}.${own}`), { force: true });
		return { ok: false, owner: null };
	}
	for (const number of numbers(folder, name)) {
		if (number < own) rmSync(join(folder, `${name}.${number}`), { force: true });
	}
	return { ok: true };
}

/**
 * At most one live owner of a folder. Node has no file locks, so this is made of files that are linked
 * into place: `lock.1`, `lock.2`… The highest number counts, and names its owner by identity. Whoever
 * finds that owner dead tries to create the next number; only one can. Numbers are never reused while
 * a higher one exists, so nobody can mistake a fresh lock for the stale one it had seen.
 */

import { rmSync } from "node:fs";
import { join } from "node:path";
import type { ProcessIdentity } from "../ports/backend.js";
import { createNumbered, newestNumber, numbers, readJsonFile } from "./numbered-files.js";
import { isAlive, readIdentity } from "./process-identity.js";

export type LockResult =
	| { readonly ok: true }
	/** The owner, or null when the newest lock cannot be read. */
	| { readonly ok: false; readonly owner: ProcessIdentity | null };

/** Takes the lock for this process; it ends with the process. */
export function takeLock(folder: string, name: string): LockResult {
	const newest = newestNumber(folder, name);
	if (newest > 0) {
		const owner = readJsonFile<ProcessIdentity>(join(folder, `${name}.${newest}`));
		// What cannot be told apart from alive is alive.
		if (owner === null || isAlive(owner) !== false) return { ok: false, owner };
	}
	const own = newest + 1;
	if (!createNumbered(folder, name, own, readIdentity(process.pid)))
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

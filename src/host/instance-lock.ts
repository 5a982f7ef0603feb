/**
 * At most one live owner of a folder. Node has no file locks, so this is made of files that are linked
 * into place: `lock.1`, `lock.2`… The highest number counts, and names its owner by identity. Whoever
 * finds that owner dead tries to create the next number; only one can. Numbers are never reused while
 * a higher one exists, so nobody can mistake a fresh lock for the stale one it had seen.
 */

import { linkSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProcessIdentity } from "../ports/backend.js";
import { isAlive, readIdentity } from "./process-identity.js";

export type LockResult =
	| { readonly ok: true }
	/** The owner, or null when the newest lock cannot be read. */
	| { readonly ok: false; readonly owner: ProcessIdentity | null };

/** Takes the lock for this process; it ends with the process. */
export function takeLock(folder: string, name: string): LockResult {
	const newest = newestNumber(folder, name);
	if (newest > 0) {
		const owner = readOwner(join(folder, `${name}.${newest}`));
		// What cannot be told apart from alive is alive.
		if (owner === null || isAlive(owner) !== false) return { ok: false, owner };
	}
	const own = newest + 1;
	if (!createLock(folder, name, own)) return { ok: false, owner: null };
	if (newestNumber(folder, name) !== own) {
		rmSync(join(folder, `${name}.${own}`), { force: true });
		return { ok: false, owner: null };
	}
	for (const number of numbers(folder, name)) {
		if (number < own) rmSync(join(folder, `${name}.${number}`), { force: true });
	}
	return { ok: true };
}

function numbers(folder: string, name: string): number[] {
	return readdirSync(folder).flatMap((file) => {
		const rest = file.startsWith(`${name}.`) ? file.slice(name.length + 1) : "";
		return /^[1-9]\d*$/.test(rest) ? [Number(rest)] : [];
	});
}

const newestNumber = (folder: string, name: string) => Math.max(0, ...numbers(folder, name));

function readOwner(path: string): ProcessIdentity | null {
	try {
		return JSON.parse(readFileSync(path, "utf8")) as ProcessIdentity;
	} catch {
		return null;
	}
}

/** A link appears with its whole text, and not at all if the name is taken. */
function createLock(folder: string, name: string, number: number): boolean {
	const beside = join(folder, `${name}.${process.pid}.tmp`);
	writeFileSync(beside, JSON.stringify(readIdentity(process.pid)), { mode: 0o600 });
	try {
		linkSync(beside, join(folder, `${name}.${number}`));
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
		throw error;
	} finally {
		rmSync(beside, { force: true });
	}
}

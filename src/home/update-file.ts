/**
 * Changes a file that several callers or several processes may change (A9): one at a time, from what the file holds
 * at that moment, and in one step. A file that cannot be read is never overwritten. For files of the home and for
 * files of the user alike.
 */

import { createHash } from "node:crypto";
import { constants, copyFile, link, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { withFileLock } from "./file-lock.js";
import { withLockFolder } from "./lock-folder.js";
import {
	OWN_TEMPORARY,
	type ReplaceIfOptions,
	removeLeftovers,
	replaceFile,
	replaceFileIf,
	temporaryPath,
} from "./replace-file.js";

export interface UpdateOptions {
	/** The folder of the lock files, the same one for all processes that may change the file. */
	readonly locks: string;
	/** By default the mode that the file has, and 0600 for a new one. */
	readonly mode?: number;
	/** Keeps what the file held before as `NAME.previous`. */
	readonly keepsPrevious?: boolean;
	/** Programs other than Reeve change the file as well: takes their lock `NAME.lock` too. */
	readonly isShared?: boolean;
}

/** Where the version before the last change is kept. */
export const previousOf = (path: string) => `${path}.previous`;

/**
 * `change` gets the text, or null where there is no file, and gives the new text, or null to leave the file as it
 * is. When it throws, because it cannot read the text for one, nothing is written. Links are followed: a file that a
 * user keeps elsewhere stays there.
 */
export function updateFile(
	path: string,
	change: (text: string | null) => string | null,
	options: UpdateOptions,
): Promise<void> {
	return withLockOf(path, options, async (place) => {
		// Those who change a file without any lock are noticed, and their change is kept.
		for (let tries = 0; tries < TRIES_MAX; tries++) {
			const before = await readIfThere(place);
			const text = change(before);
			if (text === null || text === before) return;
			const onlyIf = async () => (await readIfThere(place)) === before;
			if (await putFile(place, text, { ...options, isThere: before !== null, onlyIf })) return;
		}
		throw new Error("another program keeps changing it");
	});
}

const TRIES_MAX = 10;

/** Writes a file that no other process changes, whatever it held. */
export function writeWhole(path: string, text: string, mode: number): Promise<void> {
	return replaceFile(path, text, { mode });
}

/** Runs `act` while no other caller changes the file; `place` is the path behind all links. */
export async function withLockOf<T>(
	path: string,
	{ locks, isShared = false }: Pick<UpdateOptions, "locks" | "isShared">,
	act: (place: string) => Promise<T>,
): Promise<T> {
	const place = await realpath(path).catch(() => path);
	const hash = createHash("sha256").update(place).digest("hex").slice(0, 12);
	const name = basename(place);
	return withFileLock(locks, `${name}-${hash}`, async () => {
		const isOwn = (each: string) => each.startsWith(`${name}.`) && OWN_TEMPORARY.test(each);
		removeLeftovers(dirname(place), isOwn);
		// CLIs name their lock after the path that they were given, not after the file behind it.
		return isShared ? withLockFolder(path, () => act(place)) : act(place);
	});
}

/** For callers that hold the lock. */
export async function putFile(
	place: string,
	text: string,
	options: Omit<UpdateOptions, "locks"> &
		Pick<ReplaceIfOptions, "onlyIf"> & { readonly isThere: boolean },
): Promise<boolean> {
	const { isThere, keepsPrevious = false, onlyIf = async () => true } = options;
	const before = isThere ? await stat(place) : null;
	const mode = options.mode ?? (before === null ? undefined : before.mode & 0o777);
	return replaceFileIf(place, text, {
		...(mode === undefined ? {} : { mode }),
		...(before === null ? {} : { owner: before }),
		async onlyIf() {
			if (!(await onlyIf())) return false;
			if (isThere && keepsPrevious) await keepPrevious(place);
			return true;
		},
	});
}

/** A second name for the file as it is: the next rename leaves it with this one alone. */
async function keepPrevious(place: string): Promise<void> {
	const beside = temporaryPath(previousOf(place));
	try {
		// Some filesystems have no second names.
		await link(place, beside).catch(() => copyFile(place, beside, constants.COPYFILE_EXCL));
		await rename(beside, previousOf(place));
	} finally {
		// Two names of one file: then a rename does nothing and leaves both.
		await rm(beside, { force: true });
	}
}

export async function readIfThere(path: string): Promise<string | null> {
	try {
		return await readFile(path, "utf8");
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
		throw error;
	}
}

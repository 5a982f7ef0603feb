/**
 * Changes a file that several callers or processes may change (A9): one at a time, based on its current content, and
 * atomically. A file that cannot be read is never overwritten. Used for files of the home and of the user.
 */

import { createHash } from "node:crypto";
import {
	constants,
	copyFile,
	link,
	mkdir,
	readFile,
	realpath,
	rename,
	rm,
	rmdir,
	stat,
} from "node:fs/promises";
import { basename, dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { withFileLock } from "./file-lock.js";
import {
	OWN_TEMPORARY,
	type ReplaceIfOptions,
	removeLeftovers,
	replaceFile,
	replaceFileIf,
	temporaryPath,
} from "./replace-file.js";

export interface UpdateOptions {
	/** The directory of the lock files, the same for all processes that may change the file. */
	readonly locks: string;
	/** By default the current mode of the file, or 0600 for a new one. */
	readonly mode?: number;
	/** Keeps the previous content as `NAME.previous`. */
	readonly keepsPrevious?: boolean;
	/** Programs other than Reeve also change the file: acquires their lock `NAME.lock` too. */
	readonly isShared?: boolean;
}

/** Where the previous version is kept. */
export const previousOf = (path: string) => `${path}.previous`;

/**
 * `change` gets the text, or null if there is no file, and returns the new text, or null to leave the
 * file unchanged. If it throws, for example because it cannot parse the text, nothing is written. Links
 * are followed: a file that a user keeps elsewhere stays there.
 */
export function updateFile(
	path: string,
	change: (text: string | null) => string | null,
	options: UpdateOptions,
): Promise<void> {
	return withLockOf(path, options, async (place) => {
		// Programs that change the file without a lock are detected, and their change is kept.
		for (let tries = 0; tries < TRIES_MAX; tries++) {
			const before = await readIfExists(place);
			const text = change(before);
			if (text === null || text === before) return;
			const onlyIf = async () => (await readIfExists(place)) === before;
			if (await putFile(place, text, { ...options, isThere: before !== null, onlyIf })) return;
		}
		throw new Error("another program keeps changing it");
	});
}

const TRIES_MAX = 10;

/** Replaces a file that no other process changes. */
export function writeWhole(path: string, text: string, mode: number): Promise<void> {
	return replaceFile(path, text, { mode });
}

/** Runs `act` while no other caller changes the file; `place` is the path after following all links. */
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
		// CLIs name their lock after the path that they use, not after the link target.
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

/** A hard link to the current file: after the next rename it is the only name. */
async function keepPrevious(place: string): Promise<void> {
	const beside = temporaryPath(previousOf(place));
	try {
		// Some filesystems have no hard links.
		await link(place, beside).catch(() => copyFile(place, beside, constants.COPYFILE_EXCL));
		await rename(beside, previousOf(place));
	} finally {
		// If both are names of one file, a rename does nothing and leaves both.
		await rm(beside, { force: true });
	}
}

export async function readIfExists(path: string): Promise<string | null> {
	try {
		return await readFile(path, "utf8");
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
		throw error;
	}
}

/*
 * The lock that agent CLIs written for Node use for their settings (`proper-lockfile`): a directory
 * `FILE.lock`, created to acquire and removed to release it. One older than ten seconds is left over
 * from a killed process; a live holder renews it.
 */

const STALE_MS = 10_000;
const WAIT_MS_MAX = 20_000;
const POLL_MS = 25;

/** Throws if another process holds the lock for too long. */
export async function withLockFolder<T>(
	file: string,
	act: () => Promise<T>,
	waitMsMax = WAIT_MS_MAX,
): Promise<T> {
	const lock = `${file}.lock`;
	const untilMs = performance.now() + waitMsMax;
	let state = await take(lock);
	while (state === "held") {
		if (performance.now() > untilMs) {
			throw new Error(`another program has held the lock ${lock} for too long`);
		}
		// Randomized, to avoid retrying in step with other processes.
		await sleep(POLL_MS * (0.5 + Math.random()));
		state = await take(lock);
	}
	try {
		return await act();
	} finally {
		if (state === "taken") await rmdir(lock).catch(() => {});
	}
}

async function take(lock: string): Promise<"taken" | "held" | "other"> {
	try {
		await mkdir(lock, { mode: 0o700 });
		return "taken";
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
	}
	const held = await stat(lock).catch(() => null);
	if (held === null) return "held";
	// A file with this name follows another convention and is ignored.
	if (!held.isDirectory()) return "other";
	if (held.mtimeMs < Date.now() - STALE_MS) await rmdir(lock).catch(() => {});
	return "held";
}

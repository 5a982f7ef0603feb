/**
 * The lock that agent CLIs written for Node use for their settings (`proper-lockfile`): a directory
 * `FILE.lock`, created to acquire and removed to release it. One older than ten seconds is left over
 * from a killed process; a live holder renews it.
 */

import { mkdir, rmdir, stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const STALE_MS = 10_000;
const WAIT_MS_MAX = 20_000;
const LOOK_MS = 25;

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
		await sleep(LOOK_MS * (0.5 + Math.random()));
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

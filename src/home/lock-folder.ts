/**
 * The lock that agent CLIs written for Node take before they change their settings (`proper-lockfile`): a folder
 * `FILE.lock`, created to take it and removed to release it. One whose time is older than ten seconds is left over
 * from a killed process; a live holder renews it.
 */

import { mkdir, rmdir, stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const STALE_MS = 10_000;
const WAIT_MS_MAX = 20_000;
const LOOK_MS = 25;

/** Throws when another process keeps the lock for too long. */
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
		// Not in step with others that wait.
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
	// A file of this name follows another convention, and says nothing here.
	if (!held.isDirectory()) return "other";
	if (held.mtimeMs < Date.now() - STALE_MS) await rmdir(lock).catch(() => {});
	return "held";
}

/**
 * A lock for work that takes milliseconds, held by one process at a time. Like the lock of the daemon,
 * it consists of numbered files: the highest number is valid and names its holder by identity, so a
 * killed holder never blocks others. A released lock stays as an empty file, because numbers must only
 * grow: a process that was late finds its number taken.
 */

import { mkdirSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isAlive, readIdentity } from "../host/process-identity.js";
import type { ProcessIdentity } from "../ports/backend.js";
import { createNumberedFile, newestNumber, numbers } from "./numbered-files.js";

const WAIT_MS_MAX = 30_000;
const POLL_MS = 5;

/** Callers in this process are queued here, in order, without checking files. */
const queues = new Map<string, Promise<unknown>>();
let own: ProcessIdentity | null = null;

/** Throws if another process holds the lock for too long. */
export function withFileLock<T>(
	folder: string,
	name: string,
	act: () => Promise<T>,
	waitMsMax = WAIT_MS_MAX,
): Promise<T> {
	const key = join(folder, name);
	const result = (queues.get(key) ?? Promise.resolve()).then(() =>
		withLockFile(folder, name, act, waitMsMax),
	);
	const settled = result
		.catch(() => {})
		.finally(() => {
			if (queues.get(key) === settled) queues.delete(key);
		});
	queues.set(key, settled);
	return result;
}

async function withLockFile<T>(
	folder: string,
	name: string,
	act: () => Promise<T>,
	waitMsMax: number,
): Promise<T> {
	mkdirSync(folder, { recursive: true, mode: 0o700 });
	const untilMs = performance.now() + waitMsMax;
	let taken = take(folder, name);
	while (typeof taken !== "number") {
		if (performance.now() > untilMs) {
			const who = taken.holder === null ? "another process" : `pid ${taken.holder.pid}`;
			throw new Error(`${who} has held the lock ${join(folder, name)} for too long`);
		}
		await sleep(POLL_MS);
		taken = take(folder, name);
	}
	try {
		return await act();
	} finally {
		release(folder, name, taken);
	}
}

/** The number of the lock, or its holder if known. */
function take(folder: string, name: string): number | { readonly holder: ProcessIdentity | null } {
	const newest = newestNumber(folder, name);
	if (newest > 0) {
		const holder = readHolder(join(folder, `${name}.${newest}`));
		if (holder === "replaced") return { holder: null };
		// An unknown state counts as alive.
		if (holder !== "released" && isAlive(holder) !== false) return { holder };
	}
	own ??= readIdentity(process.pid);
	const number = newest + 1;
	if (!createNumberedFile(folder, name, number, own)) return { holder: null };
	// A newer number means that this one was never the newest.
	if (newestNumber(folder, name) !== number) return { holder: null };
	for (const each of numbers(folder, name)) {
		if (each < number) rmSync(join(folder, `${name}.${each}`), { force: true });
	}
	return number;
}

function readHolder(path: string): ProcessIdentity | "released" | "replaced" {
	let text: string;
	try {
		text = readFileSync(path, "utf8");
	} catch {
		return "replaced";
	}
	try {
		const holder = JSON.parse(text) as ProcessIdentity | null;
		return typeof holder?.pid === "number" ? holder : "released";
	} catch {
		// Emptied by its holder. Files are linked into place complete, so any other content was damaged
		// when the host went down, together with its holder.
		return "released";
	}
}

/** Needs no disk space, so a full disk cannot keep a lock held. */
function release(folder: string, name: string, number: number): void {
	try {
		truncateSync(join(folder, `${name}.${number}`), 0);
	} catch {
		// The directory was removed, and the lock with it.
	}
}

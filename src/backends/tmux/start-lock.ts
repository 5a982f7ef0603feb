/**
 * One client at a time while a server may be starting: tmux 3.3 crashes when two come before it stands.
 * Held for some milliseconds; one that was left behind by a dead process is ignored.
 */

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { isAlive, readIdentity } from "../../host/process-identity.js";
import type { ProcessIdentity } from "../../ports/backend.js";

const HELD_MS_MAX = 30_000;

export async function withStartLock<T>(path: string, act: () => Promise<T>): Promise<T> {
	const deadlineMs = performance.now() + HELD_MS_MAX;
	const own = JSON.stringify(readIdentity(process.pid));
	while (!take(path, own)) {
		const owner = readOwner(path);
		const isLeft = owner !== null && isAlive(owner) === false;
		if (isLeft || performance.now() > deadlineMs) rmSync(path, { force: true });
		else await sleep(10);
	}
	try {
		return await act();
	} finally {
		rmSync(path, { force: true });
	}
}

function take(path: string, own: string): boolean {
	try {
		writeFileSync(path, own, { flag: "wx", mode: 0o600 });
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
		throw error;
	}
}

function readOwner(path: string): ProcessIdentity | null {
	try {
		return JSON.parse(readFileSync(path, "utf8")) as ProcessIdentity;
	} catch {
		return null;
	}
}

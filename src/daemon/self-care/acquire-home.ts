/**
 * One daemon per home. A second daemon waits for the first to respond, because its starter needs any
 * daemon, not this one; if the first dies during startup, the second replaces it, once. So of many that
 * start at the same time one serves, and a daemon killed during startup affects no command; but a home
 * in which daemons keep dying is reported soon.
 */

import { existsSync } from "node:fs";
import { chmod, lstat, mkdir } from "node:fs/promises";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { acquireLock } from "../../home/instance-lock.js";
import { makeFolder } from "../../home/make-folder.js";
import type { Home } from "../../home/paths.js";
import { SOCKET_PATH_BYTES_MAX } from "../../host/socket-path.js";
import type { ProcessIdentity } from "../../ports/backend.js";
import { StartRefused } from "../ends.js";
import { spreadFolders } from "./spread-folders.js";

export type AcquiredHome =
	| { readonly outcome: "ours" }
	/** Another daemon owns it, and responds. */
	| { readonly outcome: "served"; readonly pid: number | null }
	/** Others owned it, and none of them responded. */
	| { readonly outcome: "failed"; readonly reason: string };

/** Shorter than its starter waits (30 s), which can then report why the start failed. */
const WAIT_MS_MAX = 25_000;
const POLL_MS = 25;
const DEATHS_MAX = 2;
/** A daemon with a damaged lock file responds within this time, or there is none. */
const DAMAGED_MS = 5_000;

export async function acquireHome(
	{ dir, socket }: { readonly dir: string; readonly socket: string },
	waitMsMax = WAIT_MS_MAX,
): Promise<AcquiredHome> {
	const untilMs = performance.now() + waitMsMax;
	let rival: ProcessIdentity | null = null;
	let deaths = 0;
	let damagedSinceMs: number | null = null;
	for (;;) {
		const nowMs = performance.now();
		const takesDamaged = damagedSinceMs !== null && nowMs - damagedSinceMs > DAMAGED_MS;
		const lock = acquireLock(dir, "lock", takesDamaged);
		if (lock.ok) return { outcome: "ours" };
		damagedSinceMs = lock.isDamaged ? (damagedSinceMs ?? nowMs) : null;
		if (await accepts(socket)) return { outcome: "served", pid: lock.owner?.pid ?? null };
		if (rival !== null && lock.owner !== null && lock.owner.pid !== rival.pid) deaths++;
		rival = lock.owner ?? rival;
		if (deaths >= DEATHS_MAX) {
			const reason = `${deaths} other daemons took this home and exited during startup`;
			return { outcome: "failed", reason };
		}
		if (performance.now() > untilMs) {
			const who = rival === null ? "another daemon" : `another daemon (pid ${rival.pid})`;
			return { outcome: "failed", reason: `${who} owns this home and does not respond` };
		}
		await sleep(POLL_MS);
	}
}

function accepts(socket: string): Promise<boolean> {
	return new Promise((resolve) => {
		const attempt = connect(socket);
		const end = (accepted: boolean) => {
			attempt.destroy();
			resolve(accepted);
		};
		attempt.once("connect", () => end(true));
		attempt.once("error", () => end(false));
	});
}

/** Prepares the home. Throws with a hint if it cannot be used. */
export async function prepareHome(home: Home): Promise<void> {
	const bytes = Buffer.byteLength(home.socket);
	if (bytes > SOCKET_PATH_BYTES_MAX) {
		throw new StartRefused(
			`the socket path ${home.socket} has ${bytes} bytes, the limit is ${SOCKET_PATH_BYTES_MAX}: set REEVE_HOME to a shorter path`,
		);
	}
	await makeFolder(home.dir);
	const stats = await lstat(home.dir);
	if (!stats.isDirectory()) {
		throw new StartRefused(`${home.dir} is not a directory: set REEVE_HOME to a directory`);
	}
	const uid = process.getuid?.();
	if (uid !== undefined && stats.uid !== uid) {
		throw new StartRefused(
			`${home.dir} belongs to another user: set REEVE_HOME to a directory that you own`,
		);
	}
	if ((stats.mode & 0o077) !== 0) await chmod(home.dir, 0o700);
}

/** Call it only in the daemon that owns the home: daemons that lose the race for it do not need these folders. */
export async function makeHomeFolders(home: Pick<Home, "dir" | "logs" | "runtime">): Promise<void> {
	if (!existsSync(home.runtime)) await spreadFolders(home.dir);
	for (const folder of [home.logs, home.runtime])
		await mkdir(folder, { recursive: true, mode: 0o700 });
}

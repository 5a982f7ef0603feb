/** Where Reeve keeps things: the home, what is in it, its socket, and the room there is. */

import { lstat, statfs } from "node:fs/promises";
import { connect } from "node:net";
import { dirname } from "node:path";
import { SOCKET_BYTES_MAX } from "../connect.js";
import { type CheckContext, type Finding, fail, ok, quote, statIfThere, warn } from "./check.js";

const FREE_BYTES_MIN = 100 * 2 ** 20;
const FREE_BYTES_LOW = 2 ** 30;

export async function checkHome({ home: { dir } }: CheckContext): Promise<Finding> {
	const found = await statIfThere(dir);
	if (found === null) return ok(`${dir} will be made by the first \`reeve up\``);
	if (!found.isDirectory()) {
		return fail(`${dir} is not a directory`, "move it away, or set REEVE_HOME to another place");
	}
	const uid = process.getuid?.();
	if (uid !== undefined && found.uid !== uid) {
		const fix = "run as its owner, or set REEVE_HOME to a folder of your own";
		return fail(`${dir} belongs to another user (uid ${found.uid})`, fix);
	}
	const mode = renderMode(found.mode);
	if ((found.mode & 0o077) !== 0) {
		return fail(`${dir} is open to others (mode ${mode})`, `chmod 700 ${quote(dir)}`);
	}
	return ok(`${dir} (mode ${mode})`);
}

const renderMode = (mode: number) => (mode & 0o777).toString(8).padStart(3, "0");

/** What holds secrets, or what agents printed. */
export async function checkFiles({ home }: CheckContext): Promise<Finding> {
	const files = [home.database, home.vault, home.tokens, home.token, home.settings, home.daemonLog];
	const all = [...files, `${home.database}-wal`, home.logs, home.runtime, home.crashes];
	const found = await Promise.all(all.map(judgeFile));
	const wrong = found.filter((each) => each !== null);
	if (wrong.length > 0) {
		const fixes = [...new Set(wrong.map(({ fix }) => fix))];
		return fail(wrong.map(({ detail }) => detail).join("; "), fixes.join("; "));
	}
	return ok("database, tokens, environments and logs are for their owner alone");
}

async function judgeFile(path: string): Promise<{ detail: string; fix: string } | null> {
	const found = await lstat(path).catch(() => null);
	if (found === null) return null;
	if (found.isSymbolicLink()) {
		return { detail: `${path} is a link`, fix: `put the file itself at ${quote(path)}` };
	}
	const uid = process.getuid?.();
	if (uid !== undefined && found.uid !== uid) {
		return {
			...{ detail: `${path} belongs to another user (uid ${found.uid})` },
			fix: `sudo chown ${uid} ${quote(path)}`,
		};
	}
	if ((found.mode & 0o077) === 0) return null;
	const right = found.isDirectory() ? 700 : 600;
	const detail = `${path} is open to others (mode ${renderMode(found.mode)})`;
	return { detail, fix: `chmod ${right} ${quote(path)}` };
}

export async function checkSocket({ home: { socket } }: CheckContext): Promise<Finding> {
	const length = Buffer.byteLength(socket);
	const detail = `the path has ${length} of at most ${SOCKET_BYTES_MAX} bytes`;
	if (length > SOCKET_BYTES_MAX) return fail(detail, "set REEVE_HOME to a shorter path");
	const found = await lstat(socket).catch(() => null);
	if (found === null) return ok(detail);
	if (!found.isSocket()) return fail(`${socket} is not a socket`, `mv ${quote(socket)} elsewhere`);
	if ((found.mode & 0o077) !== 0) {
		const mode = renderMode(found.mode);
		return fail(`${socket} is open to others (mode ${mode})`, `chmod 600 ${quote(socket)}`);
	}
	if (await isListening(socket)) return ok(`${detail}, and the daemon listens at it`);
	// No obstacle, but a sign that the daemon did not end in order.
	return warn(`a daemon that is gone left ${socket}`, "nothing: the next daemon takes its place");
}

/** True as well where it cannot be known. */
function isListening(path: string): Promise<boolean> {
	return new Promise((resolve) => {
		const attempt = connect(path);
		attempt.once("connect", () => {
			attempt.destroy();
			resolve(true);
		});
		attempt.once("error", ({ code }: NodeJS.ErrnoException) =>
			resolve(code !== "ECONNREFUSED" && code !== "ENOENT"),
		);
	});
}

export async function checkDisk({ home: { dir } }: CheckContext): Promise<Finding> {
	const { bavail, bsize, ffree, files } = await statfs(await nearestExisting(dir));
	return judgeRoom({ freeBytes: bavail * bsize, freeFiles: files === 0 ? null : ffree });
}

/** `freeFiles` is null on filesystems that do not count them. */
export function judgeRoom(room: {
	readonly freeBytes: number;
	readonly freeFiles: number | null;
}): Finding {
	const { freeBytes, freeFiles } = room;
	const detail = `${Math.round(freeBytes / 2 ** 20)} MiB free for the home`;
	const fix = "make room: the daemon stops recording when the disk is full";
	if (freeFiles !== null && freeFiles < 100) return fail("no inodes are left for the home", fix);
	if (freeBytes < FREE_BYTES_MIN) return fail(detail, fix);
	return freeBytes < FREE_BYTES_LOW ? warn(detail, fix) : ok(detail);
}

async function nearestExisting(path: string): Promise<string> {
	let at = path;
	while (at !== dirname(at) && (await statIfThere(at)) === null) at = dirname(at);
	return at;
}

/** Checks of the home, its files, its socket, and the free disk space. */

import { lstat, readdir, readFile, statfs } from "node:fs/promises";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { DAMAGED } from "../../home/json-file.js";
import type { Home } from "../../home/paths.js";
import { SOCKET_BYTES_MAX } from "../connect.js";
import { type CheckContext, type Finding, fail, ok, quote, statIfExists, warn } from "./check.js";

const FREE_BYTES_MIN = 100 * 2 ** 20;
const FREE_BYTES_LOW = 2 ** 30;

export async function checkHome({ home: { dir } }: CheckContext): Promise<Finding> {
	const found = await statIfExists(dir);
	if (found === null) return ok(`${dir} will be created by the first \`reeve up\``);
	if (!found.isDirectory()) {
		return fail(`${dir} is not a directory`, "move it, or set REEVE_HOME to another directory");
	}
	const uid = process.getuid?.();
	if (uid !== undefined && found.uid !== uid) {
		const fix = "run as its owner, or set REEVE_HOME to a directory that you own";
		return fail(`${dir} belongs to another user (uid ${found.uid})`, fix);
	}
	const mode = renderMode(found.mode);
	if ((found.mode & 0o077) !== 0) {
		return fail(`${dir} is accessible to other users (mode ${mode})`, `chmod 700 ${quote(dir)}`);
	}
	return ok(`${dir} (mode ${mode})`);
}

const renderMode = (mode: number) => (mode & 0o777).toString(8).padStart(3, "0");

/** Files that contain secrets or output of agents. */
export async function checkFiles({ home }: CheckContext): Promise<Finding> {
	const files = [home.database, home.vault, home.tokens, home.token, home.settings, home.daemonLog];
	const all = [...files, `${home.database}-wal`, home.logs, home.runtime, home.crashes];
	const open = (await Promise.all(all.map(checkFile))).filter((each) => each !== null);
	const wrong = open.length > 0 ? open : await findDamaged(home);
	if (wrong.length > 0) {
		const fixes = [...new Set(wrong.map(({ fix }) => fix))];
		return fail(wrong.map(({ detail }) => detail).join("; "), fixes.join("; "));
	}
	const aside = await findAside(home);
	if (aside.length > 0) {
		return warn(
			`a daemon found damaged files and moved them to ${aside.join(", ")}`,
			"inspect and then remove them; `reeve events` and the daemon's log show what was lost",
		);
	}
	return ok("database, tokens, environments and logs are private to their owner");
}

/** Files that the next daemon could not read. */
async function findDamaged({ vault, tokens, settings }: Home): Promise<readonly Wrong[]> {
	const next = "start the daemon: it moves the file aside and continues without it";
	const fixes = { [vault]: next, [tokens]: next, [settings]: `correct ${quote(settings)}` };
	const found = await Promise.all(
		Object.entries(fixes).map(async ([path, fix]): Promise<Wrong[]> => {
			const text = await readFile(path, "utf8").catch(() => null);
			return text === null || isJson(text) ? [] : [{ detail: `${path} is not valid JSON`, fix }];
		}),
	);
	return found.flat();
}

function isJson(text: string): boolean {
	try {
		JSON.parse(text);
		return true;
	} catch {
		return false;
	}
}

/** Damaged files that a daemon kept under another name. */
async function findAside({ dir }: Home): Promise<readonly string[]> {
	const names = await readdir(dir).catch(() => []);
	return names.filter((name) => DAMAGED.test(name)).map((name) => join(dir, name));
}

interface Wrong {
	readonly detail: string;
	readonly fix: string;
}

async function checkFile(path: string): Promise<Wrong | null> {
	const found = await lstat(path).catch(() => null);
	if (found === null) return null;
	if (found.isSymbolicLink()) {
		return {
			detail: `${path} is a symbolic link`,
			fix: `replace the link with the file: ${quote(path)}`,
		};
	}
	const uid = process.getuid?.();
	if (uid !== undefined && found.uid !== uid) {
		return {
			detail: `${path} belongs to another user (uid ${found.uid})`,
			fix: `sudo chown ${uid} ${quote(path)}`,
		};
	}
	if ((found.mode & 0o077) === 0) return null;
	const right = found.isDirectory() ? 700 : 600;
	const detail = `${path} is accessible to other users (mode ${renderMode(found.mode)})`;
	return { detail, fix: `chmod ${right} ${quote(path)}` };
}

export async function checkSocket({ home: { socket } }: CheckContext): Promise<Finding> {
	const length = Buffer.byteLength(socket);
	const detail = `the path is ${length} of at most ${SOCKET_BYTES_MAX} bytes long`;
	if (length > SOCKET_BYTES_MAX) return fail(detail, "set REEVE_HOME to a shorter path");
	const found = await lstat(socket).catch(() => null);
	if (found === null) return ok(detail);
	if (!found.isSocket()) return fail(`${socket} is not a socket`, `mv ${quote(socket)} elsewhere`);
	if ((found.mode & 0o077) !== 0) {
		const mode = renderMode(found.mode);
		return fail(
			`${socket} is accessible to other users (mode ${mode})`,
			`chmod 600 ${quote(socket)}`,
		);
	}
	if (await isListening(socket)) return ok(`${detail}, and the daemon listens on it`);
	// Not an obstacle, but a sign that the daemon did not shut down cleanly.
	return warn(
		`${socket} is left over from a daemon that no longer runs`,
		"nothing to do: the next daemon replaces it",
	);
}

/** Also true if it cannot be determined. */
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
	return checkRoom({ freeBytes: bavail * bsize, freeFiles: files === 0 ? null : ffree });
}

/** `freeFiles` is null on filesystems that do not report them. */
export function checkRoom(room: {
	readonly freeBytes: number;
	readonly freeFiles: number | null;
}): Finding {
	const { freeBytes, freeFiles } = room;
	const detail = `${Math.round(freeBytes / 2 ** 20)} MiB free on the disk of the home`;
	const fix = "free disk space: the daemon cannot store anything when the disk is full";
	if (freeFiles !== null && freeFiles < 100)
		return fail("no free inodes on the disk of the home", fix);
	if (freeBytes < FREE_BYTES_MIN) return fail(detail, fix);
	return freeBytes < FREE_BYTES_LOW ? warn(detail, fix) : ok(detail);
}

async function nearestExisting(path: string): Promise<string> {
	let at = path;
	while (at !== dirname(at) && (await statIfExists(at)) === null) at = dirname(at);
	return at;
}

/**
 * Paths of unix sockets. The system silently truncates longer paths, and two homes could share one
 * socket; so a long path is replaced by a short one in a private directory of this user.
 */

import { createHash } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";

/** macOS has the lowest limit: 104 bytes with the terminator. */
export const SOCKET_PATH_BYTES_MAX = 103;

export function socketPathIn(folder: string, name: string): string {
	const direct = join(folder, name);
	if (Buffer.byteLength(direct) <= SOCKET_PATH_BYTES_MAX) return direct;
	const hash = createHash("sha256").update(direct).digest("hex").slice(0, 24);
	return join("/tmp", `reeve-${process.getuid?.() ?? 0}`, `${hash}.sock`);
}

/** Creates the directory, and rejects one that belongs to another user or is accessible to others. */
export function makePrivateFolder(folder: string): void {
	if (!existsSync(folder)) mkdirSync(folder, { recursive: true, mode: 0o700 });
	const found = lstatSync(folder);
	if (!found.isDirectory()) throw new Error(`${folder} is not a directory`);
	if (found.uid !== process.getuid?.()) throw new Error(`${folder} belongs to another user`);
	if ((found.mode & 0o077) !== 0) {
		throw new Error(`${folder} is accessible to other users: chmod 700 ${folder}`);
	}
}

/** Removes a socket whose server was killed. Call it only where no process can start another server meanwhile. */
export async function removeDeadSocket(path: string): Promise<void> {
	if (!existsSync(path)) return;
	const isDead = await new Promise<boolean>((resolve) => {
		const socket = connect(path);
		socket.once("connect", () => {
			socket.destroy();
			resolve(false);
		});
		socket.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code === "ECONNREFUSED"));
	});
	if (isDead) rmSync(path, { force: true });
}

/**
 * Where a unix socket can be. The system cuts longer paths off without a word, and two homes would meet
 * at one socket; so a long one is replaced by a short one in a folder that belongs to this user alone.
 */

import { createHash } from "node:crypto";
import { existsSync, lstatSync, mkdirSync } from "node:fs";
import { join } from "node:path";

/** macOS has the least room: 104 bytes with the end. */
export const SOCKET_PATH_BYTES_MAX = 103;

export function socketPathIn(folder: string, name: string): string {
	const direct = join(folder, name);
	if (Buffer.byteLength(direct) <= SOCKET_PATH_BYTES_MAX) return direct;
	const hash = createHash("sha256").update(direct).digest("hex").slice(0, 24);
	return join("/tmp", `reeve-${process.getuid?.() ?? 0}`, `${hash}.sock`);
}

/** Makes the folder, and refuses one that is not this user's own or open to others. */
export function makePrivateFolder(folder: string): void {
	if (!existsSync(folder)) mkdirSync(folder, { recursive: true, mode: 0o700 });
	const found = lstatSync(folder);
	if (!found.isDirectory()) throw new Error(`${folder} is not a directory`);
	if (found.uid !== process.getuid?.()) throw new Error(`${folder} belongs to another user`);
	if ((found.mode & 0o077) !== 0) {
		throw new Error(`${folder} is accessible to other users: chmod 700 ${folder}`);
	}
}

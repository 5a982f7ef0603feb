/** The daemon's home: made if it is not there, and refused if others could reach into it. */

import { chmod, lstat, mkdir } from "node:fs/promises";
import { makeFolder } from "../home/make-folder.js";
import type { Home } from "../home/paths.js";
import { SOCKET_PATH_BYTES_MAX } from "../host/socket-path.js";
import { StartRefused } from "./start-failure.js";

/** Prepares the home. Throws with what to fix when it cannot be used. */
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
	for (const folder of [home.logs, home.runtime])
		await mkdir(folder, { recursive: true, mode: 0o700 });
}

/** Servers of this host, from the moment they listen to the moment they fail. */

import type { Server } from "node:http";

/** Resolves when the server listens; rejects when it cannot. */
export function listening(
	server: Server,
	where: { readonly path: string } | { readonly host: string; readonly port: number },
): Promise<void> {
	return new Promise((resolve, reject) => {
		server.once("error", reject);
		server.listen(where, () => {
			server.off("error", reject);
			resolve();
		});
	});
}

/**
 * The same on a socket for its owner alone. It is made so, not made and then closed to others: there is
 * never a moment in which somebody else could connect. The mask is the whole process's, and agents inherit
 * it, so it is put back before anything else can run.
 */
export function listeningPrivately(server: Server, path: string): Promise<void> {
	const mask = process.umask(0o177);
	try {
		return listening(server, { path });
	} finally {
		process.umask(mask);
	}
}

/** Rejects when the server fails. */
export function failed(server: Server): Promise<never> {
	return new Promise<never>((_, reject) => {
		server.once("error", reject);
	});
}

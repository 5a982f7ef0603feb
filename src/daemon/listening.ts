/** Servers of this host, from the moment they listen to the moment they are closed. */

import type { Server } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { drainMsOf } from "../services/supervise.js";
import { aborted } from "./aborted.js";

/** A server that takes longer to listen hangs. */
const LISTEN_MS_MAX = 10_000;
/** What is left of the time to stop when connections are cut. */
const CUT_MS = 100;

/** Resolves when the server listens, or the signal aborts; rejects when it cannot, or hangs. */
export async function listening(
	server: Server,
	where: { readonly path: string } | { readonly host: string; readonly port: number },
	signal: AbortSignal,
): Promise<void> {
	const over = new AbortController();
	const listens = new Promise<void>((resolve, reject) => {
		server.once("error", reject);
		server.listen(where, () => {
			server.off("error", reject);
			resolve();
		});
	});
	const hangs = sleep(LISTEN_MS_MAX, null, { signal: over.signal }).then(
		() => {
			throw new Error(`the server did not listen within ${LISTEN_MS_MAX / 1_000} s`);
		},
		() => {},
	);
	try {
		await Promise.race([listens, hangs, aborted(signal)]);
	} finally {
		over.abort();
	}
}

/**
 * The same on a socket for its owner alone. It is made so, not made and then closed to others: there is
 * never a moment in which somebody else could connect. The mask is the whole process's, and agents inherit
 * it, so it is put back before anything else can run.
 */
export function listeningPrivately(
	server: Server,
	path: string,
	signal: AbortSignal,
): Promise<void> {
	const mask = process.umask(0o177);
	try {
		return listening(server, { path }, signal);
	} finally {
		process.umask(mask);
	}
}

/** Resolves when the signal aborts; rejects when the server fails. */
export async function serving(server: Server, signal: AbortSignal): Promise<void> {
	const failed = new Promise<never>((_, reject) => {
		server.once("error", reject);
	});
	await Promise.race([aborted(signal), failed]);
}

/** Closes it in order: requests under way have until the end of the time to stop, then they are cut off. */
export async function closing(
	server: Server,
	close: () => Promise<void>,
	signal: AbortSignal,
): Promise<void> {
	// Nobody listens for errors any more, and one more would end the daemon.
	server.on("error", () => {});
	const cut = setTimeout(() => server.closeAllConnections(), drainMsOf(signal) - CUT_MS);
	await close();
	clearTimeout(cut);
}

/** Listening servers, from start to close. */

import type { Server } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { drainMsOf } from "../services/supervise.js";
import { aborted } from "./aborted.js";

/** A server that takes longer to listen hangs. */
const LISTEN_MS_MAX = 10_000;
/** The time before the deadline at which connections are cut. */
const CUT_MS = 100;

/** Resolves when the server listens, or the signal aborts; rejects if it cannot, or hangs. */
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
 * The same on a socket that is private to its owner. It is created private, so there is no moment in
 * which another user could connect. The umask belongs to the whole process and agents inherit it, so it
 * is restored before any other code can run.
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

/** Closes it gracefully: open requests have until the deadline, then they are cut off. */
export async function closing(
	server: Server,
	close: () => Promise<void>,
	signal: AbortSignal,
): Promise<void> {
	// Another error without a listener would crash the daemon.
	server.on("error", () => {});
	const cut = setTimeout(() => server.closeAllConnections(), drainMsOf(signal) - CUT_MS);
	await close();
	clearTimeout(cut);
}

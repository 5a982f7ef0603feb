/** The daemon's socket. */

import { rm } from "node:fs/promises";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Home } from "../home/paths.js";
import type { Api } from "../http/server.js";
import type { Service } from "../services/supervise.js";
import { closing, listeningPrivately, serving } from "./listening.js";
import { type HomeClaim, identityOf } from "./self-care/home-claim.js";

const POLL_MS = 1_000;

/** Rejects when the socket at this path is no longer this one: no command would reach the daemon. */
async function removal(path: string, own: string | null, signal: AbortSignal): Promise<void> {
	while (identityOf(path) === own) {
		// Avoids accumulating listeners on the signal, which lives as long as the daemon.
		await sleep(POLL_MS, null, { ref: false, signal }).catch(() => {});
		if (signal.aborted) return;
	}
	throw new Error(`${path} was removed or replaced`);
}

/** Agents are supervised even while the API is down. */
export function socketService(api: Api, home: Home, claim: HomeClaim): Service {
	return {
		name: "http",
		policy: "restartable",
		async run(signal, ready) {
			// The owner of the lock owns the socket: an existing one is left over from a dead daemon.
			if (claim.look() !== "held") throw new Error(`${home.dir} was removed or replaced`);
			const server = createServer();
			const close = api.serve(server, { type: "socket" });
			let own: string | null = null;
			try {
				await rm(home.socket, { force: true });
				await listeningPrivately(server, home.socket, signal);
				own = identityOf(home.socket);
				ready();
				await Promise.race([serving(server, signal), removal(home.socket, own, signal)]);
			} finally {
				// Closing it would remove the socket of another daemon that has replaced it.
				const isReplaced = own !== null && ![own, null].includes(identityOf(home.socket));
				if (isReplaced) server.closeAllConnections();
				else await closing(server, close, signal);
			}
		},
	};
}

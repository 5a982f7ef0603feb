/** The daemon's socket, which is always there. */

import { rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { Home } from "../client/home.js";
import type { Api } from "../http/server.js";
import type { Service } from "../services/supervise.js";
import { aborted } from "./aborted.js";
import { RECOVERY_MS_MAX } from "./core-services.js";
import { closing, listeningPrivately, serving } from "./listening.js";

/** Agents are kept also while nobody can ask about them. */
export function socketService(api: Api, home: Home, recovered: Promise<void>): Service {
	return {
		name: "http",
		policy: "restartable",
		settings: { startTimeoutMs: RECOVERY_MS_MAX },
		async run(signal, ready) {
			// Nobody is told about agents before it is known which of them are alive.
			await Promise.race([recovered, aborted(signal)]);
			const server = createServer();
			const close = api.serve(server, { type: "socket" });
			try {
				// Whoever holds the lock owns the socket: what is there is left from a daemon that died.
				await rm(home.socket, { force: true });
				await listeningPrivately(server, home.socket, signal);
				ready();
				await serving(server, signal);
			} finally {
				await closing(server, close);
			}
		},
	};
}

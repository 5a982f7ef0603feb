/** Connects to the daemon of this home. */

import { type Client, createClient } from "../client/client.js";
import { ReeveError } from "../core/errors.js";
import { type Home, resolveHome } from "../home/paths.js";

/** The system truncates longer paths, so two homes could share a socket. */
export const SOCKET_BYTES_MAX = 103;

export function connect(env: NodeJS.ProcessEnv): { readonly home: Home; readonly client: Client } {
	const home = resolveHome(env);
	checkSocketPath(home);
	return { home, client: createClient({ socketPath: home.socket }) };
}

/** Rejects a home whose socket path would be truncated. */
export function checkSocketPath(home: Home): void {
	const length = Buffer.byteLength(home.socket);
	if (length > SOCKET_BYTES_MAX) {
		throw new ReeveError(
			"usage",
			`the socket path is too long (${length} bytes, at most ${SOCKET_BYTES_MAX}): ${home.socket}`,
			"Set REEVE_HOME to a shorter path.",
		);
	}
}

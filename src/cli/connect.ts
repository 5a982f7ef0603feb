/** Connects to the daemon of this home and, through it, to those of its remotes. */

import { readFileSync } from "node:fs";
import { type Client, createClient } from "../client/client.js";
import { createMergedClient } from "../client/merged-client.js";
import { ReeveError } from "../core/errors.js";
import { REMOTE_NAME } from "../core/remote.js";
import { type Home, resolveHome } from "../home/paths.js";
import { createProcessOutput } from "./output.js";

/** The system truncates longer paths, so two homes could share a socket. */
export const SOCKET_BYTES_MAX = 103;

/** Called when a list is incomplete, because a remote does not answer. */
export type OnSilent = (remote: string, error: ReeveError) => void;

export interface Connected {
	readonly home: Home;
	readonly client: Client;
}

/**
 * `REEVE_HOST`, or `--host`, selects one remote: its agents are named as on its own host. Otherwise the
 * client covers this host and all remotes.
 */
export function connect(env: NodeJS.ProcessEnv, onSilent: OnSilent = printSilent(env)): Connected {
	const home = resolveHome(env);
	checkSocketPath(home);
	const { socket: socketPath } = home;
	const host = env["REEVE_HOST"];
	if (host) return { home, client: createClient({ socketPath, remote: checkRemote(host) }) };
	const own = createClient({ socketPath });
	const remotes = readRemoteNames(home);
	const open = (remote: string) => createClient({ socketPath, remote });
	return { home, client: createMergedClient({ own, remotes, open, onSilent }) };
}

/** Connects to the daemon of this home only. */
export function connectOwn(env: NodeJS.ProcessEnv): Connected {
	const { REEVE_HOST: _host, ...rest } = env;
	const home = resolveHome(rest);
	checkSocketPath(home);
	return { home, client: createClient({ socketPath: home.socket }) };
}

function checkRemote(host: string): string {
	if (REMOTE_NAME.test(host)) return host;
	throw new ReeveError("usage", `\`${host}\` is not the name of a remote`);
}

/** The daemon reports a damaged file; until then there are no remotes. */
function readRemoteNames({ remotes }: Home): readonly string[] {
	try {
		const stored: unknown = JSON.parse(readFileSync(remotes, "utf8"));
		if (!Array.isArray(stored)) return [];
		return stored.flatMap(({ name }) => (typeof name === "string" ? [name] : []));
	} catch {
		return [];
	}
}

/** Prints each remote once. */
function printSilent(env: NodeJS.ProcessEnv): OnSilent {
	const printed = new Set<string>();
	return (remote, { message }) => {
		if (printed.has(remote)) return;
		printed.add(remote);
		const output = createProcessOutput(env);
		output.note(`${output.sayColors.yellow("note")}: ${message}`);
	};
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

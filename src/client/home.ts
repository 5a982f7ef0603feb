/** Where a daemon's state lives, and so where its socket is found. One home, one daemon. */

import { homedir } from "node:os";
import { join, resolve } from "node:path";

export interface Home {
	/** 0700: socket, database and logs are for its owner alone. */
	readonly dir: string;
	readonly socket: string;
	readonly database: string;
	readonly lock: string;
	readonly daemonLog: string;
	/** Output of agents, a folder each. */
	readonly logs: string;
	/** What backends keep while agents run. */
	readonly runtime: string;
	readonly vault: string;
	/** The hashes of all tokens. */
	readonly tokens: string;
	/** The owner's own token. */
	readonly token: string;
	/** How the daemon is to run: where it listens, whom it tells. */
	readonly settings: string;
	/** There while a daemon runs. */
	readonly marker: string;
	/** Reports of daemons that died. */
	readonly crashes: string;
}

/** `REEVE_HOME`, else the state directory of the desktop standard. */
export function resolveHome(env: Readonly<Record<string, string | undefined>>): Home {
	const state = env["XDG_STATE_HOME"] || join(env["HOME"] || homedir(), ".local", "state");
	const dir = resolve(env["REEVE_HOME"] || join(state, "reeve"));
	return {
		dir,
		socket: join(dir, "reeve.sock"),
		database: join(dir, "reeve.db"),
		lock: join(dir, "lock.db"),
		daemonLog: join(dir, "daemon.log"),
		logs: join(dir, "logs"),
		runtime: join(dir, "run"),
		vault: join(dir, "env.json"),
		tokens: join(dir, "tokens.json"),
		token: join(dir, "token"),
		settings: join(dir, "daemon.json"),
		marker: join(dir, "running.json"),
		crashes: join(dir, "crashes"),
	};
}

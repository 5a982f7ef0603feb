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
	/** What adapters need beside each agent, a folder each. */
	readonly agents: string;
	/** Temporary files of agents, a folder each. */
	readonly temporary: string;
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

type Variables = Readonly<Record<string, string | undefined>>;

/** Where programs keep their state, by the desktop standard. */
const stateFolder = (env: Variables) =>
	env["XDG_STATE_HOME"] || join(env["HOME"] || homedir(), ".local", "state");

/** Who holds which conversation: shared by all homes of a user, since they share the conversations. */
export function resolveLeases(env: Variables): string {
	return resolve(join(stateFolder(env), "reeve-conversations"));
}

/** `REEVE_HOME`, else the state directory of the desktop standard. */
export function resolveHome(env: Variables): Home {
	const dir = resolve(env["REEVE_HOME"] || join(stateFolder(env), "reeve"));
	return {
		dir,
		socket: join(dir, "reeve.sock"),
		database: join(dir, "reeve.db"),
		lock: join(dir, "lock.db"),
		daemonLog: join(dir, "daemon.log"),
		logs: join(dir, "logs"),
		agents: join(dir, "agents"),
		temporary: join(dir, "tmp"),
		runtime: join(dir, "run"),
		vault: join(dir, "env.json"),
		tokens: join(dir, "tokens.json"),
		token: join(dir, "token"),
		settings: join(dir, "daemon.json"),
		marker: join(dir, "running.json"),
		crashes: join(dir, "crashes"),
	};
}

/** The location of a daemon's state and socket. One home, one daemon. */

import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** The paths of a daemon's files. */
export interface Home {
	/** Mode 0700: socket, database and logs are private to their owner. */
	readonly dir: string;
	readonly socket: string;
	readonly database: string;
	readonly lock: string;
	/** Locks for files that several processes may change. */
	readonly locks: string;
	readonly daemonLog: string;
	/** Output of agents, one directory each. */
	readonly logs: string;
	/** Indexes that make logs and transcripts fast to search; they can be deleted. */
	readonly search: string;
	/** Files of adapters, one directory per agent. */
	readonly agents: string;
	/** Temporary files of agents, one directory each. */
	readonly temporary: string;
	/** Files of backends while agents run. */
	readonly runtime: string;
	readonly vault: string;
	/** The hashes of all tokens. */
	readonly tokens: string;
	/** The owner's default token. */
	readonly token: string;
	/** The key pair for push notifications. */
	readonly pushKeys: string;
	/** The browsers that get push notifications. */
	readonly pushSubscriptions: string;
	/** The daemon's settings: its address, its notification routes. */
	readonly settings: string;
	/** The daemons of other hosts. */
	readonly remotes: string;
	/** The id of this home in a cluster. */
	readonly cluster: string;
	/** Exists while a daemon is running. */
	readonly marker: string;
	/** Crash reports of daemons. */
	readonly crashes: string;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** The state directory by the XDG standard. */
const stateFolder = (env: Variables) =>
	env["XDG_STATE_HOME"] || join(env["HOME"] || homedir(), ".local", "state");

/** The leases of conversations: shared by all homes of a user, since they share the conversations. */
export function resolveLeases(env: Variables): string {
	return resolve(join(stateFolder(env), "reeve-conversations"));
}

/** `REEVE_HOME`, or the XDG state directory. */
export function resolveHome(env: Variables): Home {
	const dir = resolve(env["REEVE_HOME"] || join(stateFolder(env), "reeve"));
	return {
		dir,
		socket: join(dir, "reeve.sock"),
		database: join(dir, "reeve.db"),
		lock: join(dir, "lock.db"),
		locks: join(dir, "locks"),
		daemonLog: join(dir, "daemon.log"),
		logs: join(dir, "logs"),
		search: join(dir, "search"),
		agents: join(dir, "agents"),
		temporary: join(dir, "tmp"),
		runtime: join(dir, "run"),
		vault: join(dir, "env.json"),
		tokens: join(dir, "tokens.json"),
		pushKeys: join(dir, "push-keys.json"),
		pushSubscriptions: join(dir, "push-subscriptions.json"),
		token: join(dir, "token"),
		settings: join(dir, "daemon.json"),
		remotes: join(dir, "remotes.json"),
		cluster: join(dir, "cluster.json"),
		marker: join(dir, "running.json"),
		crashes: join(dir, "crashes"),
	};
}

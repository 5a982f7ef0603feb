/** Other daemons, on other hosts, that this daemon reaches for its clients. Each keeps its own store and decides by itself. */

/** How the daemon of a remote is reached. */
export type RemoteAddress =
	| {
			readonly type: "ssh";
			/** As for the `ssh` command: `user@host`, or a name of its configuration. */
			readonly target: string;
			/** The path of the daemon's socket on that host. */
			readonly socket: string;
			/** The ssh agent that may be asked for keys; null for that of the daemon's environment. */
			readonly authSock: string | null;
	  }
	| {
			readonly type: "url";
			readonly url: string;
			/** A file with the API token. */
			readonly tokenFile: string;
			/** A file with additional trusted certificates; null for those of the system. */
			readonly caFile: string | null;
	  };

/** A remote as it is stored. */
export interface Remote {
	readonly name: string;
	readonly address: RemoteAddress;
}

export type RemoteState = "connecting" | "reachable" | "unreachable";

/** A remote and what is known about it. */
export interface RemoteView extends Remote {
	readonly state: RemoteState;
	/** When it entered this state. */
	readonly sinceMs: number;
	/** When its daemon last answered; null if it has not since this daemon started. */
	readonly seenAtMs: number | null;
	/** Why it is unreachable; null in other states. */
	readonly reason: string | null;
	/** As its daemon last reported it. */
	readonly version: string | null;
}

/** Where to send requests for a remote. */
export type RemotePlace =
	| { readonly socketPath: string }
	| { readonly url: string; readonly token: string; readonly ca: string | null };

/** `removed` aborts when the remote is removed, which ends its open connections too (A8). */
export type RemoteTarget = RemotePlace & { readonly removed: AbortSignal };

export interface Remotes {
	list(): readonly RemoteView[];
	/** Resolves after the first attempt to connect. Throws `remote_exists`. */
	add(remote: Remote): Promise<RemoteView>;
	/** Throws `remote_not_found`. */
	remove(name: string): Promise<void>;
	/** Connects again without waiting; resolves after the attempt. `authSock` replaces the stored one. */
	reconnect(name: string, authSock: string | null): Promise<RemoteView>;
	/** Throws `remote_not_found`, or `remote_unreachable` if its daemon does not answer. */
	target(name: string): Promise<RemoteTarget>;
}
